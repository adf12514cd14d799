// SPDX-License-Identifier: Apache-2.0
// What is compared, the sentence about it, places on the map, and how fathom's coverage is told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { leftOutNow } from "../src/lib/budget";
import { pick, readQuestion, swapped } from "../src/compare/data";
import { bytes, type Coverage, cpusOf, lossesOf, type Process, type Status } from "../src/coverage/data";
import { around, callsOf, type Edge, isBad, isUnsure } from "../src/map/data";
import { makeLayout } from "../src/map/layout";
import type { CompareAnswer, Difference } from "../src/operation/data";
import { causesFirst, sentence, telling } from "../src/operation/tell";

const range = { from: "15m" };
const question = (text: string) => readQuestion(new URLSearchParams(text), range);

/** As the view reads an address. */
const asked = (query: URLSearchParams) => {
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  return readQuestion(query, /^\d+$/.test(from) && /^\d+$/.test(to) ? { from, to } : { from: query.get("last") ?? "1h" });
};

/** A side whose time ends now says so in two ways. */
const timed = (side: unknown) => (typeof side === "object" ? { ...side, to: (side as { to?: string }).to ?? "0s" } : side);

test("an address asks for traces or sets", () => {
  assert.deepEqual(question(""), { kind: "nothing" });
  assert.deepEqual(question("a=1"), { kind: "one", a: "1" });
  assert.deepEqual(question("a=1&b=2"), { kind: "traces", a: "1", b: "2" });
  assert.deepEqual(question("service=s&operation=o&least=5ms&base_most=5ms"), {
    kind: "sets", service: "s", operation: "o", spanKind: undefined,
    a: { from: "15m", to: undefined, least: "5ms", most: undefined }, b: { from: "15m", to: undefined, least: undefined, most: "5ms" },
  });
});

test("swapped sides have each other's requests, and swapped twice their own", () => {
  for (const text of ["a=1&b=2&node_a=0.1", "service=s&operation=o&last=1h&base_from=10&base_to=20&base_most=5ms",
    "service=s&operation=o&from=30&to=40&base_from=10&base_to=20", "service=s&operation=o&least=5ms&base_most=5ms"]) {
    const swap = (query: URLSearchParams) => {
      const next = new URLSearchParams(query);
      for (const [key, value] of Object.entries(swapped(query, asked(query)))) if (value === null) next.delete(key); else next.set(key, value);
      return next;
    };
    const query = new URLSearchParams(text);
    const [before, after, again] = [asked(query), asked(swap(query)), asked(swap(swap(query)))];
    assert.ok("b" in before && "b" in after && "b" in again);
    assert.deepEqual(timed(after.a), timed(before.b));
    assert.deepEqual(timed(after.b), timed(before.a));
    assert.deepEqual(timed(again.a), timed(before.a));
    assert.deepEqual(timed(again.b), timed(before.b));
  }
});

test("some of many stand for all", () => {
  assert.deepEqual(pick([1, 2, 3], 5), [1, 2, 3]);
  assert.deepEqual(pick(Array.from({ length: 101 }, (_, i) => i), 5), [0, 25, 50, 75, 100]);
});

const side = { count: 1, total_ns: 0, mean_ns: 0, bins: [] };
const found = (kind: Difference["kind"], key: string, value: string, ms: number, service?: string): Difference =>
  ({ kind, key, value, explains_ns: ms * 1e6, a: side, b: side, ...(service === undefined ? {} : { service }) });
const answerOf = (...differences: Difference[]): CompareAnswer => ({
  a: { spans: 10, mean_ns: 100e6, measured: 10, detailed: 10 }, b: { spans: 90, mean_ns: 20e6, measured: 90, detailed: 9 }, differences,
});
const target = { service: "client", name: "request", kind: "client" };

test("a quota is the cause of waits for a CPU that grew with it", () => {
  const waits = found("part", "", "runnable", 50);
  assert.match(sentence(answerOf(waits, found("part", "", "throttled", 20), found("place", "throttled", "CPU quota of /app", 20)), target),
    /88 % of it is CPU quota, in CPU quota of \/app\.$/);
  assert.match(sentence(answerOf(waits, found("part", "", "throttled", 4)), target), /63 % of it is waiting for a CPU\.$/);
});

test("the second cause is named where it makes much of it", () => {
  const parts = [found("part", "", "runnable", 50), found("part", "", "disk", 25), found("place", "disk", "fsync on /x", 25)];
  assert.match(sentence(answerOf(...parts), target), /63 % of it is waiting for a CPU; 31 % is disk, in fsync on \/x\.$/);
  assert.match(sentence(answerOf(...parts, found("own", "disk", "write", 25, "store")), target), /31 % is disk in write of store, in fsync on \/x\.$/);
  assert.match(sentence(answerOf(parts[0], found("part", "", "disk", 10)), target), /63 % of it is waiting for a CPU\.$/);
  assert.match(sentence(answerOf(parts[0], found("part", "", "unknown", 25)), target), /63 % of it is waiting for a CPU\.$/);
});

test("against a time before, attributes stand behind kinds of time", () => {
  const list = [found("attribute", "process.pid", "7", 80), found("part", "", "lock", 70)];
  assert.deepEqual(causesFirst(list).map((d) => d.kind), ["part", "attribute"]);
});

test("the sentence names the deepest cause", () => {
  const answer = answerOf(found("part", "", "runnable", 78), found("call", "thumbnailer", "decode", 78), found("own", "runnable", "decode", 78, "thumbnailer"));
  assert.match(sentence(answer, target), /98 % of it is waiting for a CPU in decode of thumbnailer\.$/);
});

test("what the operation itself has is told by the part, with its place", () => {
  const answer = answerOf(found("part", "", "lock", 80), found("place", "lock", "futex on /x", 80), found("own", "lock", "request", 80, "client"));
  assert.match(sentence(answer, target), /100 % of it is lock, in futex on \/x\.$/);
  assert.deepEqual(telling(answer.differences, target).map((d) => d.kind), ["part", "place"]);
});

test("the same in many spans is told as one", () => {
  const answer = answerOf(found("part", "", "disk", 80), found("own", "disk", "one", 30, "s"), found("own", "disk", "two", 28, "s"));
  assert.match(sentence(answer, target), /100 % of it is disk\.$/);
});

const links = (...pairs: string[]) => pairs.map((pair) => ({ from: pair[0], to: pair[1] }));

test("callers stand left of those that they call", () => {
  const { spots, layers } = makeLayout(links("ab", "bc", "ac", "ad"));
  assert.equal(layers, 3);
  assert.deepEqual(["a", "b", "c", "d"].map((name) => spots.get(name)?.layer), [0, 1, 2, 1]);
});

test("circles of services have places, too", () => {
  const { spots, layers } = makeLayout(links("ab", "bc", "ca", "xa", "bb"));
  assert.equal(spots.size, 4);
  assert.deepEqual([spots.get("x")?.layer, layers], [0, 4]);
  assert.equal(makeLayout([]).rows, 0);
});

test("a long chain and many services take no stack", () => {
  const chain = Array.from({ length: 20000 }, (_, i) => ({ from: `s${i}`, to: `s${i + 1}` }));
  assert.equal(makeLayout(chain).layers, 20001);
});

test("layers are sorted so that edges do not cross", () => {
  const { spots } = makeLayout([{ from: "a", to: "z" }, { from: "b", to: "y" }]);
  assert.equal(spots.get("a")?.row, spots.get("z")?.row);
});

const edge = (more: Partial<Edge>): Edge => ({ from: "a", to: "b", count: 100, seen: 100, errors: 0, rate: 1, mean_ns: 1e6, p50_ns: 1e6, p99_ns: 2e6, max_ns: 3e6, ...more });

test("calls say what is bad and what is not sure", () => {
  const [call] = callsOf([edge({ p99_ns: 6e6, probability: 0.7 })], [edge({})]);
  assert.deepEqual([call.change, isBad(call, "p99"), isBad(call, "errors"), isUnsure(call)], [3, true, false, true]);
  assert.equal(isUnsure(edge({ probability: 1 })), false);
  assert.equal(callsOf([edge({ seen: 3, p99_ns: 6e6 })], [edge({})])[0].change, 1);
  assert.equal(around(callsOf([edge({}), edge({ from: "c", to: "d" })], []), "d").length, 1);
});

const status = (more: Partial<Status>): Status => ({
  state: "ok", received: { requests: 0, requests_refused: 0, spans: 0, spans_rejected: 0 }, log: { lost_bytes: 0, entries_bad: 0 },
  store: { behind_bytes: 0, spans: 0, bytes: 0, files: 1, lost_files: 0, dropped: 0, failures: 0, unlisted_spans: 0, kernel_spans: 0, entries_refused: 0 }, ...more,
});

test("losses are sentences, and nothing is said where there is none", () => {
  assert.deepEqual(lossesOf(status({})), []);
  const capture = { chunks: 1, bytes: 1, lost: 1203, behind_ns: 0, programs_missed: 0, lowered: true, lowered_ns: 4e9, budget_percent: 5 };
  const requests = { followed: true, stored: 9, open: 1, chunks_left_out: 25, behind_ns: 0 };
  const losses = lossesOf(status({ capture, requests }));
  assert.equal(losses.length, 3);
  assert.match(losses[0], /^1\u202f203 records /);
  assert.match(losses[1], /^Of requests through services .* one second in thirty were recorded for 4.*, and are now\. .* try fathom up --budget 20%\.$/);
  assert.match(leftOutNow(capture), /^Requests through services .* missing now\. The budget of 5 % .* --budget 20%\.$/);
  assert.equal(leftOutNow({ ...capture, lowered: false }), "");
  assert.match(leftOutNow({ ...capture, in_turns: true }), /^Of requests .* one second in thirty are recorded now; rates count them for the others\. /);
  assert.match(losses[2], /^Requests of 25 seconds /);
});

test("the CPUs of a process are those between two answers", () => {
  const at = (atMs: number, cpuNs: number, pid: number): Coverage => ({
    status: status({ processes: [{ name: "map", state: "running", starts: 1, pid, cpu_ns: cpuNs }] }), senders: [], pins: [], atMs,
  });
  const now = at(3000, 2e9, 7);
  const process = now.status.processes?.[0] as Process;
  assert.equal(cpusOf(process, now, at(1000, 1e9, 7)), 0.5);
  assert.equal(cpusOf(process, now, at(1000, 1e9, 8)), undefined);
  assert.equal(cpusOf(process, now, undefined), undefined);
  assert.deepEqual([0, 999, 1234567, 123e9].map(bytes), ["0 bytes", "999 bytes", "1.2 MB", "123 GB"]);
});
