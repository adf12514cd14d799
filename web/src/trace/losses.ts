// SPDX-License-Identifier: Apache-2.0
// What the recording lacks of the time of a trace, or of threads, for people.
import { duration, lostText } from "../lib/format";
import type { ApiColumns } from "./columns";

const REASONS: Readonly<Record<string, string>> = {
  not_recorded: "nothing was recorded",
  not_mapped: "what was recorded is not evaluated yet",
  damaged: "the recording is damaged and cannot be read",
  bytes_left_out: "requests through services that nobody instrumented were not recorded, to hold the budget (a larger one: fathom up --budget)",
  bytes_in_turns:
    "requests through services that nobody instrumented were recorded for one second in thirty only, to hold the budget (a larger one: fathom up --budget)",
  unknown: "it is not known what was recorded",
};

export type Losses = Pick<ApiColumns, "lost" | "gaps" | "coverage">;

export const lossNotes = ({ lost, gaps, coverage }: Losses): string[] => {
  const notes: string[] = [];
  const missing = new Map<string, number>();
  for (const { begin_ns, end_ns, reason } of gaps ?? [])
    missing.set(reason, (missing.get(reason) ?? 0) + Number(BigInt(end_ns) - BigInt(begin_ns)));
  if (lostText(lost)) notes.push(`${lostText(lost)}: some times and kernel spans may be missing`);
  if (coverage === undefined || coverage === null) return notes;
  for (const [reason, ns] of missing) notes.push(`for ${duration(ns)} of its time ${REASONS[reason] ?? reason}`);
  return notes;
};
