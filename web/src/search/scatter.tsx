// SPDX-License-Identifier: Apache-2.0
// Found traces as dots: time to the right, the value by which they are sorted upwards.
import { addressOf } from "../lib/address";
import { timeTicks } from "../lib/axis";
import { clock, duration, short } from "../lib/format";
import type { Found } from "./data";

const WIDTH = 1000;
const HEIGHT = 140;
const LEFT = 60;

interface Dot {
  readonly trace: Found;
  readonly ms: number;
  readonly ns: number;
}

const dotsOf = (traces: readonly Found[]): Dot[] =>
  traces.filter((trace) => trace.begin_unix_ns !== undefined).map((trace) => ({
    trace, ms: Number(trace.begin_unix_ns) / 1e6, ns: Number(trace.end_unix_ns) - Number(trace.begin_unix_ns),
  }));

export const Scatter = ({ traces }: { readonly traces: readonly Found[] }) => {
  const dots = dotsOf(traces);
  if (dots.length < 2) return null;
  const times = dots.map((dot) => dot.ms);
  const lengths = dots.map((dot) => Math.max(1, dot.ns));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [least, most] = [Math.min(...lengths) / 1.5, Math.max(...lengths) * 1.5];
  const x = (ms: number) => LEFT + ((ms - from) / Math.max(1, to - from)) * (WIDTH - LEFT - 12);
  const y = (ns: number) => HEIGHT - 22 - (Math.log(Math.max(1, ns) / least) / Math.log(most / least)) * (HEIGHT - 34);
  return (
    <svg class="scatter" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label="Found traces: duration over time">
      {[least * 1.5, Math.sqrt(least * most), most / 1.5].map((ns) => (
        <g key={ns}><line x1={LEFT} x2={WIDTH} y1={y(ns)} y2={y(ns)} /><text x={LEFT - 6} y={y(ns) + 4} class="left">{duration(ns)}</text></g>
      ))}
      {timeTicks(from, to, 8).filter((ms) => x(ms) < WIDTH - 30).map((ms) => <text key={ms} x={x(ms)} y={HEIGHT - 4} class="below">{clock(ms)}</text>)}
      {dots.map(({ trace, ms, ns }) => (
        <a key={trace.trace_id} href={addressOf(["t", trace.trace_id])} aria-label={`${duration(ns)} at ${clock(ms)}`} tabIndex={-1}>
          <circle cx={x(ms)} cy={y(ns)} r={4} class={trace.errors ? "bad" : undefined}><title>{`${duration(ns)}, ${short(trace.name ?? "")}`}</title></circle>
        </a>
      ))}
    </svg>
  );
};
