// SPDX-License-Identifier: Apache-2.0
// Columns of a trace: links, own time, critical path, rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiSpan, type ApiStep, makeTrace, nameOf, type Trace, wakerText } from "../src/trace/model";
import { at, lanesOf, wakesOf } from "../src/trace/lanes";
import { ownSplit } from "../src/trace/own";
import { PARTS } from "../src/parts/list";
import { pathKnownBy, pathRows, pathSentence, stepsText, stepText } from "../src/trace/path";
import { makeRows, reveal, rowsOf, type Shape } from "../src/trace/rows";

const BEGIN = 1790000000000000000n;
const ALL: Shape = { closed: new Set(), kernel: new Set(), unfolded: new Set(), found: undefined, leastNs: 0 };

const span = (id: number, parent: number, from: number, to: number, more: Partial<ApiSpan> = {}): ApiSpan => ({
  span_id: id.toString(16).padStart(16, "0"), ...(parent ? { parent_id: parent.toString(16).padStart(16, "0") } : {}),
  name: `span ${id}`, kind: "internal", begin_unix_ns: String(BEGIN + BigInt(from)), end_unix_ns: String(BEGIN + BigInt(to)),
  status: "unset", service: "shop", attributes: {}, events: [], links: [], resource: 0, scope: 0, ...more,
});

const traceOf = (...spans: ApiSpan[]): Trace => makeTrace({ trace_id: "1", spans, resources: [], scopes: [] });

const shown = (t: Trace, shape: Partial<Shape> = {}): string[] =>
  makeRows(t, { ...ALL, ...shape }).map((row) => `${"-".repeat(row.depth)}${nameOf(t, row.span)}${row.fold ? ` x${row.fold.members.length}` : ""}`);

test("own time is what no child covers", () => {
  const t = traceOf(span(1, 0, 0, 100), span(2, 1, 10, 40), span(3, 1, 30, 60), span(4, 1, 90, 150));
  assert.deepEqual([...t.ownNs], [40, 30, 30, 60]);
});

test("the wait for another service is the time of that", () => {
  const t = traceOf(span(1, 0, 0, 100, { attributes: { "fathom.time.user_ns": 5, "fathom.time.network_ns": 95 } }),
    span(2, 1, 10, 90, { service: "thumbnailer", attributes: { "fathom.time.runnable_ns": 80 } }));
  assert.deepEqual(PARTS.map((part, p) => [part.key, ownSplit(t, 0)[p]]).filter(([, ns]) => ns), [["user", 5], ["network", 15]]);
});

test("an edge that is not sure is marked, and said", () => {
  const t = traceOf(span(1, 0, 0, 100), span(2, 1, 0, 50, { attributes: { "edge.probability": 0.6 } }), span(3, 1, 60, 70, { attributes: { "edge.probability": 1 } }));
  assert.deepEqual([...t.unsure], [0, 1, 0]);
  assert.equal(t.notes.filter((note) => note.includes("of 1 of 3 spans it is not sure")).length, 1);
});

test("threads have lanes, with who woke whom", () => {
  const wait = { name: "lock", attributes: { "fathom.kind": "wait", "thread.id": 7, waker: "worker/8", "fathom.time.lock_ns": 15, "fathom.time.runnable_ns": 5 } };
  const t = traceOf(span(1, 0, 0, 100, { attributes: { "thread.id": 7, "thread.name": "main", "fathom.time.user_ns": 80, "fathom.time.lock_ns": 20 } }), span(2, 1, 10, 30, wait),
    span(3, 1, 5, 28, { attributes: { "thread.id": 8 } }), span(4, 1, 40, 50, { attributes: { "thread.id": 7 } }), span(5, 1, 60, 70));
  const lanes = lanesOf(t);
  assert.deepEqual(lanes.map((lane) => [t.threads[lane.thread].tid, lane.spans, lane.depths, lane.waits]), [[7, [0, 3], [0, 1], [1]], [8, [2], [0], []]]);
  assert.equal(t.threads[0].name, "main");
  assert.deepEqual(lanes.map((lane) => lane.told), [[true, false], [false]]); // of the others no time is known
  assert.deepEqual(wakesOf(t, lanes), [{ from: 1, to: 0, atNs: 25, wait: 1 }]);
  assert.deepEqual([at(t, lanes[0], 45, false), at(t, lanes[0], 45, true), at(t, lanes[0], 20, true)], [3, -1, 1]);
});

test("the critical path is the server's: its rows, and what has the most of it", () => {
  const step = (id: number, from: number, to: number, more: Partial<ApiStep>): ApiStep => ({
    span_id: id.toString(16).padStart(16, "0"), begin_unix_ns: String(BEGIN + BigInt(from)), end_unix_ns: String(BEGIN + BigInt(to)), state: "split", ...more,
  });
  const t = makeTrace({
    trace_id: "1", resources: [], scopes: [],
    spans: [span(1, 0, 0, 1000, { attributes: { "fathom.time.user_ns": 100, "fathom.time.lock_ns": 900 } }), span(2, 1, 10, 20), span(3, 1, 200, 900, {
      name: "lock", attributes: { "fathom.kind": "wait", "syscall": "futex" } })],
    critical: { span_id: "0000000000000001", known_by: "wakers", steps: [
      step(1, 0, 10, {}), step(2, 10, 11, { state: "unknown" }), step(2, 11, 12, { state: "running", part: "user" }), step(1, 12, 200, {}),
      step(1, 200, 900, { state: "waiting", part: "lock", place: "futex on /x", waker: "db/7", wait_id: "0000000000000003" }), step(1, 900, 1000, {})] },
  });
  assert.deepEqual(pathRows(t).map((row) => [row.steps.length, row.ns, row.isOfOne]), [[1, 10, true], [2, 2, true], [1, 188, true], [1, 700, true], [1, 100, true]]);
  assert.equal(stepsText(t, t.path.steps.slice(1, 3)), "what nothing tells 1 ns, user code 1 ns, in 2 pieces");
  assert.equal(t.path.steps[4].wait, 2);
  assert.match(stepText(t, t.path.steps[4]), /^waited: lock, in futex on \/x; db 7 ended it$/);
  assert.match(pathSentence(t), /^9\d % of the critical path is lock in span 1 of shop, in futex on \/x, until db 7 ended it: /);
  assert.match(pathKnownBy(t), /threads that ended these/);
  assert.deepEqual([...rowsOf(t, makeRows(t, ALL))], [0, 1, 0]);
});

test("circles and spans without their parent become roots", () => {
  const t = traceOf(span(1, 2, 0, 1), span(2, 1, 0, 1), span(3, 9, 0, 1), span(4, 4, 0, 1));
  assert.equal(t.roots.length, 3);
  assert.equal(shown(t).length, 4);
  assert.match(t.notes[0], /^2 of 4 spans name a parent that is not here/);
});

test("many like siblings are one row, and open", () => {
  const like = Array.from({ length: 5 }, (_, i) => span(i + 2, 1, i * 10, i * 10 + 5, { name: "read" }));
  const t = traceOf(span(1, 0, 0, 100), ...like, span(9, 1, 60, 70));
  assert.deepEqual(shown(t), ["span 1", "-read x5", "-span 9"]);
  const { unfolded } = reveal(t, ALL, 3);
  assert.deepEqual(shown(t, { unfolded }), ["span 1", "-read x5", ...Array(5).fill("--read"), "-span 9"]);
});

test("kernel spans are rows only where they are asked for", () => {
  const wait = span(2, 1, 10, 20, { name: "lock", attributes: { "fathom.kind": "wait", syscall: "futex", "fd.name": "/x", waker: "redis-server/4112" } });
  const t = traceOf(span(1, 0, 0, 100), wait);
  assert.deepEqual(shown(t), ["span 1"]);
  assert.deepEqual(shown(t, { kernel: new Set([0]) }), ["span 1", "-futex on /x"]);
  assert.deepEqual([...t.kernel], [0, 1]);
  assert.deepEqual([wakerText(t, 0), wakerText(t, 1)], ["", "woken by redis-server 4112"]);
});

test("what find does not have is hidden, but not what lies above it", () => {
  const t = traceOf(span(1, 0, 0, 100), span(2, 1, 0, 50), span(3, 2, 0, 20), span(4, 1, 60, 70));
  assert.deepEqual(shown(t, { found: Uint8Array.from([0, 0, 1, 0]) }), ["span 1", "-span 2", "--span 3"]);
  assert.deepEqual(shown(t, { leastNs: 50 }), ["span 1", "-span 2"]);
});

test("a hundred thousand levels take no stack", () => {
  const t = traceOf(...Array.from({ length: 100000 }, (_, i) => span(i + 1, i, i, 200000 - i)));
  assert.equal(makeRows(t, ALL).length, 100000);
  assert.deepEqual([...rowsOf(t, makeRows(t, { ...ALL, closed: new Set([0]) }))].slice(-1), [0]);
});
