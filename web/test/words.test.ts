// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, lines of filters, answers with large integers, rows of the overview.
import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, percent } from "../src/lib/format";
import { parseExact } from "../src/lib/json";
import { ticks } from "../src/lib/axis";
import { isWorse, rowsOf, type Sums, worseText } from "../src/overview/data";
import { completions, readLine } from "../src/search/data";
import { grownSentence } from "../src/where/tell";
import { boxesOf, findPath, growth, leavesOf, type Node } from "../src/where/tree";

test("durations have three digits", () => {
  assert.deepEqual([0, 999, 1000, 12345, 999499, 999500, 1.5e9, 59.96e9, 125e9, 7260e9].map(duration),
    ["0 ns", "999 ns", "1.00 µs", "12.3 µs", "999 µs", "1.00 ms", "1.50 s", "60.0 s", "2 m 05 s", "2 h 01 m"]);
});

test("counts and shares", () => {
  assert.deepEqual([0, 999, 1203, 1234567].map(count), ["0", "999", "1\u202f203", "1.23 M"]);
  assert.deepEqual([0, 0.0004, 0.012, 0.715, 1].map(percent), ["0 %", "< 0.1 %", "1.2 %", "72 %", "100 %"]);
});

test("large integers stay exact, and texts stay as they are", () => {
  const hostile = 'x","begin_unix_ns":1790000000000000001,"';
  assert.deepEqual(parseExact(`{"begin_unix_ns":1790000000000000001,"small":5,"name":${JSON.stringify(hostile)}}`),
    { begin_unix_ns: "1790000000000000001", small: 5, name: hostile });
});

test("a line of filters", () => {
  assert.deepEqual(readLine('service:x operation:"GET /a b" lock>5ms duration<=1s error kind:server http.status:500 "a b"="c d"'), {
    parameters: [["service", "x"], ["operation", "GET /a b"], ["cause", "lock > 5ms"], ["max_duration", "1s"], ["error", "true"],
      ["kind", "server"], ["attribute", "http.status=500"], ["attribute", "a b=c d"]],
    wrong: undefined,
  });
  assert.match(readLine("rubbish").wrong ?? "", /is no filter/);
  assert.match(readLine("lock>5").wrong ?? "", /write a time/);
});

test("completion knows services, and operations of the one that is chosen", () => {
  const known = [{ service: "shop", operation: "GET /a" }, { service: "bank", operation: "pay" }];
  assert.deepEqual(completions("ser", known), ["service:shop", "service:bank"]);
  assert.deepEqual(completions("service:bank oper", known), ["service:bank operation:pay"]);
  assert.deepEqual(completions("loc", known), ["lock>5ms"]);
});

test("ticks are round", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(5, 5, 5), []);
});

const sums = (operation: string, p99: number, more: Partial<Sums> = {}): Sums => ({
  service: "shop", operation, kind: "server", count: 100, seen: 100, errors: 0, rate: 1, mean_ns: p99 / 2, p50_ns: p99 / 2, p95_ns: p99,
  p99_ns: p99, max_ns: p99, measured: 0, ...more,
});

test("the worst change stands first", () => {
  const rows = rowsOf([sums("same", 5e6), sums("slower", 4e6), sums("fails", 1e6, { errors: 30 }), sums("rare", 9e6, { count: 33, seen: 1 })],
    [sums("same", 5e6), sums("slower", 1e6), sums("fails", 1e6), sums("rare", 1e6)], []);
  assert.deepEqual(rows.map((row) => [row.now.operation, isWorse(row)]), [["fails", true], ["slower", true], ["same", false], ["rare", false]]);
});

test("of callers that lose the same, what changed most stands first, and scatter of short ones below", () => {
  const rows = rowsOf([sums("GET", 90e6), sums("encode", 70e6), sums("seek", 0.9e6)], [sums("GET", 30e6), sums("encode", 10e6), sums("seek", 0.1e6)], []);
  assert.deepEqual(rows.map((row) => row.now.operation), ["encode", "GET", "seek"]);
});

test("a row that is worse leads to what made it so, against the time before", () => {
  const span = (from: number, to: number) => ({ from: `${from}000000000`, to: `${to}000000000` });
  const rows = rowsOf(
    [sums("worse", 9e6), sums("rare", 8e6, { p95_ns: 1e6, seen: 500 }), sums("same", 1e6)],
    [sums("worse", 1e6, { p95_ns: 0.9e6 }), sums("rare", 2e6, { p95_ns: 1e6, seen: 500 }), sums("same", 1e6)], []);
  const [worse, rare, same] = ["worse", "rare", "same"].map((name) => rows.find((row) => row.now.operation === name)!);
  assert.equal(worseText(worse, span(1790000020, 1790000050), span(1790000000, 1790000020)),
    "1790000020000-1790000050000-900000-0-1790000000000-1790000020000");
  assert.match(worseText(rare, span(1790000020, 1790000050), span(1790000000, 1790000030))!, /-2000000-0-1790000000000-1790000020000$/);
  assert.equal(worseText(same, span(20, 50), span(0, 20)), undefined);
});

test("few requests are judged by their 95th percentile: the longest scatters", () => {
  const [row] = rowsOf([sums("a", 9e6, { p95_ns: 1e6 })], [sums("a", 1e6, { p95_ns: 1e6 })], []);
  assert.equal(isWorse(row), false);
});

const node = (kind: Node["kind"], name: string, totalNs: number, children: readonly Node[] = []): Node =>
  ({ kind, name, count: 1, total_ns: totalNs, detailed: 0, width_ns: totalNs, children });

test("boxes share the width of the box above, and a part is found", () => {
  const root = node("span", "root", 140, [node("part", "lock", 60, [node("place", "futex", 30)]), node("span", "child", 80)]);
  const boxes = boxesOf(root, [], (n, above) => (n.kind === "part" ? n.name : above));
  assert.deepEqual(boxes.map((box) => [box.node.name, box.depth, +box.width.toFixed(3), box.part]),
    [["root", 0, 1, ""], ["lock", 1, 0.429, "lock"], ["futex", 2, 0.214, "lock"], ["child", 1, 0.571, ""]]);
  assert.deepEqual(findPath(root, "lock", "futex"), [0]);
  assert.deepEqual(findPath(root, "lock", ""), []);
  assert.deepEqual(findPath(node("span", "a", 9, [node("part", "lock", 5), node("span", "b", 4, [node("part", "lock", 4)])]), "lock", "", "b"), [1]);
});

test("what grew is told with its object and its share", () => {
  const tree = (lock: number, disk: number, places: readonly Node[]): Node =>
    node("span", "GET", 100 + lock + disk, [node("part", "user", 100), node("span", "open", lock, [node("part", "lock", lock, [node("place", "futex, woken by worker", lock)])]),
      node("part", "disk", disk, places)]);
  const slow = tree(600e6, 60e6, [node("place", "fsync on /x", 60e6)]);
  const grown = growth(slow, tree(0, 50e6, []), 10, 10);
  assert.equal(Math.round(grown.get(slow)!.grewNs), 61e6);
  assert.equal(grownSentence(slow, [], grown), "futex, woken by worker: lock in open takes +60.0 ms for each request, 98 % of what grew (+61.0 ms).");
  // a place of which the others tell nothing grew no more than its part
  assert.equal(grownSentence(slow, [2], grown), "fsync on /x: disk in GET takes +1.00 ms for each request, 1.6 % of what grew (+61.0 ms).");
  assert.equal(grownSentence(slow, [0], grown), "Nothing of this grew.");
  assert.match(grownSentence(slow, [], grown, "disk"), /^fsync on \/x: disk in GET takes \+1\.00 ms .*; futex, woken by worker: lock in open takes \+60\.0 ms, 98 %\.$/);
  assert.deepEqual(leavesOf(slow, [1]).map((leaf) => [leaf.path.join("."), leaf.part, leaf.span.name]), [["1.0.0", "lock", "open"]]);
  assert.deepEqual(boxesOf(slow, [], () => "", grown).filter((box) => box.depth === 1).map((box) => box.path.join()), ["1", "2"]); // user code is too narrow to be seen
});
