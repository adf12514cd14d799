// SPDX-License-Identifier: Apache-2.0
// The critical path in words: its steps, and what has the most of it.
import { duration, percent, short } from "../lib/format";
import { splitText } from "../parts/bar";
import { partNumber, PARTS, splitTotal } from "../parts/list";
import { nameOf, serviceOf, type Step, type Trace } from "./model";
import { ownSplit } from "./own";

const SHORT = 0.005; // of the path: spans that have less of it and follow each other are one row
const LONG = 0.05; // of the path: such a step of a span is a row of its own

/** A step, several of one span that follow each other, or short ones of several spans. */
export interface PathRow {
  readonly steps: readonly Step[];
  readonly ns: number;
  readonly isOfOne: boolean; // all steps are of one span
}

const timeIn = (steps: readonly Step[]): number => steps.reduce((sum, step) => sum + step.to - step.from, 0);

/** Steps in the order of time. */
export const pathRows = (t: Trace): PathRow[] => {
  const all = timeIn(t.path.steps);
  const groups: Step[][] = []; // of one span, unless a step is long
  const isLong = (step: Step) => step.to - step.from >= LONG * all;
  for (const step of t.path.steps) {
    const last = groups[groups.length - 1];
    if (last && last[0].span === step.span && !isLong(step) && !isLong(last[0])) last.push(step);
    else groups.push([step]);
  }
  const rows: PathRow[] = [];
  for (const steps of groups) {
    const ns = timeIn(steps);
    const last = rows[rows.length - 1];
    if (last && ns < SHORT * all && last.ns < SHORT * all) rows[rows.length - 1] = { steps: [...last.steps, ...steps], ns: last.ns + ns, isOfOne: false };
    else rows.push({ steps, ns, isOfOne: true });
  }
  return rows;
};

const partName = (part: number): string => PARTS[part]?.name ?? "";

/** What a span did in a step: "waited for a lock", without its name. */
export const stepText = (t: Trace, step: Step): string => {
  if (step.state === "running") return step.part === partNumber("cpu") ? "ran on a CPU" : `ran in ${partName(step.part) === "kernel" ? "the kernel" : "user code"}`;
  if (step.state === "runnable") return step.part === partNumber("throttled") ? "was stopped by its CPU quota" : "was ready, and waited for a CPU";
  if (step.state === "waiting") {
    const place = step.place && step.place !== partName(step.part) ? `, in ${short(step.place, 100)}` : "";
    return `waited: ${partName(step.part) || "for something unknown"}${place}${step.waker ? `; ${short(step.waker, 60)} ended it` : ""}`;
  }
  if (step.state === "split") return `${splitText(ownSplit(t, step.span), 3) || "its time is not known"}; its waits are not stored`;
  return "nothing tells what it did";
};

/** What a span did in several steps: the most first. */
export const stepsText = (t: Trace, steps: readonly Step[]): string => {
  if (steps.length === 1) return stepText(t, steps[0]);
  const sums = new Map<string, number>();
  for (const step of steps) {
    const place = step.state === "waiting" && step.place && step.place !== partName(step.part) ? ` in ${short(step.place, 60)}` : "";
    add(sums, step.part < 0 ? "what nothing tells" : `${partName(step.part)}${place}`, step.to - step.from);
  }
  const told = [...sums].sort((a, b) => b[1] - a[1]);
  const text = told.slice(0, 4).map(([name, ns]) => `${name} ${duration(ns)}`).join(", ");
  return `${text}${told.length > 4 ? " and others" : ""}, in ${steps.length} pieces`;
};

interface Share {
  span: number; // that has the most of it
  readonly part: number; // -1: not known
  ns: number;
  most: number;
  readonly places: Map<string, number>;
  readonly wakers: Map<string, number>;
}

const add = (map: Map<string, number>, key: string, ns: number): void => {
  if (key) map.set(key, (map.get(key) ?? 0) + ns);
};

const greatest = (map: ReadonlyMap<string, number>): [string, number] => {
  let best: [string, number] = ["", 0];
  for (const entry of map) if (entry[1] > best[1]) best = entry;
  return best;
};

/** What spans of an operation did in a part, over the path: the most first. */
const sharesOf = (t: Trace): Share[] => {
  const shares = new Map<number, Share>();
  const take = (step: Step, part: number, ns: number) => {
    if (ns <= 0) return;
    const key = (t.service[step.span] * t.texts.length + t.name[step.span]) * (PARTS.length + 1) + part + 1;
    const known = shares.get(key);
    const share = known ?? { span: step.span, part, ns: 0, most: 0, places: new Map(), wakers: new Map() };
    share.ns += ns;
    if (ns > share.most) {
      share.span = step.span;
      share.most = ns;
    }
    if (!known) shares.set(key, share);
    if (step.state !== "waiting") return;
    add(share.places, step.place, ns);
    add(share.wakers, step.waker, ns);
  };
  const splits = new Map<number, Float64Array>();
  for (const step of t.path.steps) {
    const ns = step.to - step.from;
    if (step.state !== "split") {
      take(step, step.part, ns);
      continue;
    }
    let split = splits.get(step.span);
    if (!split) splits.set(step.span, (split = ownSplit(t, step.span)));
    const total = splitTotal(split);
    if (total) split.forEach((part, p) => take(step, p, (ns * part) / total));
    else take(step, -1, ns);
  }
  return [...shares.values()].sort((a, b) => b.ns - a.ns);
};

/** What most of the path is, with its object, and who ended the waits. */
export const pathSentence = (t: Trace): string => {
  const all = t.path.steps.reduce((sum, step) => sum + step.to - step.from, 0);
  const [first] = sharesOf(t);
  if (!first || !all) return "";
  const where = `${short(nameOf(t, first.span), 80)} of ${short(serviceOf(t, first.span), 60)}`;
  if (first.part < 0) return `${percent(first.ns / all)} of the critical path is ${where}, of which nothing tells what it did.`;
  let text = `${percent(first.ns / all)} of the critical path is ${partName(first.part)} in ${where}`;
  const [place, placeNs] = greatest(first.places);
  const [waker, wakerNs] = greatest(first.wakers);
  if (place && place !== partName(first.part) && placeNs > first.ns / 2) text += `, in ${short(place, 100)}`;
  if (waker && wakerNs > first.ns / 2) text += `, until ${short(waker, 60)} ended it`;
  return `${text}: ${duration(first.ns)}.`;
};

const KNOWN_BY: Readonly<Record<string, string>> = {
  spans: "Calculated from the times of the spans alone: no wait of theirs is stored.",
  waits: "Calculated from the spans and their stored waits.",
  wakers: "Calculated from the spans, their stored waits, and the threads that ended these: where one of them has spans here, the path goes on in it.",
};

export const pathKnownBy = (t: Trace): string =>
  `${KNOWN_BY[t.path.knownBy] ?? ""}${t.path.isCut ? " There are too many steps: what came before them is not shown." : ""}`;
