// SPDX-License-Identifier: Apache-2.0
// A shorter time has more of its states apart: which time to ask for, and how its answer fits into that of the whole.
import type { Trace } from "../trace/model";
import type { TimeView } from "../trace/time_view";

/** The states of a time as they are known, in the times of the whole trace. */
export interface Known extends TimeView {
  readonly joinedBelowNs: number; // shorter ones are joined; 0: none is
}

const AROUND = 0.5; // of the length of a view: how much more is asked for on both sides
const CLOSER = 2; // times: what is asked for is so much shorter than what is known

export const covers = (known: TimeView, view: TimeView): boolean => known.from <= view.from && known.to >= view.to;

/** The time to ask for, so that more states of a view are told apart. `known` begins with the best one. undefined: there is nothing to ask. */
export const finerRange = (known: readonly Known[], view: TimeView): TimeView | undefined => {
  const best = known.find((one) => covers(one, view)) ?? known[known.length - 1];
  const around = (view.to - view.from) * AROUND;
  const range = { from: Math.floor(Math.max(best.from, view.from - around)), to: Math.ceil(Math.min(best.to, view.to + around)) };
  return best.joinedBelowNs && best.to - best.from >= CLOSER * (range.to - range.from) ? range : undefined;
};

const threadKey = ({ tid, host, service }: Trace["threads"][number]): string => `${tid} ${host} ${service}`;

/** The threads of the whole trace with their numbers, and behind them those that only the closer one has. */
const threadsOf = (whole: Trace, closer: Trace): Pick<Trace, "thread" | "threads"> => {
  const threads = [...whole.threads];
  const numbers = new Map(threads.map((thread, i) => [threadKey(thread), i]));
  const places = closer.threads.map((thread) => {
    const key = threadKey(thread);
    const number = numbers.get(key) ?? threads.push(thread) - 1;
    numbers.set(key, number);
    return number;
  });
  return { threads, thread: closer.thread.map((thread) => (thread < 0 ? thread : places[thread])) };
};

/** The answer about a part of the time with the times and the threads of the whole one, and what it knows. */
export const placed = (whole: Trace, closer: Trace): Known & { readonly trace: Trace } => {
  const later = Number(BigInt(closer.beginUnixNs) - BigInt(whole.beginUnixNs));
  const move = (times: Float64Array): Float64Array => times.map((at) => at + later);
  const trace: Trace = {
    ...closer, ...threadsOf(whole, closer), begin: move(closer.begin), end: move(closer.end), events: closer.events.map((value, i) => (i % 2 ? value + later : value)),
    beginUnixNs: whole.beginUnixNs, durationNs: whole.durationNs, ...(whole.time ? { time: whole.time } : {}),
  };
  const { from = 0, to = 0, joinedBelowNs = 0 } = closer.time ?? {};
  return { trace, from: from + later, to: to + later, joinedBelowNs };
};
