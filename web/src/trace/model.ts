// SPDX-License-Identifier: Apache-2.0
// A trace in columns: what the worker makes of an answer, and the view draws. Times are nanoseconds
// since the begin of the trace; a span is the number of its place in the columns.
import { largestPart, partNumber, PARTS } from "../parts/list";
import { type ApiColumns, Columns } from "./columns";
import { lossNotes } from "./losses";

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

const STEP_NUMBERS = ["span", "state", "part", "place", "waker", "wait"] as const;

/** Steps as the worker hands them over: an object for each takes longer. */
interface PackedPath {
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly numbers: Readonly<Record<(typeof STEP_NUMBERS)[number], Int32Array>>;
  readonly knownBy: string;
  readonly isCut: boolean;
}

export interface Thread {
  readonly tid: number;
  readonly host: string; // "": not known
  readonly name: string; // "": not known
  readonly service: string;
}

/** Numbers of spans. */
export interface Totals {
  readonly kernel: number;
  readonly errors: number;
  readonly services: number;
}

export const KERNEL_KINDS = ["", "wait", "syscall", "fault", "io_uring", "block"] as const;

export interface Trace {
  readonly id: string;
  readonly beginUnixNs: string;
  readonly durationNs: number;
  readonly count: number;
  readonly texts: readonly string[];
  readonly ids: string; // the 16 digits of each
  readonly traces: Uint32Array | undefined; // of spans of a time: their ids, of `texts`
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
  readonly joined: Float64Array; // of a kernel span: for how many it stands that are too short to be seen; 0: for itself
  readonly joinedNs: Float64Array; // the sum of the durations of these
  readonly thread: Int32Array; // of `threads`; -1: not known
  readonly threads: readonly Thread[];
  readonly kind: Uint8Array; // of KINDS
  readonly kernel: Uint8Array; // of KERNEL_KINDS; 0: it is no kernel span
  readonly error: Uint8Array;
  readonly orphan: Uint8Array; // its parent is not there
  readonly unsure: Uint8Array; // that its parent is the one that it has
  readonly measured: Uint8Array; // it has a split
  readonly split: Float64Array; // of each span, PARTS.length values
  readonly sums: Float64Array; // of the splits of all spans
  readonly totals: Totals;
  readonly ownNs: Float64Array; // the time in which no child ran
  readonly events: Float64Array; // pairs: span, time
  readonly path: Path; // the critical one
  readonly notes: readonly string[]; // what is missing, for people
  readonly time?: Time; // of spans of a time
  readonly cpus?: Cpus; // of these, where they were asked for
  readonly hasAllKernel: boolean; // the kernel spans of all spans whose thread is known, not only of those that are stored
}

/** Which thread had which CPU: runs of each CPU in the order of time. Those that are too short to be seen are one. */
export interface Cpus {
  readonly why: string; // that nothing is known; "": it is
  readonly host: string;
  readonly cpu: Int32Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly busyNs: Float64Array;
  readonly runs: Int32Array; // how many are in one
  readonly thread: Int32Array; // of `threads`: that had it for the longest
  readonly threads: readonly { readonly pid: number; readonly tid: number; readonly name: string }[];
}

/** What the worker hands over. */
export type Packed = Omit<Trace, "path"> & { readonly packedPath: PackedPath };

/** The time that was asked for, since the begin of the first span, and what else its answer says. */
export interface Time {
  readonly from: number;
  readonly to: number;
  readonly isPartial: boolean;
  readonly hosts: readonly string[];
  readonly joinedBelowNs: number; // kernel spans that are shorter are joined; 0: none is
  readonly losses: readonly string[]; // what the recording lacks of it
}

export const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;

const W = PARTS.length;

const STATUS_ERROR = 2;

const PARENT_GONE = -2; // of an answer: a parent is named, but not there

export const SURE = 0.9; // edges that are less probable are dashed

const ID_DIGITS = 16;

export const idOf = (t: Pick<Trace, "ids">, span: number): string => (span < 0 ? "" : t.ids.slice(span * ID_DIGITS, (span + 1) * ID_DIGITS));

/** The span of an id, and of a trace where there are several. -1: none. */
export const spanOfId = (t: Pick<Trace, "ids" | "texts" | "traces">, id: string, trace = ""): number => {
  if (id.length !== ID_DIGITS) return -1;
  for (let at = t.ids.indexOf(id); at >= 0; at = t.ids.indexOf(id, at + 1)) {
    const span = at / ID_DIGITS;
    if (Number.isInteger(span) && (!trace || !t.traces || t.texts[t.traces[span]] === trace)) return span;
  }
  return -1;
};

/** The trace of a span. */
export const traceIdOf = (t: Trace, span: number): string => (t.traces ? t.texts[t.traces[span]] : t.id);

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** "redis-server 4112", "timer". */
const wakerName = (waker: string): string => waker.replace(/\/(\d+)$/, " $1");

/** What tells a process from others: resources differ where its name or its labels changed. */
const processesOf = (answer: ApiColumns): string[] => answer.resources.map(({ attributes }, i) => {
  const { "process.pid": pid, "host.name": host } = attributes;
  return pid === undefined ? `resource ${i}` : `${text(host)} ${String(pid)}`;
});

/** The threads of spans, each with its number. */
const threadsOf = (answer: ApiColumns, columns: Columns): { thread: Int32Array; threads: Thread[] } => {
  const thread = new Int32Array(answer.count).fill(-1);
  const threads: Thread[] = [];
  const tids = new Float64Array(answer.count);
  const processes = processesOf(answer);
  const numbers = new Map<string, Map<number, number>>();
  for (const key of ["thread.id", "fathom.tid"]) columns.each(key, (span, value) => { tids[span] = Number(value); });
  for (let i = 0; i < answer.count; i++) {
    const tid = tids[i];
    if (!(tid > 0)) continue;
    const resource = answer.resource[i];
    let known = numbers.get(processes[resource]);
    if (!known) numbers.set(processes[resource], (known = new Map()));
    let number = known.get(tid);
    if (number === undefined) {
      const { service, attributes } = answer.resources[resource];
      known.set(tid, (number = threads.push({ tid, host: text(attributes["host.name"]), name: "", service }) - 1));
    }
    thread[i] = number;
  }
  columns.each("thread.name", (span, value) => {
    const at = threads[thread[span]];
    if (at && !at.name) threads[thread[span]] = { ...at, name: text(value) };
  });
  return { thread, threads };
};

/** Links children to parents; circles and spans without a parent that is there become roots. */
const link = (count: number, parent: Int32Array, first: Int32Array, next: Int32Array, orphan: Uint8Array): number[] => {
  const roots: number[] = [];
  for (let i = 0; i < count; i++) {
    if (parent[i] === PARENT_GONE) orphan[i] = 1;
    if (parent[i] < 0) parent[i] = -1;
  }
  // 1: on the way that is walked, 2: leads to a root
  const seen = new Uint8Array(count);
  const way: number[] = [];
  for (let i = 0; i < count; i++) {
    way.length = 0;
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
  for (let i = count - 1; i >= 0; i--) {
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
  if (t.first[parent] < 0 || t.next[t.first[parent]] < 0) return;
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

const timeOf = (answer: ApiColumns, origin: bigint): Time | undefined => {
  if (answer.from_unix_ns === undefined || answer.to_unix_ns === undefined) return undefined;
  const since = (ns: string) => Number(BigInt(ns) - origin);
  return { from: since(answer.from_unix_ns), to: since(answer.to_unix_ns), isPartial: answer.partial === true, hosts: answer.hosts ?? [], joinedBelowNs: Number(answer.joined_below_ns ?? 0), losses: lossNotes(answer) };
};

const cpusOf = ({ cpus }: ApiColumns, from: number): Cpus | undefined => {
  if (!cpus) return undefined;
  const begin = Float64Array.from(cpus.begin_ns, (at) => at + from);
  return {
    why: cpus.why ?? "", host: cpus.host ?? "", cpu: Int32Array.from(cpus.cpu), begin, end: begin.map((at, i) => at + cpus.duration_ns[i]),
    busyNs: Float64Array.from(cpus.busy_ns), runs: Int32Array.from(cpus.runs), thread: Int32Array.from(cpus.thread), threads: cpus.threads,
  };
};

const packPath = ({ critical }: ApiColumns): PackedPath => {
  const from = new Float64Array(critical?.begin_ns ?? []);
  const numbers = Object.fromEntries(STEP_NUMBERS.map((key) => [key, new Int32Array(critical?.[key] ?? [])])) as PackedPath["numbers"];
  return { from, to: from.map((at, i) => at + (critical?.duration_ns[i] ?? 0)), numbers, knownBy: critical?.known_by ?? "spans", isCut: critical?.cut === true };
};

const STATES = ["running", "runnable", "waiting", "split", "unknown"] as const; // as the server numbers them

/** A trace whose critical path has its steps. */
export const unpack = (packed: Packed): Trace => {
  const { packedPath: { from, to, numbers, knownBy, isCut }, ...t } = packed;
  const { texts } = t;
  const steps = Array.from(numbers.span, (span, i): Step => ({
    span, from: from[i], to: to[i], state: STATES[numbers.state[i]] ?? "unknown", part: numbers.part[i] ? partNumber(texts[numbers.part[i]]) : -1,
    place: texts[numbers.place[i]], waker: numbers.waker[i] ? wakerName(texts[numbers.waker[i]]) : "", wait: numbers.wait[i],
  }));
  return { ...t, path: { steps, knownBy, isCut } };
};

type Columned = Omit<Packed, "notes" | "packedPath">;

const notesOf = (answer: ApiColumns, columns: Columns, t: Columned): string[] => {
  const notes = lossNotes(answer);
  let application = 0, orphans = 0, unsure = 0, unmeasured = 0, contexts = 0, unknownNs = 0, totalNs = 0;
  for (let i = 0; i < t.count; i++) {
    if (t.kernel[i]) continue;
    application++;
    orphans += t.orphan[i];
    unsure += t.unsure[i];
    unmeasured += t.measured[i] ? 0 : 1;
    if (t.measured[i]) {
      unknownNs += t.split[i * W + partNumber("unknown")];
      totalNs += t.end[i] - t.begin[i];
    }
  }
  const dropped = answer.more.reduce((sum, more) => sum + (t.kernel[more.span] ? 0 : Number(more.dropped ?? 0)), 0);
  columns.each("fathom.kind", (_, kind) => { contexts += kind === "context" ? 1 : 0; });
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

/** Texts with those that are added: they stand behind the answer's. */
class Texts {
  readonly list: string[];
  private readonly numbers = new Map<string, number>();

  constructor(texts: readonly string[]) {
    this.list = texts.length ? [...texts] : [""];
  }

  number(text: string): number {
    if (!text) return 0;
    let number = this.numbers.get(text);
    if (number === undefined) this.numbers.set(text, (number = this.list.push(text) - 1));
    return number;
  }
}

/** What spans of the kernel have: their kind, "fsync on /var/lib/x/wal", "futex" or the name, and "redis-server 4112" or "timer". */
const kernelOf = (answer: ApiColumns, columns: Columns, texts: Texts) => {
  const n = answer.count;
  const kernel = new Uint8Array(n), place = new Uint32Array(n), waker = new Uint32Array(n);
  let any = false;
  columns.each("fathom.kind", (span, kind) => {
    if (typeof kind !== "string" || kind === "context") return;
    kernel[span] = Math.max(1, KERNEL_KINDS.indexOf(kind as never));
    any = true;
  });
  if (!any) return { kernel, place, waker };
  const calls = new Map<number, string>(), files = new Map<number, string>();
  for (const key of ["cause.reason", "syscall"]) columns.each(key, (span, value) => { if (text(value)) calls.set(span, text(value)); });
  columns.each("fd.name", (span, value) => { files.set(span, text(value)); });
  for (let i = 0; i < n; i++) {
    if (!kernel[i]) continue;
    const call = calls.get(i) ?? answer.texts[answer.name[i]], file = files.get(i);
    place[i] = texts.number(file ? `${call} on ${file}` : call);
  }
  columns.each("waker", (span, value) => { if (kernel[span]) waker[span] = texts.number(wakerName(text(value))); });
  return { kernel, place, waker };
};

/** For how many kernel spans one stands, and the time of these. */
const joinedOf = (answer: ApiColumns, columns: Columns) => {
  const joined = new Float64Array(answer.count), joinedNs = new Float64Array(answer.count);
  columns.each("fathom.joined", (span, value) => { joined[span] = Number(value); });
  columns.each("fathom.joined_ns", (span, value) => { joinedNs[span] = Number(value); });
  return { joined, joinedNs };
};

/** The splits of spans, and which have one. */
const splitsOf = (answer: ApiColumns, columns: Columns) => {
  const split = new Float64Array(answer.count * W), measured = new Uint8Array(answer.count);
  PARTS.forEach((part, p) => columns.each(`fathom.time.${part.key}_ns`, (span, ns) => {
    split[span * W + p] = Number(ns);
    measured[span] = 1;
  }));
  const sums = new Float64Array(W);
  for (let i = 0; i < answer.count; i++) if (measured[i]) for (let p = 0; p < W; p++) sums[p] += split[i * W + p];
  return { split, measured, sums };
};

const totalsOf = (t: Pick<Trace, "kernel" | "error" | "service">): Totals => ({
  kernel: t.kernel.reduce((sum, kind) => sum + (kind ? 1 : 0), 0),
  errors: t.error.reduce((sum, error) => sum + error, 0),
  services: new Set(t.service).size,
});

const eventsOf = (answer: ApiColumns, origin: bigint): Float64Array =>
  Float64Array.from(answer.more.flatMap((more) => more.events.flatMap((event) => [more.span, Number(BigInt(event.time_ns) - origin)])));

/** Makes the columns of the page out of those of an answer. */
export const makeTrace = (answer: ApiColumns, columns = new Columns(answer)): Packed => {
  const n = answer.count;
  const texts = new Texts(answer.texts);
  const earliest = BigInt(answer.begin_unix_ns);
  const asked = BigInt(answer.from_unix_ns ?? earliest);
  const origin = n && earliest < asked ? earliest : asked;
  const later = Number(earliest - origin);
  const begin = new Float64Array(n), end = new Float64Array(n), service = new Uint32Array(n), error = new Uint8Array(n);
  const unsure = new Uint8Array(n);
  columns.each("edge.probability", (span, value) => { unsure[span] = Number(value) < SURE ? 1 : 0; });
  const services = answer.resources.map((resource) => texts.number(resource.service));
  for (let i = 0; i < n; i++) {
    begin[i] = answer.begin_ns[i] + later;
    end[i] = begin[i] + answer.duration_ns[i];
    service[i] = services[answer.resource[i]];
    error[i] = answer.status[i] === STATUS_ERROR ? 1 : 0;
  }
  const t = {
    begin, end, service, error, unsure, ...splitsOf(answer, columns), ...kernelOf(answer, columns, texts), ...joinedOf(answer, columns),
    parent: new Int32Array(answer.parent), first: new Int32Array(n).fill(-1), next: new Int32Array(n).fill(-1), orphan: new Uint8Array(n),
    name: new Uint32Array(answer.name), kind: new Uint8Array(answer.kind), ownNs: new Float64Array(n),
  };
  const roots = link(n, t.parent, t.first, t.next, t.orphan).sort((a, b) => begin[a] - begin[b]);
  for (let i = 0; i < n; i++) sortChildren(t, i);
  for (let i = 0; i < n; i++) t.ownNs[i] = ownTime(t, i);
  const until = answer.to_unix_ns === undefined ? 0 : Number(BigInt(answer.to_unix_ns) - origin);
  const time = timeOf(answer, origin);
  const cpus = cpusOf(answer, time?.from ?? 0);
  const trace: Columned = {
    ...t, ...threadsOf(answer, columns), totals: totalsOf(t), id: answer.trace_id ?? "", beginUnixNs: String(origin), durationNs: end.reduce((most, at) => Math.max(most, at), until),
    count: n, texts: texts.list, ids: answer.ids, traces: answer.trace && Uint32Array.from(answer.trace), roots: Int32Array.from(roots),
    events: eventsOf(answer, origin), ...(time ? { time } : {}), ...(cpus ? { cpus } : {}), hasAllKernel: answer.kernel === "all",
  };
  return { ...trace, packedPath: packPath(answer), notes: notesOf(answer, columns, trace) };
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
