// SPDX-License-Identifier: Apache-2.0
// A time split as a bar, and what its colours mean.
import { duration, percent } from "../lib/format";
import { PARTS, type Split, splitTotal } from "./list";

/** "lock 12.3 ms (71 %), disk 2.10 ms (12 %)", the longest parts first. */
export const splitText = (split: Split, most = 16): string => {
  const total = splitTotal(split);
  return PARTS.map((part, i) => ({ part, ns: split[i] ?? 0 }))
    .filter(({ ns }) => ns > 0)
    .sort((a, b) => b.ns - a.ns)
    .slice(0, most)
    .map(({ part, ns }) => `${part.name} ${duration(ns)} (${percent(ns / total)})`)
    .join(", ");
};

interface BarProps {
  readonly split: Split;
  readonly of?: number; // the time of the whole width; the sum of the parts unless it is given
  readonly thin?: boolean;
  readonly label?: string;
}

/** The width of each part is its share; the bar is as long as its sum is of `of`. */
export const SplitBar = ({ split, of, thin, label }: BarProps) => {
  const total = splitTotal(split);
  const whole = Math.max(of ?? total, total) || 1;
  let from = 0;
  const text = total ? splitText(split) : "the split is not known";
  return (
    <span class={thin ? "bar thin" : "bar"} role="img" aria-label={label ? `${label}: ${text}` : text} title={text}>
      {PARTS.map((part, i) => {
        const ns = split[i] ?? 0;
        if (ns <= 0) return null;
        const left = from;
        from += ns;
        return (
          <span key={part.key} class="bar-part" data-part={part.key}
            style={{ left: `${(left / whole) * 100}%`, width: `${(ns / whole) * 100}%`, background: `var(--part-${part.key})` }} />
        );
      })}
    </span>
  );
};

/** The parts that occur, with their colours; all of them unless splits are given. */
export const Legend = ({ splits }: { readonly splits?: readonly Split[] }) => (
  <ul class="legend" aria-label="What the colours mean">
    {PARTS.map((part, i) =>
      !splits || splits.some((split) => (split[i] ?? 0) > 0) ? (
        <li key={part.key} title={part.what}>
          <span class="swatch" style={{ background: `var(--part-${part.key})` }} />
          {part.name}
        </li>
      ) : null,
    )}
  </ul>
);
