// SPDX-License-Identifier: Apache-2.0
// What the budget of `fathom up` leaves out, in words: the bytes of connections, by which requests are followed.
import { signal } from "@preact/signals";
import { duration } from "./format";

export interface Budgeted {
  readonly lowered?: boolean;
  readonly in_turns?: boolean; // with lowered: they are recorded for a second in each half minute
  readonly lowered_ns?: number;
  readonly budget_percent?: number;
}

const TIMES = 4; // a budget that was too small

const advice = ({ budget_percent: percent }: Budgeted): string =>
  percent ? ` The budget of ${percent} % is too small for them: try fathom up --budget ${Math.min(100, TIMES * percent)}%.` : "";

const REQUESTS = "Requests through services that nobody instrumented";
const TURNS = "Of requests through services that nobody instrumented, only those of one second in thirty";

/** "": nothing is left out now. */
export const leftOutNow = (of: Budgeted | undefined): string => (of?.lowered ? `${of.in_turns ? `${TURNS} are recorded now; rates count them for the others.` : `${REQUESTS} are missing now.`}${advice(of)}` : "");

/** "": nothing was left out since the start. */
export const leftOutSince = (of: Budgeted | undefined): string =>
  of?.lowered_ns ? `${TURNS} were recorded for ${duration(of.lowered_ns)}${of.lowered ? ", and are now" : ""}.${advice(of)}` : "";

/** As the server said it last. */
export const leftOut = signal("");
