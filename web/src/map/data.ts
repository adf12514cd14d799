// SPDX-License-Identifier: Apache-2.0
// Services and the calls between them, now and before.
import { ask, query } from "../lib/api";
import { type Losses, lossNotes } from "../trace/losses";
import { SURE } from "../trace/model";

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly seen: number; // of these; the others are estimated
  readonly errors: number;
  readonly rate?: number; // not of a sample
  readonly mean_ns: number;
  readonly p50_ns?: number;
  readonly p99_ns?: number;
  readonly max_ns: number;
  readonly probability?: number; // that calls belong to the requests to which they are given
  readonly sampled?: boolean; // the service at its end sent no span
}

export interface Service {
  readonly service: string;
  readonly count: number;
  readonly errors: number;
  readonly rate: number;
  readonly p99_ns: number;
}

interface EdgesAnswer extends Losses {
  readonly edges: readonly Edge[];
}

interface ServicesAnswer {
  readonly services: readonly Service[];
}

export interface Call extends Edge {
  readonly key: string;
  readonly change: number; // of p99: 2 is twice as long as before; 1 where it is not known
}

export interface MapData {
  readonly losses: readonly string[]; // what the recording lacks of the time
  readonly calls: readonly Call[];
  readonly services: ReadonlyMap<string, Service>;
}

export const keyOf = (edge: { from: string; to: string }): string => JSON.stringify([edge.from, edge.to]);

const SEEN_LEAST = 20; // calls that make a change a change

export const isUnsure = (edge: Edge): boolean => edge.probability !== undefined && edge.probability < SURE;

export const isBad = (call: Call, by: string): boolean =>
  by === "p99" ? call.change >= 1.25 : call.errors / (call.count || 1) >= 0.01;

/** Calls with how their p99 changed, the most frequent first. */
export const callsOf = (now: readonly Edge[], before: readonly Edge[]): Call[] => {
  const known = new Map(before.map((edge) => [keyOf(edge), edge]));
  return now.map((edge) => {
    const old = known.get(keyOf(edge));
    const enough = old?.p99_ns && edge.p99_ns && old.seen >= SEEN_LEAST && edge.seen >= SEEN_LEAST;
    return { ...edge, key: keyOf(edge), change: enough ? (edge.p99_ns ?? 0) / (old.p99_ns ?? 1) : 1 };
  }).sort((a, b) => b.count - a.count || a.key.localeCompare(b.key));
};

const seconds = (ms: number): string => `${Math.round(ms / 1000)}s`;

/** The calls of a range, and of the time before it that is as long. */
export const loadMap = async (range: { from: string; to?: string; lengthMs: number; isLive: boolean }, abort: AbortSignal): Promise<MapData> => {
  const before = range.isLive
    ? { from: seconds(2 * range.lengthMs), to: seconds(range.lengthMs) }
    : { from: String(BigInt(range.from) - BigInt(Math.round(range.lengthMs)) * 1000000n), to: range.from };
  const [now, old, services] = await Promise.all([
    ask<EdgesAnswer>(query("edges", { from: range.from, to: range.to }), abort),
    ask<EdgesAnswer>(query("edges", before), abort),
    ask<ServicesAnswer>(query("services", { from: range.from, to: range.to }), abort),
  ]);
  // the hour that is asked for may have begun before anything was recorded: nothing is missing there
  const losses = lossNotes({ ...now, gaps: now.gaps?.filter(({ reason }) => reason !== "unknown") });
  return { losses, calls: callsOf(now.edges, old.edges), services: new Map(services.services.map((service) => [service.service, service])) };
};

/** Calls from or to a service; all of them where none is chosen. */
export const around = (calls: readonly Call[], focus: string): Call[] =>
  focus ? calls.filter((call) => call.from === focus || call.to === focus) : [...calls];
