// SPDX-License-Identifier: Apache-2.0
// A trace by threads: of each its spans, what it waited for, and which thread ended the wait.
import { isOnCpu, PART_COUNT, partNumber } from "../parts/list";
import { mainPart, splitOf, type Trace } from "./model";

export interface Lane {
  readonly thread: number; // of the trace's threads
  readonly spans: readonly number[]; // of the application, by begin
  readonly depths: readonly number[]; // of these: how many others of the thread they lie in
  readonly levels: readonly (readonly number[])[]; // places in `spans` by depth: those of one level follow each other
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

/** The first of `count` places whose value is greater than a bound; values grow with their places. */
export const firstAbove = (count: number, valueOf: (place: number) => number, bound: number): number => {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (valueOf(middle) <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
};

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

/** The places of spans by their depth. */
const levelsOf = (depths: readonly number[]): number[][] => {
  const levels: number[][] = [];
  depths.forEach((depth, i) => (levels[depth] ??= []).push(i)); // none is left out: a span lies in one of the level above
  return levels;
};

const CLOSE = 0.1; // of the time off the CPUs: waits that miss or exceed it by more do not tell it

/** Whether the waits of a thread are what a span waited: only then it ran in the rest of its time. */
const isTold = (t: Trace, span: number, waits: readonly number[]): boolean => {
  if (!t.measured[span]) return false;
  const split = splitOf(t, span);
  let off = 0, seen = 0;
  for (let p = 0; p < PART_COUNT; p++) if (!isOnCpu(p)) off += split[p];
  const behind = beginsAfter(t, waits, t.end[span]);
  for (let i = beginsAfter(t, waits, t.begin[span] - 1); i < behind; i++) seen += t.joined[waits[i]] ? t.joinedNs[waits[i]] : Math.min(t.end[waits[i]], t.end[span]) - t.begin[waits[i]];
  return Math.abs(seen - off) <= CLOSE * off;
};

const makeLanes = (t: Trace): Lane[] => {
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
    const depths = depthsOf(t, own);
    return { thread, spans: own, depths, levels: levelsOf(depths), waits: slept, told: own.map((span) => isTold(t, span, slept)), firstNs: t.begin[own[0] ?? slept[0] ?? 0] };
  }).filter((lane) => lane.spans.length || lane.waits.length).sort((a, b) => a.firstNs - b.firstNs || a.thread - b.thread);
};

const made = new WeakMap<Trace, Lane[]>();

/** The lanes of all threads that are known, in the order in which they had their first span. */
export const lanesOf = (t: Trace): Lane[] => {
  const lanes = made.get(t) ?? makeLanes(t);
  made.set(t, lanes);
  return lanes;
};

const emptyLane = (thread: number): Lane => ({ thread, spans: [], depths: [], levels: [], waits: [], told: [], firstNs: 0 });

/** Lanes of threads in their order: those that have nothing stay, and others stand behind them. */
export const inOrder = (lanes: readonly Lane[], threads: readonly number[]): Lane[] => {
  const known = new Map(lanes.map((lane) => [lane.thread, lane]));
  const ordered = threads.map((thread) => known.get(thread) ?? emptyLane(thread));
  threads.forEach((thread) => known.delete(thread));
  return [...ordered, ...known.values()];
};

/** When what a thread waited for was there: then it was ready, but may have waited for a CPU. */
const readyAt = (t: Trace, wait: number): number => t.end[wait] - Math.min(t.end[wait] - t.begin[wait], splitOf(t, wait)[partNumber("runnable")]);

/** Wakes between two of the lanes, in the order of time. */
export const wakesOf = (t: Trace, lanes: readonly Lane[]): Wake[] => {
  const keyOf = (host: string, tid: number) => `${tid} ${host}`; // a thread of another host may have the same number
  const known = new Map(lanes.map((lane, i) => [keyOf(t.threads[lane.thread].host, t.threads[lane.thread].tid), i]));
  const wakers = new Map<string, number | undefined>(); // the lane of a waker
  const wakes: Wake[] = [];
  lanes.forEach((lane, to) => {
    const { host } = t.threads[lane.thread];
    for (const wait of lane.waits) {
      if (!t.waker[wait]) continue;
      const key = keyOf(host, t.waker[wait]);
      if (!wakers.has(key)) wakers.set(key, known.get(keyOf(host, Number(/(\d+)$/.exec(t.texts[t.waker[wait]])?.[1] ?? 0))));
      const from = wakers.get(key);
      if (from !== undefined && from !== to) wakes.push({ from, to, atNs: readyAt(t, wait), wait });
    }
  });
  return wakes.sort((a, b) => a.atNs - b.atNs);
};

/**
 * What is seen of spans that follow each other, of which there may be a million: those that are narrower than
 * `leastNs` stand for all that end within it, so that at most one is drawn for each pixel. `endOf` and `beginOf`
 * are times of places.
 */
export const seenOf = (count: number, beginOf: (place: number) => number, endOf: (place: number) => number, fromNs: number, toNs: number, leastNs: number, see: (place: number, upTo: number) => void): void => {
  for (let i = firstAbove(count, endOf, fromNs - 1); i < count && beginOf(i) <= toNs;) {
    const begin = beginOf(i), end = endOf(i);
    if (end - begin >= leastNs) {
      see(i, end);
      i++;
      continue;
    }
    let next = i + 1; // most often the one behind it
    if (next < count && endOf(next) <= begin + leastNs) next += firstAbove(count - next, (place) => endOf(next + place), begin + leastNs);
    see(i, endOf(next - 1));
    i = next;
  }
};

/** The first of spans, sorted by their begin, that begins behind a time. */
export const beginsAfter = (t: Trace, list: readonly number[], time: number): number => firstAbove(list.length, (place) => t.begin[list[place]], time);

/** The last of spans that follow each other to begin at a time or before, if it has not ended then. -1: none. */
const lastAt = (t: Trace, count: number, spanOf: (place: number) => number, timeNs: number): number => {
  const place = firstAbove(count, (i) => t.begin[spanOf(i)], timeNs) - 1;
  return place >= 0 && t.end[spanOf(place)] >= timeNs ? spanOf(place) : -1;
};

/** The span or wait of a lane at a time: a wait if `inWaits`, else the innermost span. -1: none. */
export const at = (t: Trace, lane: Lane, timeNs: number, inWaits: boolean): number => {
  if (inWaits) return lastAt(t, lane.waits.length, (place) => lane.waits[place], timeNs);
  for (let depth = lane.levels.length - 1; depth >= 0; depth--) {
    const found = lastAt(t, lane.levels[depth].length, (place) => lane.spans[lane.levels[depth][place]], timeNs);
    if (found >= 0) return found;
  }
  return -1;
};

/** What a lane did, in words: the longest kinds of waiting. */
export const laneParts = (t: Trace, lane: Lane): readonly (readonly [number, number])[] => {
  const sums = new Map<number, number>();
  const add = (part: number, ns: number) => { sums.set(part, (sums.get(part) ?? 0) + ns); };
  for (const wait of lane.waits) {
    const part = mainPart(t, wait);
    if (t.joined[wait]) splitOf(t, wait).forEach((ns, p) => { if (ns) add(p, ns); });
    else if (part >= 0) add(part, t.end[wait] - t.begin[wait]);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
};
