// SPDX-License-Identifier: Apache-2.0
// The critical path of a trace, step by step.
import { place, setQuery } from "../lib/address";
import { count, duration, many, percent, short } from "../lib/format";
import { largestPart, PARTS } from "../parts/list";
import { nameOf, serviceOf, type Step, type Trace } from "./model";
import { ownSplit } from "./own";
import { type PathRow, pathKnownBy, pathRows, stepsText } from "./path";

const ROWS_SHOWN = 300;

const colourOf = (t: Trace, step: Step): string => {
  const part = step.part >= 0 ? step.part : step.state === "split" ? largestPart(ownSplit(t, step.span)) : -1;
  return `var(--${part < 0 ? "plain" : `part-${PARTS[part].key}`})`;
};

const What = ({ trace, row, select }: { readonly trace: Trace; readonly row: PathRow; readonly select: (span: number) => void }) => {
  const [step] = row.steps;
  if (!row.isOfOne) return <td class="faint">{many(row.steps.length, "short step")}, from {short(nameOf(trace, step.span), 60)} on</td>;
  return (
    <td>
      <button class="link" onClick={() => select(step.wait >= 0 && row.steps.length === 1 ? step.wait : step.span)}><bdi>{short(nameOf(trace, step.span) || "(no name)", 80)}</bdi></button>{" "}
      <span class="service"><bdi>{short(serviceOf(trace, step.span), 40)}</bdi></span> <bdi>{stepsText(trace, row.steps)}</bdi>
    </td>
  );
};

/** The colour that steps have the longest. */
const mostOf = (t: Trace, steps: readonly Step[]): string => {
  const sums = new Map<string, number>();
  for (const step of steps) sums.set(colourOf(t, step), (sums.get(colourOf(t, step)) ?? 0) + step.to - step.from);
  return [...sums].sort((a, b) => b[1] - a[1])[0][0];
};

const NARROW = 0.002; // of the path: a step of another colour that is shorter is not seen

/** Where in the path a row is, and what it did then. */
const Bar = ({ trace, row, all }: { readonly trace: Trace; readonly row: PathRow; readonly all: number }) => {
  const origin = trace.path.steps[0].from;
  const first = row.steps[0].from;
  const most = mostOf(trace, row.steps);
  const place = (from: number, ns: number) => ({ left: `${((from - origin) / all) * 100}%`, width: `${Math.max(0.3, (ns / all) * 100)}%` });
  return (
    <span class="path-bar">
      <span style={{ ...place(first, row.ns), background: most }} />
      {row.steps.filter((step) => step.to - step.from > NARROW * all && colourOf(trace, step) !== most).map((step) => (
        <span key={step.from} style={{ ...place(step.from, step.to - step.from), background: colourOf(trace, step) }} />
      ))}
    </span>
  );
};

export const PathSteps = ({ trace, select }: { readonly trace: Trace; readonly select: (span: number) => void }) => {
  const rows = pathRows(trace);
  const all = rows.reduce((sum, row) => sum + row.ns, 0) || 1;
  return (
    <div class="statistics">
      <p>What the end of the request waited for, in the order of time. <span class="faint">{pathKnownBy(trace)}</span>
        {trace.path.knownBy === "spans" && !trace.hasAllKernel && place.value.query.get("kernel") !== "all" &&
          <> <button onClick={() => setQuery({ kernel: "all" }, false)}>Read the waits from the recording</button></>}</p>
      <table class="path-steps">
        <thead><tr><th>From</th><th class="number">Time</th><th class="number">Share</th><th>When</th><th>What it did</th></tr></thead>
        <tbody>
          {rows.slice(0, ROWS_SHOWN).map((row) => (
            <tr key={row.steps[0].from}>
              <td class="number faint">{duration(row.steps[0].from)}</td>
              <td class="number">{duration(row.ns)}</td><td class="number">{percent(row.ns / all)}</td>
              <td class="place"><Bar trace={trace} row={row} all={all} /></td>
              <What trace={trace} row={row} select={select} />
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_SHOWN && <p class="faint">{count(rows.length - ROWS_SHOWN)} more are not shown.</p>}
      {!rows.length && <p class="faint">The trace takes no time.</p>}
    </div>
  );
};
