// SPDX-License-Identifier: Apache-2.0
// What is compared in the overview: each operation now, and before.
import { ask, query } from "../lib/api";
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
}

export interface OverviewData {
  readonly rows: readonly Row[];
  readonly series: SeriesAnswer;
  readonly compared: string; // "the hour before"
  readonly window: string; // how long "now" is: "300s"
}

const COUNT_LEAST = 20; // requests that make a change a change
const WORSE = 1.25;

/** Whether the row is marked as worse than before. */
export const isWorse = (row: Row): boolean => row.change >= WORSE || row.errorsMore >= 0.01;

export const keyOf = (o: { service: string; operation: string; kind: string }): string => JSON.stringify([o.service, o.operation, o.kind]);

const scoreOf = (now: Sums, before: Sums | undefined, change: number, errorsMore: number): number => {
  if (!before) return 0;
  // the time that all requests lose, so that a rare operation does not stand above a busy one
  const lost = Math.log10(1 + (now.count * Math.max(0, now.p99_ns - before.p99_ns)) / 1e9);
  return (change >= WORSE ? 10 * Math.log2(change) + lost : 0) + (errorsMore >= 0.01 ? 1000 * errorsMore + 10 : 0);
};

const rowOf = (now: Sums, before: Sums | undefined, series: SeriesRow | undefined): Row => {
  const enough = before !== undefined && now.count >= COUNT_LEAST && before.count >= COUNT_LEAST && before.p99_ns > 0;
  const change = enough ? now.p99_ns / before.p99_ns : 1;
  const errorsMore = enough ? now.errors / now.count - before.errors / before.count : 0;
  return {
    key: keyOf(now), now, before, series, change, errorsMore,
    split: readSplit(now.time),
    splitBefore: readSplit(before?.time),
    score: scoreOf(now, before, change, errorsMore),
  };
};

/** The worst change first; the busiest of those that did not change. */
export const rowsOf = (now: readonly Sums[], before: readonly Sums[], series: readonly SeriesRow[]): Row[] => {
  const known = new Map(before.map((sums) => [keyOf(sums), sums]));
  const lines = new Map(series.map((line) => [keyOf(line), line]));
  return now.map((sums) => rowOf(sums, known.get(keyOf(sums)), lines.get(keyOf(sums))))
    .sort((a, b) => b.score - a.score || b.now.count * b.now.mean_ns - a.now.count * a.now.mean_ns || a.key.localeCompare(b.key));
};

const sums = (from: string, to: string | undefined, abort: AbortSignal) =>
  ask<SumsAnswer>(query("operations", { from, to }), abort);

const WEEK_MS = 7 * 86400e3;
const seconds = (ms: number): string => `${Math.round(ms / 1000)}s`;

/**
 * What "now" is compared to: the same time a week ago, else the hour before (or the time before that
 * is as long). Where nothing is that old, the last minute is compared to what was before it.
 */
export const loadOverview = async (lengthMs: number, abort: AbortSignal): Promise<OverviewData> => {
  const from = seconds(lengthMs);
  const series = ask<SeriesAnswer>(query("series", { from, step: seconds(Math.max(10e3, lengthMs / 60)) }), abort);
  const now = await sums(from, undefined, abort);
  const weekAgo = await sums(seconds(WEEK_MS + lengthMs), seconds(WEEK_MS), abort);
  const made = async (current: SumsAnswer, before: SumsAnswer, compared: string, window = from): Promise<OverviewData> => {
    const line = await series;
    return { rows: rowsOf(current.operations, before.operations, line.operations), series: line, compared, window };
  };
  if (weekAgo.operations.length) return made(now, weekAgo, "the same time a week ago");
  const longer = Math.max(3600e3, lengthMs);
  const earlier = await sums(seconds(lengthMs + longer), from, abort);
  if (earlier.operations.length) return made(now, earlier, longer > 3600e3 ? "the time before" : "the hour before");
  const minute = await sums("60s", undefined, abort);
  const older = await sums(from, "60s", abort);
  if (minute.operations.length && older.operations.length) return made(minute, older, "the minutes before", "60s");
  return made(now, { ...now, operations: [] }, "");
};
