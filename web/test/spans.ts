// SPDX-License-Identifier: Apache-2.0
// Traces for tests, span by span: the server makes columns of them, and so does this.
import type { ApiColumn, ApiColumns, ApiMore } from "../src/trace/columns";
import { KINDS, makeTrace, type Trace, unpack } from "../src/trace/model";

export interface TestSpan {
  readonly id: number;
  readonly parent: number; // 0: none
  readonly from: number;
  readonly to: number;
  readonly name: string;
  readonly kind: string;
  readonly service: string;
  readonly attributes: Record<string, unknown>;
  readonly trace?: string;
  readonly host?: string;
  readonly more?: Partial<ApiMore>;
}

export interface TestStep {
  readonly span: number;
  readonly from: number;
  readonly to: number;
  readonly state: number;
  readonly part: string;
  readonly place: string;
  readonly waker: string;
  readonly wait: number;
}

export const BEGIN = 1790000000000000000n;

export const columnsOf = (spans: readonly TestSpan[], steps?: readonly TestStep[]): ApiColumns => {
  const texts = [""];
  const number = (text: string): number => (texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1);
  const places = new Map(spans.map((span, i) => [span.id, i]).reverse() as [number, number][]);
  const resources = [...new Set(spans.map((span) => JSON.stringify([span.service, span.host])))];
  const columns = new Map<string, { column: ApiColumn; spans: number[]; values: unknown[] }>();
  spans.forEach((span, i) => Object.entries(span.attributes).forEach(([key, value]) => {
    const kind = typeof value === "string" ? "text" : typeof value === "object" ? "json" : "value";
    const column = columns.get(`${kind} ${key}`) ?? { column: { key, kind, values: [] }, spans: [], values: [] };
    columns.set(`${kind} ${key}`, column);
    column.spans.push(i);
    column.values.push(kind === "value" ? value : number(kind === "text" ? (value as string) : JSON.stringify(value)));
  }));
  const parentOf = (span: TestSpan): number => (!span.parent || span.parent === span.id ? -1 : (places.get(span.parent) ?? -2));
  const least = spans.reduce((earliest, span) => Math.min(earliest, span.from), 0);
  return {
    trace_id: "1", begin_unix_ns: String(BEGIN + BigInt(least)), count: spans.length, ids: spans.map((span) => span.id.toString(16).padStart(16, "0")).join(""),
    parent: spans.map(parentOf), begin_ns: spans.map((span) => span.from - least), duration_ns: spans.map((span) => span.to - span.from),
    kind: spans.map((span) => KINDS.indexOf(span.kind as never)), status: spans.map(() => 0), name: spans.map((span) => number(span.name)),
    resource: spans.map((span) => resources.indexOf(JSON.stringify([span.service, span.host]))), scope: spans.map(() => 0),
    ...(spans.some((span) => span.trace) ? { trace: spans.map((span) => number(span.trace ?? "")) } : {}),
    attributes: [...columns.values()].map(({ column, spans: list, values }) => ({ ...column, values, ...(list.length === spans.length ? {} : { spans: list }) })),
    more: spans.flatMap((span, i) => (span.more ? [{ span: i, events: [], links: [], ...span.more }] : [])),
    ...(steps ? { critical: {
      subject: 0, known_by: "wakers", cut: false, span: steps.map((step) => step.span), begin_ns: steps.map((step) => step.from - least),
      duration_ns: steps.map((step) => step.to - step.from), state: steps.map((step) => step.state), part: steps.map((step) => number(step.part)),
      place: steps.map((step) => number(step.place)), waker: steps.map((step) => number(step.waker)), wait: steps.map((step) => step.wait),
    } } : {}),
    resources: resources.map((text) => {
      const [service, host] = JSON.parse(text) as [string, string | null];
      return { service, attributes: host ? { "host.name": host } : {} };
    }),
    scopes: [{ name: "", version: "" }], texts,
  };
};

export const span = (id: number, parent: number, from: number, to: number, more: Partial<TestSpan> = {}): TestSpan =>
  ({ id, parent, from, to, name: `span ${id}`, kind: "internal", service: "shop", attributes: {}, ...more });

export const traceOf = (...spans: TestSpan[]): Trace => unpack(makeTrace(columnsOf(spans)));
