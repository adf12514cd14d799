// SPDX-License-Identifier: Apache-2.0
// A trace by threads: of each its spans, what it waited for, and which thread ended the wait.
import { isOnCpu, PART_COUNT, partNumber } from "../parts/list";
import { mainPart, splitOf, type Trace } from "./model";

export interface Lane {
  readonly thread: number; // of the trace's threads
  readonly spans: readonly number[]; // of the application, by begin
  readonly depths: readonly number[]; // of these: how many others of the thread they lie in
  readonly waits: readonly number[]; // kernel spans that are waits, by begin
  readonly told: readonly boolean[]; // of `spans`: the waits are all of its time off the CPUs
  readonly firstNs: number;
}

/** A thread that ended the wait of another one. */
export interface Wake {
  readonly from: number; // lanes
  readonly to: number;
  readonly atNs: number;
  readonly wait: number;
}

const byBegin = (t: Trace) => (a: number, b: number) => t.begin[a] - t.begin[b] || t.end[b] - t.end[a];

/** How many of the spans before each still run when it begins. */
const depthsOf = (t: Trace, spans: readonly number[]): number[] => {
  const open: number[] = []; // ends
  return spans.map((span) => {
    while (open.length && open[open.length - 1] <= t.begin[span]) open.pop();
    open.push(t.end[span]);
    return open.length - 1;
  });
};

const CLOSE = 0.1; // of the time off the CPUs: waits that miss or exceed it by more do not tell it

/** Whether the waits of a thread are what a span waited: only then it ran in the rest of its time. */
const isTold = (t: Trace, span: number, waits: readonly number[]): boolean => {
  if (!t.measured[span]) return false;
  const split = splitOf(t, span);
  let off = 0, seen = 0;
  for (let p = 0; p < PART_COUNT; p++) if (!isOnCpu(p)) off += split[p];
  const behind = beginsAfter(t, waits, t.end[span]);
  for (let i = beginsAfter(t, waits, t.begin[span] - 1); i < behind; i++) seen += Math.min(t.end[waits[i]], t.end[span]) - t.begin[waits[i]];
  return Math.abs(seen - off) <= CLOSE * off;
};

/** The lanes of all threads that are known, in the order in which they had their first span. */
export const lanesOf = (t: Trace): Lane[] => {
  const spans: number[][] = t.threads.map(() => []);
  const waits: number[][] = t.threads.map(() => []);
  for (let i = 0; i < t.count; i++) {
    if (t.thread[i] < 0) continue;
    if (t.kernel[i] === 1) waits[t.thread[i]].push(i);
    else if (!t.kernel[i]) spans[t.thread[i]].push(i);
  }
  return t.threads.map((_, thread): Lane => {
    const own = spans[thread].sort(byBegin(t));
    const slept = waits[thread].sort(byBegin(t));
    return { thread, spans: own, depths: depthsOf(t, own), waits: slept, told: own.map((span) => isTold(t, span, slept)), firstNs: t.begin[own[0] ?? slept[0] ?? 0] };
  }).filter((lane) => lane.spans.length || lane.waits.length).sort((a, b) => a.firstNs - b.firstNs || a.thread - b.thread);
};

/** When what a thread waited for was there: then it was ready, but may have waited for a CPU. */
const readyAt = (t: Trace, wait: number): number => t.end[wait] - Math.min(t.end[wait] - t.begin[wait], splitOf(t, wait)[partNumber("runnable")]);

/** Wakes between two of the lanes. */
export const wakesOf = (t: Trace, lanes: readonly Lane[]): Wake[] => {
  const known = new Map(lanes.map((lane, i) => [t.threads[lane.thread].tid, i]));
  const wakes: Wake[] = [];
  lanes.forEach((lane, to) => {
    for (const wait of lane.waits) {
      const tid = Number(/(\d+)$/.exec(t.texts[t.waker[wait]])?.[1] ?? 0);
      const from = known.get(tid);
      if (from !== undefined && from !== to) wakes.push({ from, to, atNs: readyAt(t, wait), wait });
    }
  });
  return wakes;
};

/** The first of spans, sorted by their begin, that begins behind a time. */
export const beginsAfter = (t: Trace, list: readonly number[], time: number): number => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t.begin[list[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** The span or wait of a lane at a time: a wait if `inWaits`, else the innermost span. -1: none. */
export const at = (t: Trace, lane: Lane, timeNs: number, inWaits: boolean): number => {
  const list = inWaits ? lane.waits : lane.spans;
  for (let i = beginsAfter(t, list, timeNs) - 1; i >= 0; i--) if (t.end[list[i]] >= timeNs) return list[i];
  return -1;
};

/** What a lane did, in words: the longest kinds of waiting. */
export const laneParts = (t: Trace, lane: Lane): readonly (readonly [number, number])[] => {
  const sums = new Map<number, number>();
  for (const wait of lane.waits) {
    const part = mainPart(t, wait);
    if (part >= 0) sums.set(part, (sums.get(part) ?? 0) + t.end[wait] - t.begin[wait]);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
};
