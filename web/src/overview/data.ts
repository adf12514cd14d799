// SPDX-License-Identifier: Apache-2.0
// What is compared in the overview: each operation now, and before.
import { ask, askPage } from "../lib/api";
import { duration } from "../lib/format";
import { unixMs } from "../lib/json";
import { overviewPath } from "../lib/paths";
import { selectionText } from "../operation/data";
import { readSplit } from "../parts/list";

export interface Sums {
  readonly service: string;
  readonly operation: string;
  readonly kind: string;
  readonly count: number;
  readonly seen: number; // of these; the others are estimated
  readonly errors: number;
  readonly rate: number;
  readonly mean_ns: number;
  readonly p50_ns: number;
  readonly p95_ns: number;
  readonly p99_ns: number;
  readonly max_ns: number;
  readonly measured: number;
  readonly time?: Record<string, number>;
}

interface SumsAnswer {
  readonly from_unix_ns: string;
  readonly to_unix_ns: string;
  readonly operations: readonly Sums[];
}

export interface SeriesRow {
  readonly service: string;
  readonly operation: string;
  readonly kind: string;
  readonly count: readonly number[]; // in each step
  readonly p99_ns: readonly number[];
}

/** What "now" is compared to: the same time a week ago, else as long before, an hour at least, else the first of all. */
interface OverviewAnswer {
  readonly compared: "week" | "before" | "first" | "nothing";
  readonly now: SumsAnswer;
  readonly before: SumsAnswer;
  readonly series: { readonly operations: readonly SeriesRow[] };
}

export interface Row {
  readonly key: string;
  readonly now: Sums;
  readonly before: Sums | undefined;
  readonly split: readonly number[];
  readonly splitBefore: readonly number[];
  readonly series: SeriesRow | undefined;
  readonly change: number; // of p99: 1.5 is half as much again; 1 where there is nothing to compare
  readonly errorsMore: number; // of the share of errors
  readonly score: number;
  readonly isGone: boolean; // no request since then: its numbers are those of before
}

/** Times in nanoseconds since 1970. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

export interface OverviewData {
  readonly rows: readonly Row[];
  readonly compared: string; // "the hour before"
  readonly now: Span;
  readonly before: Span;
}

const SEEN_LEAST = 20; // requests that make a change a change
const SEEN_P99 = 200; // of fewer, the 99th percentile is nearly the longest one: the 95th tells the change
const WORSE = 1.25;
const ENOUGH_LOST = 0.5; // of what the operation that loses most loses

/** Whether the row is marked as worse than before. */
export const isWorse = (row: Row): boolean => row.change >= WORSE || row.errorsMore >= 0.01;

export const keyOf = (o: { service: string; operation: string; kind: string }): string => JSON.stringify([o.service, o.operation, o.kind]);

/** The duration that is held against that of the other time. */
const changedOf = (sums: Sums, other: Sums): number => (Math.min(sums.seen, other.seen) < SEEN_P99 ? sums.p95_ns : sums.p99_ns);

/** The time that all requests lose. */
const lostNs = ({ now, before, change }: Omit<Row, "score">): number =>
  before && change >= WORSE ? now.count * (changedOf(now, before) - changedOf(before, now)) : 0;

/**
 * The change counts where it costs much: an operation that is rare, or short, does not stand above another one
 * because its times scatter. Of a caller and what it waits for, both of which lose the same, the latter changed more.
 */
const scoreOf = (row: Omit<Row, "score">, mostLostNs: number): number => {
  const lost = lostNs(row);
  const weight = Math.min(1, lost / (ENOUGH_LOST * mostLostNs || 1));
  return (lost ? weight * 10 * Math.log2(row.change) : 0) + (row.errorsMore >= 0.01 ? 1000 * row.errorsMore + 10 : 0);
};

const rowOf = (now: Sums, before: Sums | undefined, series: SeriesRow | undefined): Omit<Row, "score"> => {
  const enough = before !== undefined && now.seen >= SEEN_LEAST && before.seen >= SEEN_LEAST && before.p95_ns > 0;
  const change = enough ? changedOf(now, before) / changedOf(before, now) : 1;
  const errorsMore = enough ? now.errors / now.count - before.errors / before.count : 0;
  return {
    key: keyOf(now), now, before, series, change, errorsMore,
    split: readSplit(now.time),
    splitBefore: readSplit(before?.time),
    isGone: false,
  };
};

/**
 * The requests that make a row worse, as the view of an operation has it in its address, and those before: what is
 * longer than nearly all was, by the 95th percentile if that rose, too. undefined: the row is not worse, or fails more.
 */
export const worseText = (row: Row, now: Span, before: Span): string | undefined => {
  if (!row.before || row.change < WORSE) return undefined;
  const leastNs = row.now.p95_ns >= WORSE * row.before.p95_ns ? row.before.p95_ns : row.before.p99_ns;
  return selectionText({
    fromMs: unixMs(now.from), toMs: unixMs(now.to), leastNs, mostNs: 0, isDrawn: true,
    base: { fromMs: unixMs(before.from), toMs: Math.min(unixMs(before.to), unixMs(now.from)) },
  });
};

/** The worst change first; the busiest of those that did not change. */
export const rowsOf = (now: readonly Sums[], before: readonly Sums[], series: readonly SeriesRow[]): Row[] => {
  const known = new Map(before.map((sums) => [keyOf(sums), sums]));
  const lines = new Map(series.map((line) => [keyOf(line), line]));
  const rows = now.map((sums) => rowOf(sums, known.get(keyOf(sums)), lines.get(keyOf(sums))));
  const mostLostNs = rows.reduce((most, row) => Math.max(most, lostNs(row)), 0);
  return rows.map((row): Row => ({ ...row, score: scoreOf(row, mostLostNs) }))
    .sort((a, b) => b.score - a.score || b.now.count * b.now.mean_ns - a.now.count * a.now.mean_ns || a.key.localeCompare(b.key));
};

const spanOf = (answer: SumsAnswer): Span => ({ from: answer.from_unix_ns, to: answer.to_unix_ns });

const lengthMs = ({ from_unix_ns: from, to_unix_ns: to }: SumsAnswer): number => unixMs(to) - unixMs(from);

const HOUR_MS = 3600e3;

const comparedText = ({ compared, before }: OverviewAnswer): string => {
  switch (compared) {
    case "week": return "the same time a week ago";
    case "before": return lengthMs(before) > HOUR_MS ? "the time before" : "the hour before";
    case "first": return `the first ${duration(lengthMs(before) * 1e6)}`;
    default: return "";
  }
};

/** What was not seen since the time that is compared with has rows, too, where that is the first of all. */
const dataOf = (answer: OverviewAnswer): OverviewData => {
  const { now, before, series, compared } = answer;
  const known = new Set(now.operations.map(keyOf));
  const old = compared === "first" ? before.operations.filter((o) => !known.has(keyOf(o))) : [];
  const gone = rowsOf(old, [], series.operations).map((row) => ({ ...row, isGone: true }));
  const rows = [...rowsOf(now.operations, before.operations, series.operations), ...gone];
  return { rows, compared: comparedText(answer), now: spanOf(now), before: spanOf(before) };
};

export const loadOverview = async (from: string, abort: AbortSignal): Promise<OverviewData> => dataOf(await ask<OverviewAnswer>(overviewPath(from), abort));

/** The overview that came with the page. */
export const knownOverview = (from: string): OverviewData | undefined => {
  const answer = askPage<OverviewAnswer>(overviewPath(from));
  return answer && dataOf(answer);
};
