// SPDX-License-Identifier: Apache-2.0
// What is compared: two traces, or two sets of requests of an operation.
import { ask, query } from "../lib/api";
import type { CompareAnswer } from "../operation/data";
import type { SearchAnswer } from "../search/data";
import type { Node, WhereAnswer } from "../where/tree";

/** As the address has it. */
export type Question =
  | { readonly kind: "nothing" }
  | { readonly kind: "one"; readonly a: string } // whose other trace is not chosen yet
  | { readonly kind: "traces"; readonly a: string; readonly b: string }
  | { readonly kind: "sets"; readonly service: string; readonly operation: string; readonly spanKind: string | undefined; readonly a: Requests; readonly b: Requests };

export interface Requests {
  readonly from: string;
  readonly to: string | undefined;
  readonly least: string | undefined;
  readonly most: string | undefined;
}

const setOf = (query: URLSearchParams, prefix: string, usual: Requests): Requests => {
  const value = (name: string) => query.get(`${prefix}${name}`) ?? undefined;
  return { from: value("from") ?? usual.from, to: value("to") ?? usual.to, least: value("least"), most: value("most") };
};

/** What an address asks for; `range` is that of the view. */
export const readQuestion = (query: URLSearchParams, range: { readonly from: string; readonly to?: string }): Question => {
  const [a, b, service, operation] = ["a", "b", "service", "operation"].map((name) => query.get(name) ?? "");
  if (a && b) return { kind: "traces", a, b };
  if (a) return { kind: "one", a };
  if (!service || !operation) return { kind: "nothing" };
  const usual: Requests = { from: range.from, to: range.to, least: undefined, most: undefined };
  return { kind: "sets", service, operation, spanKind: query.get("kind") ?? undefined, a: setOf(query, "", usual), b: setOf(query, "base_", usual) };
};

const PAIRS = [["a", "b"], ["from", "base_from"], ["to", "base_to"], ["least", "base_least"], ["most", "base_most"], ["node_a", "node_b"]] as const;
const NOW = "0s"; // before now

/** What changes in the address when the sides change places; a time that it leaves to the view is written out. */
export const swapped = (query: URLSearchParams, question: Question): Record<string, string | null> => {
  const plain = Object.fromEntries(PAIRS.flatMap(([x, y]) => [[x, query.get(y)], [y, query.get(x)]]));
  if (question.kind !== "sets") return plain;
  const { a, b } = question;
  const times = /^\d+$/.test(b.from) ? { last: null, from: b.from, to: b.to ?? NOW } : { last: b.from, from: null, to: null };
  return { ...plain, ...times, base_from: a.from, base_to: a.to ?? NOW };
};

export interface Compared {
  readonly answer: CompareAnswer;
  readonly trees: readonly [Node | undefined, Node | undefined];
  readonly spans: readonly [number, number];
}

const trees = (a: WhereAnswer, b: WhereAnswer): Pick<Compared, "trees" | "spans"> =>
  ({ trees: [a.roots[0], b.roots[0]], spans: [a.spans, b.spans] });

const loadTraces = async (a: string, b: string, abort: AbortSignal): Promise<Compared> => {
  const [answer, one, other] = await Promise.all([
    ask<CompareAnswer>(query("compare", { trace: a, base_trace: b }), abort),
    ask<WhereAnswer>(query("where", { trace: a }), abort),
    ask<WhereAnswer>(query("where", { trace: b }), abort),
  ]);
  return { answer, ...trees(one, other) };
};

const loadSets = async (q: Extract<Question, { kind: "sets" }>, abort: AbortSignal): Promise<Compared> => {
  const common = { service: q.service, operation: q.operation, kind: q.spanKind };
  const where = (set: Requests) =>
    ask<WhereAnswer>(query("where", { ...common, from: set.from, to: set.to, min_duration: set.least, max_duration: set.most }), abort);
  const [answer, one, other] = await Promise.all([
    ask<CompareAnswer>(query("compare", {
      ...common, from: q.a.from, to: q.a.to, min_duration: q.a.least, max_duration: q.a.most,
      base_from: q.b.from, base_to: q.b.to, base_min_duration: q.b.least, base_max_duration: q.b.most,
    }), abort),
    where(q.a), where(q.b),
  ]);
  return { answer, ...trees(one, other) };
};

export const load = (question: Question, abort: AbortSignal): Promise<Compared> | undefined =>
  question.kind === "traces" ? loadTraces(question.a, question.b, abort)
    : question.kind === "sets" ? loadSets(question, abort) : undefined;

/** Other traces of the operation of a trace, in the order of their durations. */
export const loadOthers = async (id: string, abort: AbortSignal) => {
  const { roots } = await ask<WhereAnswer>(query("where", { trace: id }), abort);
  const root = roots[0];
  if (!root) return { root, found: [] };
  const { traces } = await ask<SearchAnswer>(query("search", {
    service: root.service, operation: root.name, from: "24h", sort: "time", limit: 50,
  }), abort);
  const found = traces.filter((trace) => trace.trace_id !== id && trace.begin_unix_ns !== undefined)
    .map((trace) => ({ id: trace.trace_id, beginMs: Number(trace.begin_unix_ns) / 1e6, ns: Number(trace.end_unix_ns) - Number(trace.begin_unix_ns), spans: trace.spans ?? 0 }))
    .sort((x, y) => x.ns - y.ns);
  return { root, found };
};

/** Of many in order, some that stand for all: the first, the last, and those between at equal steps. */
export const pick = <T,>(list: readonly T[], most: number): T[] =>
  list.length <= most ? [...list] : Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))]);
