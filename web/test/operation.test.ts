// SPDX-License-Identifier: Apache-2.0
// Which requests of a heat map are looked at, and how the address keeps a box.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Heat, type HeatAnswer, othersOf, parseSelection, readHeat, selectionText, slowest, stepOf, toDuration, toNs } from "../src/operation/data";

const SECOND_NS = 1000000000n;
const BEGIN_S = 1790000000n;

/** A heat map whose columns have these spans in the bins that end at 1, 2, 4, ... ms. */
const heatOf = (...columns: number[][]): Heat => {
  const sums = { count: 0, errors: 0, p50_ns: 0, p95_ns: 0, p99_ns: 0, max_ns: 0, measured: 0 };
  const total = columns.flat().reduce((sum, spans) => sum + spans, 0);
  const answer: HeatAnswer = {
    from_unix_ns: String(BEGIN_S * SECOND_NS), to_unix_ns: String((BEGIN_S + 600n) * SECOND_NS), step_ns: 1e10, steps: 60,
    bin_ends_ns: [1e6, 2e6, 4e6, 8e6], total: { ...sums, count: total },
    columns: columns.map((bins, i) => ({
      ...sums, begin_unix_ns: String((BEGIN_S + 500n + BigInt(10 * i)) * SECOND_NS), count: bins.reduce((sum, spans) => sum + spans, 0),
      cells: bins.map((spans, bin) => [bin, spans] as const).filter(([, spans]) => spans),
    })),
  };
  return readHeat(answer);
};

test("the slowest are those of the highest bins, with 5 % at least", () => {
  const { leastNs, share } = slowest(heatOf([50, 40, 6, 1], [0, 0, 3, 0]));
  assert.deepEqual([leastNs, share], [2e6 + 1, 0.1]);
});

test("the slowest can be half of all, but leave some to compare with", () => {
  assert.deepEqual([slowest(heatOf([50, 0, 0, 50])).share, slowest(heatOf([50, 0, 0, 50])).leastNs], [0.5, 4e6 + 1]);
  assert.equal(slowest(heatOf([0, 0, 98, 2])).share, 0.02);
});

test("where nothing is older, the map begins with what there is", () => {
  const heat = heatOf([1], [2]);
  assert.equal(heat.fromMs, Number(BEGIN_S + 480n) * 1000);
  assert.equal(heat.most, 2);
});

test("a box stays the same in the address", () => {
  const text = "1790000000000-1790000060000-1000000-0";
  assert.equal(selectionText(parseSelection(text)!), text);
  for (const wrong of [null, "", "x", "2-1-0-0", "1-2-3"]) assert.equal(parseSelection(wrong), undefined);
});

test("a box is compared to the time that its address says, else to shorter requests of the map", () => {
  const heat = heatOf([1], [2]);
  const box = parseSelection("1790000060000-1790000090000-1000000-0-1790000000000-1790000060000")!;
  assert.equal(selectionText(box), "1790000060000-1790000090000-1000000-0-1790000000000-1790000060000");
  assert.deepEqual(othersOf(heat, box), { fromMs: 1790000000000, toMs: 1790000060000, mostNs: 0 });
  assert.deepEqual(othersOf(heat, parseSelection("1-2-5-0")!), { fromMs: heat.fromMs, toMs: heat.toMs, mostNs: 5 });
  assert.equal(othersOf(heat, parseSelection("1-2-5-9")!).mostNs, 0);
});

test("times for the API are exact", () => {
  assert.equal(toNs(1790000000123), "1790000000123000000");
  assert.equal(toDuration(2147483648), "2147483.648us");
});

test("a heat map has steps of ten seconds or of minutes, and not more than can be seen", () => {
  assert.deepEqual([300e3, 900e3, 3600e3, 21600e3, 604800e3].map(stepOf), ["10s", "10s", "10s", "60s", "1680s"]);
});
