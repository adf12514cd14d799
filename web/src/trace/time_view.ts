// SPDX-License-Identifier: Apache-2.0
// The part of the time of a trace that is seen.
import { place } from "../lib/address";
import type { Trace } from "./model";

export interface TimeView {
  readonly from: number;
  readonly to: number;
}

const LEAST_NS = 100; // that is seen

export const moved = (trace: Trace, view: TimeView, by: number): TimeView => {
  const length = view.to - view.from;
  const from = Math.min(Math.max(0, view.from + by), Math.max(0, (trace.durationNs || 1) - length));
  return { from, to: from + length };
};

/** A factor below 1 shows less time; `around` stays where it is. */
export const zoomed = (trace: Trace, view: TimeView, factor: number, around: number): TimeView => {
  const length = Math.min(trace.durationNs || 1, Math.max(LEAST_NS, (view.to - view.from) * factor));
  const share = (around - view.from) / (view.to - view.from);
  return moved(trace, { from: around - share * length, to: around + (1 - share) * length }, 0);
};

/** What the address has as `view`, or the whole time. */
export const viewOfAddress = (whole: TimeView): TimeView => {
  const [from, to] = (place.value.query.get("view") ?? "").split("-").map(Number);
  return to > from && from >= 0 ? { from, to } : whole;
};

/** As the address has it; null for the whole time. */
export const viewText = (view: TimeView, whole: TimeView): string | null =>
  view.from <= whole.from && view.to >= whole.to ? null : `${Math.round(view.from)}-${Math.round(view.to)}`;
