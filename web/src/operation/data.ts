// SPDX-License-Identifier: Apache-2.0
// What the view of an operation asks for.
import { readSplit } from "../parts/list";
import { unixMs } from "../lib/json";

interface Sums {
  readonly count: number;
  readonly errors: number;
  readonly p50_ns: number;
  readonly p95_ns: number;
  readonly p99_ns: number;
  readonly max_ns: number;
  readonly measured: number;
  readonly time?: Record<string, number>;
}

export interface HeatAnswer {
  readonly from_unix_ns: string;
  readonly to_unix_ns: string;
  readonly step_ns: number | string;
  readonly steps: number;
  readonly bin_ends_ns: readonly number[];
  readonly total: Sums;
  readonly columns: readonly ({
    readonly begin_unix_ns: string;
    readonly cells: readonly (readonly [number, number])[];
  } & Sums)[];
}

export interface HeatColumn {
  readonly beginMs: number;
  readonly count: number;
  readonly errors: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly measured: number;
  readonly split: readonly number[];
  readonly cells: readonly (readonly [number, number])[];
}

export interface Heat {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
  readonly binEnds: readonly number[];
  readonly columns: readonly HeatColumn[];
  readonly count: number;
  readonly errors: number;
  readonly total: { readonly p50: number; readonly p95: number; readonly p99: number; readonly measured: number; readonly split: readonly number[] };
  readonly most: number; // spans of a cell
}

const COLUMNS = 360; // of the heat map, at most: one for two pixels
const STEP_MS = 10000; // of sums
const STEPS_OF_SUMS_MS = 7200e3; // of longer ranges there are sums of minutes

/** The step of a heat map over a range, as the API takes it. */
export const stepOf = (lengthMs: number): string => {
  const unit = lengthMs > STEPS_OF_SUMS_MS ? 60000 : STEP_MS;
  return `${(Math.max(1, Math.ceil(lengthMs / COLUMNS / unit)) * unit) / 1000}s`;
};

export const readHeat = (answer: HeatAnswer): Heat => {
  const columns = answer.columns.map((column): HeatColumn => ({
    beginMs: unixMs(column.begin_unix_ns), count: column.count, errors: column.errors, p50: column.p50_ns,
    p95: column.p95_ns, p99: column.p99_ns, measured: column.measured, split: readSplit(column.time), cells: column.cells,
  }));
  // where nothing is older than the last part of the range, that part has the width
  const fromMs = Math.max(unixMs(answer.from_unix_ns), (columns[0]?.beginMs ?? 0) - 2 * (Number(answer.step_ns) / 1e6));
  return {
    fromMs, toMs: unixMs(answer.to_unix_ns), stepMs: Number(answer.step_ns) / 1e6,
    binEnds: answer.bin_ends_ns.map(Number), columns,
    count: answer.total.count, errors: answer.total.errors,
    total: {
      p50: answer.total.p50_ns, p95: answer.total.p95_ns, p99: answer.total.p99_ns,
      measured: answer.total.measured, split: readSplit(answer.total.time),
    },
    most: columns.reduce((most, c) => c.cells.reduce((m, cell) => Math.max(m, cell[1]), most), 1),
  };
};

/** A box that somebody drew, or the slow requests where nobody did. */
export interface Selection {
  readonly fromMs: number;
  readonly toMs: number;
  readonly leastNs: number;
  readonly mostNs: number; // 0: no bound
  readonly isDrawn: boolean;
  readonly base?: { readonly fromMs: number; readonly toMs: number }; // what it is compared to; else the whole map
  readonly share?: number; // of all requests, if nobody drew it
}

const SLOW = 0.05; // of all requests, at least
const TOO_MANY = 0.6;

/** "from-to-least-most" of the address, and "-from-to" of what it is compared to: milliseconds since 1970, and nanoseconds. */
export const parseSelection = (text: string | null): Selection | undefined => {
  const [fromMs, toMs, leastNs, mostNs, baseFrom, baseTo] = (text ?? "").split("-").map(Number);
  if (!(toMs > fromMs && leastNs >= 0 && mostNs >= 0)) return undefined;
  return { fromMs, toMs, leastNs, mostNs, isDrawn: true, ...(baseTo > baseFrom ? { base: { fromMs: baseFrom, toMs: baseTo } } : {}) };
};

export const selectionText = (s: Selection): string =>
  [s.fromMs, s.toMs, s.leastNs, s.mostNs, ...(s.base ? [s.base.fromMs, s.base.toMs] : [])].map((n) => Math.round(n)).join("-");

/** Requests to which a selection is compared. */
export interface Others {
  readonly fromMs: number;
  readonly toMs: number;
  readonly mostNs: number; // 0: of any length
}

/** The others: of the time that was said, else those of the map that are shorter, or all where the box has an upper bound. */
export const othersOf = (heat: Heat, s: Selection): Others =>
  s.base ? { ...s.base, mostNs: 0 } : { fromMs: heat.fromMs, toMs: heat.toMs, mostNs: s.mostNs ? 0 : s.leastNs };

/** The bins at the top that have the slowest 5 % and more, but leave some to compare with. */
export const slowest = (heat: Heat): Selection => {
  const bins = new Float64Array(heat.binEnds.length);
  for (const column of heat.columns) for (const [bin, spans] of column.cells) bins[bin] += spans;
  let bin = bins.length;
  let spans = 0;
  while (bin > 0 && spans < SLOW * heat.count) {
    if (spans && spans + bins[bin - 1] > TOO_MANY * heat.count) break;
    spans += bins[--bin];
  }
  return {
    fromMs: heat.fromMs, toMs: heat.toMs, leastNs: bin > 0 ? heat.binEnds[bin - 1] + 1 : 0, mostNs: 0, isDrawn: false,
    share: spans / (heat.count || 1),
  };
};

export const othersInAddress = (others: Others): Record<string, string | undefined> => ({
  base_from: toNs(others.fromMs), base_to: toNs(others.toMs), base_most: others.mostNs ? toDuration(others.mostNs) : undefined,
});

export interface DifferenceSide {
  readonly count: number;
  readonly total_ns: number;
  readonly mean_ns: number; // what a request has of it; of an attribute, how long those take that have it
  readonly bins: readonly (readonly [number, number])[]; // end of a bin, which begins at half of it, and requests in it
}

export interface Difference {
  readonly kind: "part" | "own" | "place" | "call" | "attribute";
  readonly key: string;
  readonly value: string;
  readonly service?: string; // of "own": time of spans of an operation, whose key is the part
  readonly explains_ns: number;
  readonly a: DifferenceSide;
  readonly b: DifferenceSide;
}

interface Side {
  readonly spans: number;
  readonly mean_ns: number;
  readonly measured: number;
  readonly detailed: number;
  readonly partial?: boolean;
  readonly lost?: number | string; // records, in the time of the side
}

export interface CompareAnswer {
  readonly a: Side;
  readonly b: Side;
  readonly differences: readonly Difference[];
}

/** How many spans of a side a difference refers to. */
export const baseOf = (side: Side, kind: Difference["kind"]): number =>
  kind === "part" || kind === "own" ? side.measured : kind === "place" ? side.detailed : side.spans;

/** A duration as the API takes it: microseconds, to the nanosecond. */
export const toDuration = (ns: number): string => `${(Math.floor(ns) / 1000).toFixed(3)}us`;

/** Nanoseconds since 1970 of a time in milliseconds, for the API. */
export const toNs = (ms: number): string => `${Math.round(ms)}000000`;
