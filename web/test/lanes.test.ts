// SPDX-License-Identifier: Apache-2.0
// Lanes of a time: waits that are joined, and which time is asked for again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finerRange, placed } from "../src/lanes/finer";
import { partNumber } from "../src/parts/list";
import { inOrder, laneParts, lanesOf } from "../src/trace/lanes";
import { makeTrace, type Trace, unpack } from "../src/trace/model";
import { BEGIN, columnsOf, span, type TestSpan } from "./spans";

const WHOLE = { from: 0, to: 10000, joinedBelowNs: 5 };

const unix = (ns: number): string => String(BEGIN + BigInt(ns));

/** Spans of a time, whose times are since `since`. */
const timeOf = (from: number, to: number, since: number, spans: readonly TestSpan[], joinedBelowNs?: number): Trace => unpack(makeTrace({
  ...columnsOf(spans), begin_unix_ns: unix(since), from_unix_ns: unix(from), to_unix_ns: unix(to), hosts: [], ...(joinedBelowNs ? { joined_below_ns: joinedBelowNs } : {}),
}));

test("a closer look is asked for where waits are joined, and only where it tells more", () => {
  assert.equal(finerRange([WHOLE], { from: 0, to: 10000 }), undefined);
  assert.equal(finerRange([WHOLE], { from: 0, to: 6000 }), undefined);
  assert.deepEqual(finerRange([WHOLE], { from: 4000, to: 5000 }), { from: 3500, to: 5500 });
  assert.deepEqual(finerRange([WHOLE], { from: 0, to: 101 }), { from: 0, to: 152 });
  assert.equal(finerRange([{ ...WHOLE, joinedBelowNs: 0 }], { from: 4000, to: 5000 }), undefined);
});

test("what is known of a part of the time is not asked for again", () => {
  const closer = { from: 3500, to: 5500, joinedBelowNs: 1 };
  assert.equal(finerRange([closer, WHOLE], { from: 4000, to: 5000 }), undefined);
  assert.equal(finerRange([closer, WHOLE], { from: 3500, to: 4500 }), undefined);
  assert.deepEqual(finerRange([closer, WHOLE], { from: 4400, to: 4500 }), { from: 4350, to: 4550 });
  assert.equal(finerRange([{ ...closer, joinedBelowNs: 0 }, WHOLE], { from: 4400, to: 4500 }), undefined);
  assert.deepEqual(finerRange([closer, WHOLE], { from: 5000, to: 6000 }), { from: 4500, to: 6500 });
});

test("an answer about a part of the time fits into that of the whole", () => {
  const on = (tid: number, name: string) => ({ name, attributes: { "thread.id": tid } });
  const whole = timeOf(0, 10000, 0, [span(1, 0, 0, 9000, on(7, "a")), span(2, 0, 100, 200, on(8, "b")), span(3, 0, 300, 9000, on(9, "c"))], 5);
  const known = placed(whole, timeOf(400, 600, 500, [span(3, 0, 0, 10, on(9, "c")), span(4, 0, 5, 20, on(6, "d")), span(1, 0, 6, 30, on(7, "a"))], 2));
  assert.deepEqual([known.from, known.to, known.joinedBelowNs], [400, 600, 2]);
  assert.deepEqual([[...known.trace.begin], [...known.trace.end]], [[500, 505, 506], [510, 520, 530]]);
  assert.deepEqual([known.trace.beginUnixNs, known.trace.durationNs, known.trace.time], [whole.beginUnixNs, whole.durationNs, whole.time]);
  const lanes = inOrder(lanesOf(known.trace), lanesOf(whole).map(({ thread }) => thread));
  assert.deepEqual(lanes.map(({ thread, spans }) => [known.trace.threads[thread].tid, spans.length]), [[7, 1], [8, 0], [9, 1], [6, 1]]);
});

test("what the recording lacks of a time is said of its threads", () => {
  const answer = { ...columnsOf([]), from_unix_ns: unix(0), to_unix_ns: unix(1000), hosts: [], coverage: 0.9 };
  assert.deepEqual(makeTrace({ ...answer, lost: 0, gaps: [] }).time?.losses, []);
  const { time } = makeTrace({ ...answer, lost: 2, gaps: [{ begin_ns: unix(0), end_ns: unix(100), reason: "not_recorded" }] });
  assert.deepEqual(time?.losses, ["2 records were lost in this time: some times and kernel spans may be missing", "for 100 ns of its time nothing was recorded"]);
});

test("waits that are joined have their sums, and tell the time of a span", () => {
  const request = span(1, 0, 0, 1000, { attributes: { "thread.id": 7, "fathom.time.user_ns": 700, "fathom.time.lock_ns": 200, "fathom.time.disk_ns": 100 } });
  const joined = span(2, 1, 100, 900, { name: "lock", attributes: {
    "thread.id": 7, "fathom.kind": "wait", "fathom.joined": 40, "fathom.joined_ns": 300, "fathom.time.lock_ns": 200, "fathom.time.disk_ns": 100 } });
  const t = timeOf(0, 1000, 0, [request, joined], 50);
  const [lane] = lanesOf(t);
  assert.deepEqual([t.time?.joinedBelowNs, t.joined[1], t.joinedNs[1], t.joined[0]], [50, 40, 300, 0]);
  assert.deepEqual(lane.told, [true]);
  assert.deepEqual(laneParts(t, lane), [[partNumber("lock"), 200], [partNumber("disk"), 100]]);
});
