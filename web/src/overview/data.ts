// SPDX-License-Identifier: Apache-2.0
// What is compared in the overview: each operation now, and before.
import { ask, query } from "../lib/api";
import { duration } from "../lib/format";
import { unixMs } from "../lib/json";
import { overviewPaths } from "../lib/paths";
import { selectionText, toNs } from "../operation/data";
import { readSplit } from "../parts/list";

export interface Sums {
  readonly service: string;
  readonly operation: string;
  readonly kind: string;
  readonly count: number;
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
  readonly count: readonly number[];
  readonly errors: readonly number[];
  readonly p50_ns: readonly number[];
  readonly p99_ns: readonly number[];
}

export interface SeriesAnswer {
  readonly from_unix_ns: string;
  readonly to_unix_ns: string;
  readonly step_ns: number;
  readonly steps: number;
  readonly operations: readonly SeriesRow[];
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
  readonly series: SeriesAnswer;
  readonly compared: string; // "the hour before"
  readonly now: Span;
  readonly before: Span;
}

const COUNT_LEAST = 20; // requests that make a change a change
const COUNT_P99 = 200; // of fewer, the 99th percentile is nearly the longest one: the 95th tells the change
const WORSE = 1.25;
const ENOUGH_LOST = 0.5; // of what the operation that loses most loses

/** Whether the row is marked as worse than before. */
export const isWorse = (row: Row): boolean => row.change >= WORSE || row.errorsMore >= 0.01;

export const keyOf = (o: { service: string; operation: string; kind: string }): string => JSON.stringify([o.service, o.operation, o.kind]);

/** The duration that is held against that of the other time. */
const changedOf = (sums: Sums, other: Sums): number => (Math.min(sums.count, other.count) < COUNT_P99 ? sums.p95_ns : sums.p99_ns);

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
  const enough = before !== undefined && now.count >= COUNT_LEAST && before.count >= COUNT_LEAST && before.p95_ns > 0;
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

const sums = (from: string, to: string | undefined, abort: AbortSignal) =>
  ask<SumsAnswer>(query("operations", { from, to }), abort);

/**
 * The first fifth of what there is, in whole steps: long enough for requests that can be compared, and for a fault
 * to be seen until there is something older. undefined: there is too little.
 */
export const firstPart = (line: SeriesAnswer): { readonly fromMs: number; readonly toMs: number } | undefined => {
  const begin = Array.from({ length: line.steps }, (_, i) => i).find((i) => line.operations.some((row) => row.count[i]));
  if (begin === undefined) return undefined;
  const seen = line.operations.map(() => 0);
  for (let end = begin; end + 1 < line.steps; end++) {
    line.operations.forEach((row, i) => { seen[i] += row.count[end] ?? 0; });
    if (end + 1 - begin < Math.round((line.steps - begin) / 5) || Math.max(...seen) < 2 * COUNT_LEAST) continue;
    const at = (step: number) => unixMs(line.from_unix_ns) + (step * Number(line.step_ns)) / 1e6;
    return { fromMs: at(begin), toMs: at(end + 1) };
  }
  return undefined;
};

export const firstText = ({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): string => `the first ${duration((toMs - fromMs) * 1e6)}`;

const spanOf = (answer: SumsAnswer): Span => ({ from: answer.from_unix_ns, to: answer.to_unix_ns });

/**
 * What "now" is compared to: the same time a week ago, else the hour before (or the time before that
 * is as long). Where nothing is that old, all that came is compared to the first of it.
 */
export const loadOverview = async (lengthMs: number, abort: AbortSignal): Promise<OverviewData> => {
  const paths = overviewPaths(lengthMs);
  const [series, now, weekAgo, earlier] = await Promise.all([
    ask<SeriesAnswer>(paths.series, abort), ...[paths.now, paths.weekAgo, paths.earlier].map((path) => ask<SumsAnswer>(path, abort)),
  ] as const);
  const made = (current: SumsAnswer, before: SumsAnswer, compared: string): OverviewData =>
    ({ rows: rowsOf(current.operations, before.operations, series.operations), series, compared, now: spanOf(current), before: spanOf(before) });
  if (weekAgo.operations.length) return made(now, weekAgo, "the same time a week ago");
  if (earlier.operations.length) return made(now, earlier, paths.earlierText);
  const first = firstPart(series);
  if (!first) return made(now, { ...now, operations: [] }, "");
  const [old, rest] = await Promise.all([sums(toNs(first.fromMs), toNs(first.toMs), abort), sums(toNs(first.toMs), undefined, abort)]);
  if (!rest.operations.length) return made(now, { ...now, operations: [] }, ""); // all came in the first part
  const known = new Set(rest.operations.map(keyOf));
  const gone = rowsOf(old.operations.filter((o) => !known.has(keyOf(o))), [], series.operations).map((row) => ({ ...row, isGone: true }));
  const all = made(rest, old, firstText(first));
  return { ...all, rows: [...all.rows, ...gone] };
};
