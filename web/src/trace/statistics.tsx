// SPDX-License-Identifier: Apache-2.0
// Sums over the spans of a trace: by operation, by service, by kind of time, by place in the kernel.
import { useState } from "preact/hooks";
import { count, duration, percent, short } from "../lib/format";
import { PARTS } from "../parts/list";
import { nameOf, serviceOf, type Trace } from "./model";
import { ownSplit } from "./own";

interface Sum {
  readonly name: string;
  readonly service: string;
  readonly first: number; // a span that it has
  count: number;
  totalNs: number;
  ownNs: number;
}

type By = "operation" | "service" | "cause" | "place";

const NAMES: readonly [By, string][] = [["operation", "Operation"], ["service", "Service"], ["cause", "Kind of time"], ["place", "Where in the kernel"]];
const ROWS_SHOWN = 100;

const sumSpans = (t: Trace, by: By): Sum[] => {
  const sums = new Map<string, Sum>();
  for (let i = 0; i < t.count; i++) {
    if ((by === "place") !== (t.kernel[i] !== 0)) continue;
    const service = by === "place" ? "" : serviceOf(t, i);
    const name = by === "service" ? service : nameOf(t, i);
    const key = `${service}\n${name}`;
    let sum = sums.get(key);
    if (!sum) sums.set(key, (sum = { name, service: by === "operation" ? service : "", first: i, count: 0, totalNs: 0, ownNs: 0 }));
    sum.count++;
    sum.totalNs += t.end[i] - t.begin[i];
    sum.ownNs += by === "place" ? t.end[i] - t.begin[i] : t.ownNs[i];
  }
  return [...sums.values()];
};

/** Each span's own time, so that no time counts twice. */
const sumParts = (t: Trace): Sum[] => {
  const sums = PARTS.map((part): Sum => ({ name: part.name, service: "", first: -1, count: 0, totalNs: 0, ownNs: 0 }));
  for (let i = 0; i < t.count; i++) {
    if (t.kernel[i] || !t.measured[i]) continue;
    ownSplit(t, i).forEach((ns, p) => {
      if (!ns) return;
      sums[p].count++;
      sums[p].ownNs += ns;
    });
  }
  return sums.filter((sum) => sum.count);
};

export const statistics = (t: Trace, by: By): Sum[] =>
  (by === "cause" ? sumParts(t) : sumSpans(t, by)).sort((a, b) => b.ownNs - a.ownNs);

export const Statistics = ({ trace, select }: { readonly trace: Trace; readonly select: (span: number) => void }) => {
  const [by, setBy] = useState<By>("operation");
  const rows = statistics(trace, by);
  const all = rows.reduce((sum, row) => sum + row.ownNs, 0) || 1;
  return (
    <div class="statistics">
      <div class="tabs" role="group" aria-label="Sums by">
        {NAMES.map(([key, name]) => <button key={key} aria-pressed={key === by} onClick={() => setBy(key)}>{name}</button>)}
      </div>
      <table>
        <thead>
          <tr><th>{NAMES.find(([key]) => key === by)?.[1]}</th><th class="number">{by === "cause" ? "Spans" : "Times"}</th>
            <th class="number" title="without the time in which children ran">Own time</th><th class="number">Share</th><th class="number">Total</th></tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_SHOWN).map((row) => (
            <tr key={`${row.service} ${row.name}`}>
              <td>{row.first >= 0 ? <button class="link" onClick={() => select(row.first)}><bdi>{short(row.name || "(no name)")}</bdi></button> : row.name} <span class="service"><bdi>{short(row.service, 40)}</bdi></span></td>
              <td class="number">{count(row.count)}</td><td class="number">{duration(row.ownNs)}</td>
              <td class="number">{percent(row.ownNs / all)}</td><td class="number">{row.totalNs ? duration(row.totalNs) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS_SHOWN && <p class="faint">{count(rows.length - ROWS_SHOWN)} more are not shown.</p>}
      {!rows.length && <p class="faint">The trace has nothing of this kind.</p>}
    </div>
  );
};
