// SPDX-License-Identifier: Apache-2.0
// A trace in columns: what the worker makes of an answer, and the view draws. Times are nanoseconds
// since the begin of the trace; a span is the number of its place in the columns.
import { largestPart, partNumber, PARTS } from "../parts/list";

export interface ApiSpan {
  readonly trace_id?: string;
  readonly span_id: string;
  readonly parent_id?: string;
  readonly name: string;
  readonly kind: string;
  readonly begin_unix_ns: string;
  readonly end_unix_ns: string;
  readonly status: string;
  readonly status_message?: string;
  readonly service: string;
  readonly attributes: Record<string, unknown>;
  readonly events: readonly { readonly time_ns: string; readonly name: string; readonly attributes: Record<string, unknown> }[];
  readonly links: readonly { readonly trace_id: string; readonly span_id: string; readonly attributes: Record<string, unknown> }[];
  readonly resource: number;
  readonly scope: number;
  readonly dropped?: number;
}

/** A piece of the critical path, as the server calculates it. */
export interface ApiStep {
  readonly span_id: string;
  readonly begin_unix_ns: string;
  readonly end_unix_ns: string;
  readonly state: string; // of STATES
  readonly part?: string;
  readonly place?: string;
  readonly waker?: string;
  readonly wait_id?: string;
}

export interface ApiTrace {
  readonly trace_id?: string; // not of spans of a time
  readonly from_unix_ns?: string; // of these: the time that was asked for
  readonly to_unix_ns?: string;
  readonly partial?: boolean;
  readonly hosts?: readonly string[];
  readonly kernel?: string; // which kernel spans it has: "none", "stored", "all"
  readonly spans: readonly ApiSpan[];
  readonly resources: readonly { readonly service: string; readonly attributes: Record<string, unknown> }[];
  readonly scopes: readonly { readonly name: string; readonly version: string }[];
  readonly critical?: { readonly span_id: string; readonly known_by: string; readonly cut?: boolean; readonly steps: readonly ApiStep[] };
}

/** What a span did in a piece of the critical path. */
export interface Step {
  readonly span: number;
  readonly from: number;
  readonly to: number;
  readonly state: "running" | "runnable" | "waiting" | "split" | "unknown";
  readonly part: number; // -1: not known
  readonly place: string; // "": not known
  readonly waker: string; // "redis-server 4112"; "": not known
  readonly wait: number; // the kernel span that tells it; -1: none
}

export interface Path {
  readonly steps: readonly Step[]; // in the order of time
  readonly knownBy: string; // "spans", "waits", "wakers"
  readonly isCut: boolean;
}

export interface Thread {
  readonly tid: number;
  readonly name: string; // "": not known
  readonly service: string;
}

export const KERNEL_KINDS = ["", "wait", "syscall", "fault", "io_uring", "block"] as const;

export interface Trace {
  readonly id: string;
  readonly beginUnixNs: string;
  readonly durationNs: number;
  readonly count: number;
  readonly texts: readonly string[];
  readonly ids: readonly string[];
  readonly parent: Int32Array; // -1: a root
  readonly first: Int32Array; // child; -1: none
  readonly next: Int32Array; // sibling; -1: none
  readonly roots: Int32Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly name: Uint32Array; // of `texts`
  readonly service: Uint32Array;
  readonly place: Uint32Array; // of a kernel span: where it waits; of `texts`
  readonly waker: Uint32Array; // of a wait: what ended it, such as "redis-server 4112"; of `texts`, 0: not known
  readonly thread: Int32Array; // of `threads`; -1: not known
  readonly threads: readonly Thread[];
  readonly kind: Uint8Array; // of KINDS
  readonly kernel: Uint8Array; // of KERNEL_KINDS; 0: it is no kernel span
  readonly error: Uint8Array;
  readonly orphan: Uint8Array; // its parent is not there
  readonly unsure: Uint8Array; // that its parent is the one that it has
  readonly measured: Uint8Array; // it has a split
  readonly split: Float64Array; // of each span, PARTS.length values
  readonly ownNs: Float64Array; // the time in which no child ran
  readonly events: Float64Array; // pairs: span, time
  readonly path: Path; // the critical one
  readonly notes: readonly string[]; // what is missing, for people
  readonly time?: Time; // of spans of a time
  readonly hasAllKernel: boolean; // the kernel spans of all spans whose thread is known, not only of those that are stored
}

/** The time that was asked for, since the begin of the first span, and what else its answer says. */
export interface Time {
  readonly from: number;
  readonly to: number;
  readonly isPartial: boolean;
  readonly hosts: readonly string[];
}

export const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;

const W = PARTS.length;

export const SURE = 0.9; // edges that are less probable are dashed

class Texts {
  readonly list: string[] = [""];
  private readonly numbers = new Map([["", 0]]);

  number(text: string): number {
    let number = this.numbers.get(text);
    if (number === undefined) {
      number = this.list.push(text) - 1;
      this.numbers.set(text, number);
    }
    return number;
  }
}

const kernelKind = (span: ApiSpan): number => {
  const kind = span.attributes["fathom.kind"];
  return typeof kind === "string" && kind !== "context" ? Math.max(1, KERNEL_KINDS.indexOf(kind as never)) : 0;
};

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** "fsync on /var/lib/x/wal", "futex", or the name. */
const placeOf = (span: ApiSpan): string => {
  const call = text(span.attributes.syscall) || text(span.attributes["cause.reason"]) || span.name;
  const file = text(span.attributes["fd.name"]);
  return file ? `${call} on ${file}` : call;
};

/** "redis-server 4112", "timer". */
const wakerOf = (span: ApiSpan): string => wakerName(text(span.attributes.waker));

/** What tells a process from others: resources differ where its name or its labels changed. */
const processOf = (answer: ApiTrace, span: ApiSpan): string => {
  const { "process.pid": pid, "host.name": host } = answer.resources[span.resource]?.attributes ?? {};
  return pid === undefined ? `resource ${span.resource}` : `${text(host)} ${String(pid)}`;
};

/** The threads of spans, each with its number. */
const threadsOf = (answer: ApiTrace): { thread: Int32Array; threads: Thread[] } => {
  const { spans } = answer;
  const thread = new Int32Array(spans.length).fill(-1);
  const threads: Thread[] = [];
  const numbers = new Map<string, number>();
  spans.forEach((span, i) => {
    const tid = Number(span.attributes["fathom.tid"] ?? span.attributes["thread.id"] ?? 0);
    if (!(tid > 0)) return;
    const key = `${processOf(answer, span)} ${tid}`;
    const number = numbers.get(key) ?? threads.push({ tid, name: "", service: span.service }) - 1;
    numbers.set(key, number);
    thread[i] = number;
    const name = text(span.attributes["thread.name"]);
    if (name && !threads[number].name) threads[number] = { ...threads[number], name };
  });
  return { thread, threads };
};

/** Links children to parents; circles and spans without a parent that is there become roots. */
const link = (spans: readonly ApiSpan[], parent: Int32Array, first: Int32Array, next: Int32Array, orphan: Uint8Array): number[] => {
  const places = new Map<string, number>();
  const roots: number[] = [];
  spans.forEach((span, i) => {
    if (!places.has(span.span_id)) places.set(span.span_id, i);
  });
  spans.forEach((span, i) => {
    const at = span.parent_id === undefined ? undefined : places.get(span.parent_id);
    parent[i] = at === undefined || at === i ? -1 : at;
    orphan[i] = span.parent_id !== undefined && at === undefined ? 1 : 0;
  });
  // 1: on the way that is walked, 2: leads to a root
  const seen = new Uint8Array(spans.length);
  for (let i = 0; i < spans.length; i++) {
    const way: number[] = [];
    let at = i;
    while (at >= 0 && !seen[at]) {
      seen[at] = 1;
      way.push(at);
      at = parent[at];
    }
    if (at >= 0 && seen[at] === 1) {
      parent[at] = -1;
      orphan[at] = 1;
    }
    for (const passed of way) seen[passed] = 2;
  }
  for (let i = spans.length - 1; i >= 0; i--) {
    if (parent[i] < 0) {
      roots.push(i);
    } else {
      next[i] = first[parent[i]];
      first[parent[i]] = i;
    }
  }
  return roots.reverse();
};

/** Children sorted by begin: kernel spans stand behind the others in answers. */
const sortChildren = (t: Pick<Trace, "first" | "next" | "begin">, parent: number): void => {
  const list: number[] = [];
  let sorted = true;
  for (let c = t.first[parent]; c >= 0; c = t.next[c]) {
    sorted &&= !list.length || t.begin[list[list.length - 1]] <= t.begin[c];
    list.push(c);
  }
  if (sorted) return;
  list.sort((a, b) => t.begin[a] - t.begin[b]);
  t.first[parent] = list[0];
  list.forEach((c, i) => {
    t.next[c] = list[i + 1] ?? -1;
  });
};

/** How much of a span none of its children covers. */
const ownTime = (t: Pick<Trace, "first" | "next" | "begin" | "end" | "kernel">, span: number): number => {
  let covered = 0;
  let until = t.begin[span];
  for (let c = t.first[span]; c >= 0; c = t.next[c]) {
    if (t.kernel[c]) continue;
    const from = Math.max(until, t.begin[c]);
    const to = Math.min(t.end[span], t.end[c]);
    if (to > from) {
      covered += to - from;
      until = to;
    }
  }
  return Math.max(0, t.end[span] - t.begin[span] - covered);
};

/** "redis-server/4112" as people write it. */
const wakerName = (waker: string): string => waker.replace(/\/(\d+)$/, " $1");

const timeOf = (answer: ApiTrace, origin: bigint): Time | undefined => {
  if (answer.from_unix_ns === undefined || answer.to_unix_ns === undefined) return undefined;
  const since = (ns: string) => Number(BigInt(ns) - origin);
  return { from: since(answer.from_unix_ns), to: since(answer.to_unix_ns), isPartial: answer.partial === true, hosts: answer.hosts ?? [] };
};

const NO_PATH: Path = { steps: [], knownBy: "spans", isCut: false };

const pathOf = (answer: ApiTrace, origin: bigint): Path => {
  if (!answer.critical) return NO_PATH;
  const places = new Map<string, number>();
  answer.spans.forEach((span, i) => {
    if (!places.has(span.span_id)) places.set(span.span_id, i);
  });
  const steps = answer.critical.steps.map((step): Step => ({
    span: places.get(step.span_id) ?? 0, from: Number(BigInt(step.begin_unix_ns) - origin), to: Number(BigInt(step.end_unix_ns) - origin),
    state: step.state as Step["state"], part: step.part === undefined ? -1 : partNumber(step.part), place: step.place ?? "",
    waker: wakerName(step.waker ?? ""), wait: step.wait_id === undefined ? -1 : (places.get(step.wait_id) ?? -1),
  }));
  return { steps, knownBy: answer.critical.known_by, isCut: answer.critical.cut === true };
};

const notesOf = (spans: readonly ApiSpan[], t: Trace): string[] => {
  const notes: string[] = [];
  let application = 0, orphans = 0, unsure = 0, unmeasured = 0, dropped = 0, contexts = 0, unknownNs = 0, totalNs = 0;
  for (let i = 0; i < t.count; i++) {
    if (t.kernel[i]) continue;
    application++;
    orphans += t.orphan[i];
    unsure += t.unsure[i];
    unmeasured += t.measured[i] ? 0 : 1;
    dropped += Number(spans[i].dropped ?? 0);
    contexts += spans[i].attributes["fathom.kind"] === "context" ? 1 : 0;
    if (t.measured[i]) {
      unknownNs += t.split[i * W + partNumber("unknown")];
      totalNs += t.end[i] - t.begin[i];
    }
  }
  const of = (n: number) => `${n} of ${application} spans`;
  if (orphans) notes.push(`${of(orphans)} name a parent that is not here: it was not sent, or is still running`);
  if (unsure) notes.push(`of ${of(unsure)} it is not sure which request made them: their bars are dashed, and the details say why`);
  if (contexts) notes.push(`${of(contexts)} are known by the context that their program published: the spans themselves were not sent`);
  if (unmeasured === application) notes.push("no span has a time split: their programs were not recorded on a host with fathom up");
  else if (unmeasured) notes.push(`${of(unmeasured)} have no time split: their programs were not recorded, or publish no context`);
  if (totalNs && unknownNs / totalNs > 0.01) notes.push(`${((unknownNs / totalNs) * 100).toFixed(0)} % of the measured time is unknown: records were lost, or recording began later`);
  if (dropped) notes.push(`${dropped} attributes were dropped by senders or by limits`);
  return notes;
};

/** Makes the columns of an answer of the API. */
export const makeTrace = (answer: ApiTrace): Trace => {
  const { spans } = answer;
  const n = spans.length;
  const texts = new Texts();
  const begins = spans.map((span) => BigInt(span.begin_unix_ns));
  const earliest = begins.reduce((least, at) => (at < least ? at : least), begins[0] ?? BigInt(answer.from_unix_ns ?? 0));
  const asked = BigInt(answer.from_unix_ns ?? earliest);
  const origin = asked < earliest ? asked : earliest;
  const t = {
    parent: new Int32Array(n).fill(-1), first: new Int32Array(n).fill(-1), next: new Int32Array(n).fill(-1),
    begin: new Float64Array(n), end: new Float64Array(n),
    name: new Uint32Array(n), service: new Uint32Array(n), place: new Uint32Array(n), waker: new Uint32Array(n),
    kind: new Uint8Array(n), kernel: new Uint8Array(n), error: new Uint8Array(n), orphan: new Uint8Array(n), unsure: new Uint8Array(n),
    measured: new Uint8Array(n), split: new Float64Array(n * W), ownNs: new Float64Array(n),
  };
  const events: number[] = [];
  let durationNs = answer.to_unix_ns === undefined ? 0 : Number(BigInt(answer.to_unix_ns) - origin);
  spans.forEach((span, i) => {
    t.begin[i] = Number(begins[i] - origin);
    t.end[i] = Math.max(t.begin[i], Number(BigInt(span.end_unix_ns) - origin));
    durationNs = Math.max(durationNs, t.end[i]);
    t.name[i] = texts.number(span.name);
    t.service[i] = texts.number(span.service);
    t.kind[i] = Math.max(0, KINDS.indexOf(span.kind as never));
    t.kernel[i] = kernelKind(span);
    t.error[i] = span.status === "error" ? 1 : 0;
    t.unsure[i] = Number(span.attributes["edge.probability"] ?? 1) < SURE ? 1 : 0;
    if (t.kernel[i]) t.place[i] = texts.number(placeOf(span));
    if (t.kernel[i]) t.waker[i] = texts.number(wakerOf(span));
    PARTS.forEach((part, p) => {
      const ns = span.attributes[`fathom.time.${part.key}_ns`];
      if (ns === undefined) return;
      t.split[i * W + p] = Number(ns);
      t.measured[i] = 1;
    });
    for (const event of span.events) events.push(i, Number(BigInt(event.time_ns) - origin));
  });
  const roots = link(spans, t.parent, t.first, t.next, t.orphan);
  roots.sort((a, b) => t.begin[a] - t.begin[b]);
  for (let i = 0; i < n; i++) sortChildren(t, i);
  for (let i = 0; i < n; i++) t.ownNs[i] = ownTime(t, i);
  const trace: Trace = {
    ...t, ...threadsOf(answer), id: answer.trace_id ?? "", beginUnixNs: String(origin), durationNs, count: n, texts: texts.list,
    ids: spans.map((span) => span.span_id), roots: Int32Array.from(roots), events: Float64Array.from(events),
    path: pathOf(answer, origin), notes: [], time: timeOf(answer, origin), hasAllKernel: answer.kernel === "all",
  };
  return { ...trace, notes: notesOf(spans, trace) };
};

export const nameOf = (t: Trace, span: number): string => t.texts[t.kernel[span] ? t.place[span] : t.name[span]];
export const wakerText = (t: Trace, span: number): string => (t.waker[span] ? `woken by ${t.texts[t.waker[span]]}` : "");
export const serviceOf = (t: Trace, span: number): string => t.texts[t.service[span]];
export const splitOf = (t: Trace, span: number): Float64Array => t.split.subarray(span * W, span * W + W);

/** The part for whose colour a span stands where it is too small for more; -1: none. */
export const mainPart = (t: Trace, span: number): number => {
  if (t.kernel[span] === 1) {
    const part = partNumber(t.texts[t.name[span]]);
    if (part >= 0) return part;
  }
  return t.measured[span] ? largestPart(splitOf(t, span)) : -1;
};
