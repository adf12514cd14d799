// SPDX-License-Identifier: Apache-2.0
// What is recorded, what of it is kept, what was lost, and what fathom itself takes.
import { ask } from "../lib/api";
import { leftOutSince } from "../lib/budget";
import { count, duration, many } from "../lib/format";

export interface Process {
  readonly name: string;
  readonly state: string;
  readonly starts: number;
  readonly pid?: number;
  readonly cpu_ns?: number;
  readonly memory_bytes?: number;
  readonly why?: string;
}

export interface Status {
  readonly state: string;
  readonly received: { readonly requests: number; readonly requests_refused: number; readonly spans: number; readonly spans_rejected: number };
  readonly log: { readonly lost_bytes: number; readonly entries_bad: number; readonly error?: string };
  readonly store: {
    readonly behind_bytes: number; readonly spans: number; readonly bytes: number; readonly files: number; readonly lost_files: number; readonly lost_why?: string;
    readonly dropped: number; readonly failures: number; readonly unlisted_spans: number; readonly kernel_spans: number; readonly entries_refused: number; readonly error?: string;
  };
  readonly processes?: readonly Process[];
  readonly capture?: { readonly chunks: number; readonly bytes: number; readonly lost: number; readonly behind_ns: number; readonly programs_missed: number; readonly lowered: boolean; readonly in_turns?: boolean; readonly lowered_ns: number; readonly budget_percent?: number };
  readonly map?: {
    readonly chunks: number; readonly damaged: number; readonly spans: number; readonly refused: number; readonly late: number; readonly given_up: number;
    readonly forgotten: number; readonly behind_ns: number; readonly kernel_spans: number; readonly kernel_left_out: number; readonly pins: number; readonly pins_failed: number;
  };
  readonly requests?: { readonly followed: boolean; readonly stored: number; readonly open: number; readonly chunks_left_out: number; readonly behind_ns: number };
  readonly join?: Readonly<Record<string, number>>;
  readonly spans_per_s?: number;
}

export interface Sender {
  readonly address: string;
  readonly pid?: number;
  readonly program: string;
  readonly language: string;
  readonly services: readonly string[];
  readonly more_services?: boolean;
  readonly requests: number;
  readonly requests_refused: number;
  readonly spans: number;
  readonly spans_rejected: number;
  readonly spans_per_s: number;
  readonly first_unix_ns: string;
  readonly last_unix_ns: string;
}

export interface Pin {
  readonly name: string;
  readonly trace_id?: string;
  readonly why: string;
  readonly from_unix_ns: string;
  readonly to_unix_ns: string;
  readonly chunks: number;
  readonly bytes: number;
}

export interface Coverage {
  readonly status: Status;
  readonly senders: readonly Sender[];
  readonly pins: readonly Pin[];
  readonly atMs: number;
}

export const loadCoverage = async (abort: AbortSignal): Promise<Coverage> => {
  const [status, senders, pins] = await Promise.all([
    ask<Status>("/api/v1/status", abort), ask<{ senders: Sender[] }>("/api/v1/senders", abort), ask<{ pins: Pin[] }>("/api/v1/pins", abort),
  ]);
  return { status, senders: senders.senders, pins: pins.pins, atMs: performance.now() };
};

/** CPUs that a process took between two answers; undefined: it is another process, or there is one answer. */
export const cpusOf = (process: Process, now: Coverage, before: Coverage | undefined): number | undefined => {
  const was = before?.status.processes?.find((other) => other.name === process.name && other.pid === process.pid);
  if (!before || was?.cpu_ns === undefined || process.cpu_ns === undefined || now.atMs - before.atMs < 500) return undefined;
  return Math.max(0, (process.cpu_ns - was.cpu_ns) / ((now.atMs - before.atMs) * 1e6));
};

const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

export const bytes = (n: number): string => {
  let unit = 0;
  for (; n >= 999.5 && unit < UNITS.length - 1; unit++) n /= 1000;
  return `${unit && n < 99.5 ? n.toFixed(1) : Math.round(n)} ${UNITS[unit]}`;
};

/** What is not there that could be, each as a sentence that says what it does to answers. */
export const lossesOf = ({ received, log, store, capture, map, requests }: Status): string[] => {
  const some = (n: number | undefined, text: (n: number) => string): string => (n ? text(n) : "");
  return [
    some(capture?.lost, (n) => `${many(n, "record")} of the kernel or of programs were lost, since a ring was full: that time is unknown in time splits.`),
    some(capture?.programs_missed, (n) => `${many(n, "program")} with libfathom are recorded by another recorder: their spans are not here.`),
    leftOutSince(capture),
    some(requests?.chunks_left_out, (n) => `Requests of ${many(n, "second")} were not followed through services that nobody instrumented: there were too many.`),
    some(map?.damaged, (n) => `${many(n, "chunk")} could not be read: the time in it is missing.`),
    some(map?.given_up, (n) => `${many(n, "open span")} of this host were given up: too many were open at once.`),
    some(map?.refused, (n) => `${many(n, "span")} of this host were refused.`),
    some(map?.late, (n) => `${many(n, "part")} of spans came too late: those spans lack their time.`),
    some(map?.forgotten, (n) => `${many(n, "fact")} about threads and files were dropped because of a bound: some names and times are unknown.`),
    some(map?.kernel_left_out, (n) => `${many(n, "kernel span")} of slow and sampled traces are not stored: a span has too many. “kernel=all” reads them from the recording.`),
    some(map?.pins_failed, (n) => `${many(n, "pin")} failed: the chunks are not kept.`),
    some(received.spans_rejected, (n) => `${many(n, "span")} that were received were rejected: they had no valid ids or were too large.`),
    some(received.requests_refused, (n) => `${many(n, "request")} of senders were refused.`),
    some(log.lost_bytes, (n) => `${bytes(n)} of received spans were lost with the log.`),
    some(log.entries_bad, (n) => `${many(n, "entry", "entries")} of the log could not be read.`),
    some(store.lost_files, (n) => `${many(n, "file")} of stored spans cannot be opened${store.lost_why ? `: ${store.lost_why}` : ""}.`),
    some(store.entries_refused, (n) => `${many(n, "entry", "entries")} of the log were refused by the store.`),
    some(store.unlisted_spans, (n) => `${many(n, "span")} are listed as “other”: there are too many operations.`),
  ].filter(Boolean);
};

export interface Joined {
  readonly key: string;
  readonly text: string;
  readonly isJoined: boolean;
}

/** How received spans got the time of a thread, and why others did not, as the server counts them. */
export const JOINS: readonly Joined[] = [
  { key: "context", text: "the program publishes its span", isJoined: true },
  { key: "thread", text: "the span names its thread", isJoined: true },
  { key: "process", text: "one thread of the process that it names worked then", isJoined: true },
  { key: "connection", text: "one thread of the process that sent it worked then", isJoined: true },
  { key: "ambiguous", text: "several threads worked then, or several spans had one", isJoined: false },
  { key: "no_thread", text: "no thread of its process worked then", isJoined: false },
  { key: "no_chunk", text: "nothing was recorded then, or it came too late", isJoined: false },
  { key: "no_pid", text: "it names no process, and its sender is not known", isJoined: false },
  { key: "other_host", text: "it ran on another host", isJoined: false },
  { key: "left_out", text: "there were too many", isJoined: false },
];

/** How far behind the present answers are, and why. */
export const lagsOf = ({ capture, map, requests, store }: Status): [string, string][] => [
  ...(capture ? [["From an event to its chunk", duration(capture.behind_ns)] as [string, string]] : []),
  ...(map ? [["From a chunk to its spans", duration(map.behind_ns)] as [string, string]] : []),
  ...(requests?.behind_ns ? [["From a request to its trace, where nobody instrumented it", duration(requests.behind_ns)] as [string, string]] : []),
  ["Received, but not stored yet", store.behind_bytes ? bytes(store.behind_bytes) : "nothing"],
];

export const spansText = (status: Status): string =>
  `${count(status.store.spans)} spans and ${count(status.store.kernel_spans)} kernel spans in ${many(status.store.files, "file")}, ${bytes(status.store.bytes)}`;
