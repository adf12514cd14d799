// SPDX-License-Identifier: Apache-2.0
// The range of time that a view looks at: the last minutes, or from one time to another.
import { place, setQuery } from "./address";
import { clock, moment } from "./format";
import { LAST } from "./paths";

export interface Range {
  readonly from: string; // of the API: nanoseconds since 1970, or a time before now
  readonly to?: string;
  readonly text: string;
  readonly lengthMs: number;
  readonly isLive: boolean;
}

/** As the address has it: `last=15m`, or `from=…&to=…` in nanoseconds. */
export const rangeOf = (query: URLSearchParams, usual: string): Range => {
  const from = query.get("from") ?? "";
  const to = query.get("to") ?? "";
  if (/^\d+$/.test(from) && /^\d+$/.test(to)) {
    const fromMs = Number(from) / 1e6;
    const toMs = Number(to) / 1e6;
    return { from, to, text: `${moment(fromMs)} to ${clock(toMs, true)}`, lengthMs: toMs - fromMs, isLive: false };
  }
  const [key, text, lengthMs] = LAST.find(([k]) => k === query.get("last")) ?? LAST.find(([k]) => k === usual) ?? LAST[2];
  return { from: key, text, lengthMs, isLive: true };
};

export const RangePicker = ({ usual }: { readonly usual: string }) => {
  const range = rangeOf(place.value.query, usual);
  return (
    <label class="range">
      <span class="unseen">Time</span>
      <select
        value={range.isLive ? range.from : "fixed"}
        onChange={(event) => setQuery({ last: event.currentTarget.value, from: null, to: null, sel: null }, false)}
      >
        {!range.isLive && <option value="fixed">{range.text}</option>}
        {LAST.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
      </select>
    </label>
  );
};
