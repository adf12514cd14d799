// SPDX-License-Identifier: Apache-2.0
// Columns of a trace: links, own time, critical path, rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Columns } from "../src/trace/columns";
import { makeTrace, nameOf, spanOfId, type Trace, unpack, wakerText } from "../src/trace/model";
import { at, lanesOf, seenOf, wakesOf } from "../src/trace/lanes";
import { ownSplit } from "../src/trace/own";
import { PARTS } from "../src/parts/list";
import { pathKnownBy, pathRows, pathSentence, stepsText, stepText } from "../src/trace/path";
import { makeRows, reveal, rowsOf, type Shape } from "../src/trace/rows";
import { BEGIN, columnsOf, span, type TestStep, traceOf } from "./spans";

const ALL: Shape = { closed: new Set(), kernel: new Set(), unfolded: new Set(), found: undefined, leastNs: 0 };

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

test("what the recording lacks of its time is said", () => {
  const answer = columnsOf([span(1, 0, 0, 100)]);
  const gap = (from: number, to: number, reason: string) => ({ begin_ns: String(BEGIN + BigInt(from)), end_ns: String(BEGIN + BigInt(to)), reason });
  const notes = (more: Partial<typeof answer>): readonly string[] => makeTrace({ ...answer, ...more }).notes;
  const before = notes({}).length;
  assert.equal(notes({ lost: 0, gaps: [], coverage: 1 }).length, before);
  assert.equal(notes({ lost: 0, gaps: [], coverage: null }).length, before);
  const said = notes({ lost: 1203, gaps: [gap(10, 30, "not_recorded"), gap(40, 50, "damaged"), gap(60, 80, "not_recorded")], coverage: 0.5 });
  assert.equal(said.length, before + 3);
  assert.match(said[0], /^1\u202f203 records were lost in this time: /);
  assert.match(said[1], /^for 40 ns of its time nothing was recorded$/);
  assert.match(said[2], /^for 10 ns of its time the recording is damaged/);
  assert.match(notes({ lost: 1 })[0], /^1 record was lost/);
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
  const step = (at: number, from: number, to: number, more: Partial<TestStep>): TestStep =>
    ({ span: at, from, to, state: 3, part: "", place: "", waker: "", wait: -1, ...more });
  const t = unpack(makeTrace(columnsOf(
    [span(1, 0, 0, 1000, { attributes: { "fathom.time.user_ns": 100, "fathom.time.lock_ns": 900 } }), span(2, 1, 10, 20), span(3, 1, 200, 900, {
      name: "lock", attributes: { "fathom.kind": "wait", "syscall": "futex" } })],
    [step(0, 0, 10, {}), step(1, 10, 11, { state: 4 }), step(1, 11, 12, { state: 0, part: "user" }), step(0, 12, 200, {}),
      step(0, 200, 900, { state: 2, part: "lock", place: "futex on /x", waker: "db/7", wait: 2 }), step(0, 900, 1000, {})],
  )));
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

test("attributes of a span, and what find has", () => {
  const list = [{ name: "a" }, 7];
  const columns = new Columns(columnsOf([span(1, 0, 0, 9, { attributes: { "http.route": "/Pay", code: 500, rows: list } }), span(0xabc, 1, 0, 9, { attributes: { code: "text" } }), span(3, 1, 0, 9)]));
  assert.deepEqual([columns.of(0), columns.of(1), columns.of(2)], [{ "http.route": "/Pay", code: 500, rows: list }, { code: "text" }, {}]);
  const found = (words: string) => [...columns.find(words)].join("");
  assert.deepEqual(["/pay", "500", "code", "code text", "ABC", "span 3", "shop", "nothing"].map(found), ["100", "100", "110", "010", "010", "001", "111", "000"]);
});

test("spans of several traces with one id are told apart, and threads of several hosts with one number", () => {
  const wait = { name: "lock", attributes: { "fathom.kind": "wait", "thread.id": 7, waker: "worker/8" } };
  const t = traceOf(span(1, 0, 0, 9, { trace: "a1", host: "one", attributes: { "thread.id": 8 } }), span(1, 0, 5, 9, { trace: "b2", host: "two", ...wait }));
  assert.deepEqual([spanOfId(t, "0000000000000001"), spanOfId(t, "0000000000000001", "b2"), spanOfId(t, "0000000000000002"), spanOfId(t, "")], [0, 1, -1, -1]);
  assert.deepEqual(wakesOf(t, lanesOf(t)), []);
});

test("a million spans that follow each other are seen as one for each pixel", () => {
  const seen: number[] = [];
  const see = (fromNs: number, toNs: number, leastNs: number) => {
    seen.length = 0;
    let asked = 0;
    seenOf(1e6, (i) => { asked++; return 10 * i; }, (i) => { asked++; return 10 * i + 5; }, fromNs, toNs, leastNs, (i) => seen.push(i));
    return asked;
  };
  assert.ok(see(0, 1e7, 1e4) < 1e5);
  assert.ok(seen.length >= 900 && seen.length <= 1001, String(seen.length));
  see(100, 132, 1);
  assert.deepEqual(seen, [10, 11, 12, 13]);
  see(106, 132, 0);
  assert.deepEqual(seen, [11, 12, 13]);
});
