// SPDX-License-Identifier: Apache-2.0
// Differences in words: one sentence, and what each is called.
import { difference, duration, percent, short } from "../lib/format";
import { PARTS, partNumber } from "../parts/list";
import { baseOf, type CompareAnswer, type Difference } from "./data";

export interface Target {
  readonly service: string;
  readonly name: string;
  readonly kind: string;
}

const partName = (key: string): string => PARTS[partNumber(key)]?.name ?? key;

const share = (n: number, of: number): number => (of ? n / of : 0);

/** What one request of a side has of it: time, or how many requests have it. */
export const sideText = (d: Difference, side: "a" | "b", answer: CompareAnswer): string => {
  const base = baseOf(answer[side], d.kind);
  return d.kind === "attribute" ? percent(share(d[side].count, base)) : base ? duration(d[side].mean_ns) : "–";
};

export const titleOf = (d: Difference): string => {
  if (d.kind === "part") return partName(d.value);
  if (d.kind === "own") return `${partName(d.key)} in ${d.value || "(no name)"}`;
  if (d.kind === "attribute") return `${d.key} = ${d.value}`;
  return d.kind === "place" ? partName(d.value) : d.value;
};

export const noteOf = (d: Difference): string => {
  if (d.kind === "place") return partName(d.key);
  if (d.kind === "call") return `span of ${d.key}`;
  if (d.kind === "own") return `its own time, ${d.service ?? ""}`;
  return d.kind === "part" ? "kind of time" : "attribute";
};

export const colourOf = (d: Difference): string | undefined => {
  const part = d.kind === "part" ? d.value : d.kind === "place" || d.kind === "own" ? d.key : "";
  return part ? `var(--part-${part})` : undefined;
};

const isOf = (d: Difference, target: Target | undefined): boolean => d.value === target?.name && d.service === target.service;

interface Cause {
  readonly part: string;
  readonly explains: number;
  readonly own: Difference | undefined;
}

/** The kind of time that makes the most of it, and in which span: the deepest one, not those that waited for it. */
const causeOf = (differences: readonly Difference[]): Cause | undefined => {
  const own = differences.find((d) => d.kind === "own" && d.explains_ns > 0);
  const part = differences.find((d) => d.kind === "part" && d.explains_ns > 0);
  // much the same in many spans is told as one
  if (own && (!part || own.explains_ns >= 0.6 * part.explains_ns)) return { part: own.key, explains: own.explains_ns, own };
  return part && { part: part.value, explains: part.explains_ns, own: undefined };
};

const SECOND_LEAST = 0.2; // of what requests take longer
const SAYS_NOTHING = new Set(["idle", "off_thread", "unknown"]);

/** The next kind of time that makes much of it: on a busy host, waits for a CPU hide what put the threads to sleep. */
const secondOf = (cause: Cause | undefined, differences: readonly Difference[], more: number): Cause | undefined => {
  const told = new Set(cause?.part === "throttled" ? ["throttled", "runnable"] : [cause?.part]);
  const part = differences.find((d) => d.kind === "part" && d.explains_ns >= SECOND_LEAST * more && !told.has(d.value) && !SAYS_NOTHING.has(d.value));
  if (!cause || !part) return undefined;
  const own = differences.find((d) => d.kind === "own" && d.key === part.value);
  return { part: part.value, explains: part.explains_ns, own: own && own.explains_ns >= 0.6 * part.explains_ns ? own : undefined };
};

/** A kind of time with its span, if that is another one, and its place. */
const causeText = (cause: Cause, differences: readonly Difference[], target: Target | undefined): string => {
  const own = cause.own && !isOf(cause.own, target) ? cause.own : undefined;
  const where = differences.find((d) => d.kind === "place" && d.explains_ns > 0 && d.value !== d.key && d.key === cause.part);
  return partName(cause.part) + (own ? ` in ${short(own.value, 60)} of ${short(own.service ?? "", 60)}` : "") + (where ? `, in ${where.value}` : "");
};

const QUOTA_LEAST = 0.1; // of what requests take longer

/**
 * Before Linux 6.18 a thread that is woken while the CPU quota of its cgroup is used up counts as waiting for a CPU. So
 * where both grew, the quota is the cause of both.
 */
const withQuota = (cause: Cause | undefined, differences: readonly Difference[], more: number): Cause | undefined => {
  const quota = differences.find((d) => d.kind === "part" && d.value === "throttled")?.explains_ns ?? 0;
  const waits = differences.find((d) => d.kind === "part" && d.value === "runnable")?.explains_ns ?? 0;
  if (!cause || (cause.part !== "runnable" && cause.part !== "throttled") || quota < QUOTA_LEAST * more || waits <= 0) return cause;
  return { part: "throttled", explains: quota + waits, own: undefined };
};

/** The first of each kind that makes the sentence. */
export const sentence = ({ a, b, differences }: CompareAnswer, target: Target | undefined): string => {
  const more = a.mean_ns - b.mean_ns;
  if (!a.spans) return "No request is in the selection.";
  if (!b.spans) return "All requests are in the selection: there is nothing to compare with.";
  if (more <= 0) return `They take ${duration(a.mean_ns)}, no longer than the others (${duration(b.mean_ns)}).`;
  const cause = withQuota(causeOf(differences), differences, more);
  const elsewhere = cause?.own && !isOf(cause.own, target) ? cause.own : undefined;
  const second = secondOf(cause, differences, more);
  const callee = elsewhere ? undefined : differences.filter((d) => d.kind === "call" && d.explains_ns > 0.6 * more).pop(); // the one farthest down
  const who = differences.find((d) => d.kind === "attribute" && d.explains_ns > 0.2 * more);
  let text = `${difference(more)} for each request (${duration(a.mean_ns)} against ${duration(b.mean_ns)})`;
  if (cause) text += `; ${percent(Math.min(1, cause.explains / more))} of it is ${causeText(cause, differences, target)}`;
  if (second) text += `; ${percent(Math.min(1, second.explains / more))} is ${causeText(second, differences, target)}`;
  if (callee) text += `; meanwhile ${short(callee.value, 60)} of ${short(callee.key, 60)} takes ${difference(callee.explains_ns)}`;
  if (who) text += `; ${percent(share(who.a.count, a.spans))} have ${who.key} = ${short(who.value, 60)}, ${percent(share(who.b.count, b.spans))} of the others`;
  return `${text}.`;
};

/** Against a time before: whatever changed since then, such as the number of a process, goes with all of the difference. */
export const causesFirst = (differences: readonly Difference[]): Difference[] =>
  [...differences.filter((d) => d.kind !== "attribute"), ...differences.filter((d) => d.kind === "attribute")];

const VALUES_SHOWN = 3; // of an attribute: one with many values would hide the rest

/**
 * Without what explains next to nothing, and with a few values of each attribute. What a part has in the
 * operation itself is told by the part. A call explains all that is beneath it, and causes nothing: it stands behind.
 */
export const telling = (differences: readonly Difference[], target: Target | undefined): Difference[] => {
  const most = Math.max(...differences.map((d) => Math.abs(d.explains_ns)), 0);
  const values = new Map<string, number>();
  const told = differences.filter((d) => {
    if (Math.abs(d.explains_ns) < most / 200) return false;
    if (d.kind === "own" && isOf(d, target)) return false;
    if (d.kind === "place" && d.value === d.key) return false; // nothing but its part
    if (d.kind !== "attribute") return true;
    values.set(d.key, (values.get(d.key) ?? 0) + 1);
    return (values.get(d.key) ?? 0) <= VALUES_SHOWN;
  });
  return [...told.filter((d) => d.kind !== "call"), ...told.filter((d) => d.kind === "call")];
};
