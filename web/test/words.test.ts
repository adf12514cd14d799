// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, lines of filters, answers with large integers, rows of the overview.
import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, percent } from "../src/lib/format";
import { parseExact } from "../src/lib/json";
import { ticks } from "../src/lib/axis";
import { isWorse, rowsOf, type Sums } from "../src/overview/data";
import { completions, readLine } from "../src/search/data";
import { boxesOf, findPath, type Node } from "../src/where/tree";

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
  service: "shop", operation, kind: "server", count: 100, errors: 0, rate: 1, mean_ns: p99 / 2, p50_ns: p99 / 2, p95_ns: p99,
  p99_ns: p99, max_ns: p99, measured: 0, ...more,
});

test("the worst change stands first", () => {
  const rows = rowsOf([sums("same", 5e6), sums("slower", 4e6), sums("fails", 1e6, { errors: 30 }), sums("rare", 9e6, { count: 3 })],
    [sums("same", 5e6), sums("slower", 1e6), sums("fails", 1e6), sums("rare", 1e6)], []);
  assert.deepEqual(rows.map((row) => [row.now.operation, isWorse(row)]), [["fails", true], ["slower", true], ["same", false], ["rare", false]]);
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
