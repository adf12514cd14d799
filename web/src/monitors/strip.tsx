// SPDX-License-Identifier: Apache-2.0
// The states of a monitor over the last day, as a strip.
import { clock, duration } from "../lib/format";
import { type Change, STATE_WORDS, stretches, stripWords } from "./data";

const WIDTH = 240;
const HEIGHT = 16;
const DAY_MS = 86400e3;
const LEAST = 2;

export const Strip = ({ history, nowMs }: { readonly history: readonly Change[]; readonly nowMs: number }) => {
  const fromMs = nowMs - DAY_MS;
  const list = stretches(history, fromMs, nowMs);
  const x = (ms: number) => Math.min(((ms - fromMs) / DAY_MS) * WIDTH, WIDTH - LEAST); // the last moments are seen, too
  const label = `The last day: ${stripWords(list)}`;
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {list.map((stretch) => (
        <rect key={stretch.fromMs} class={`state-${stretch.state}`} x={x(stretch.fromMs).toFixed(2)} y={stretch.state === "alert" ? 0 : stretch.state === "warn" ? 4 : 8}
          width={Math.max(LEAST, x(stretch.toMs) - x(stretch.fromMs)).toFixed(2)} height={HEIGHT - (stretch.state === "alert" ? 0 : stretch.state === "warn" ? 4 : 8)}>
          <title>{`${STATE_WORDS[stretch.state]} from ${clock(stretch.fromMs)}, for ${duration((stretch.toMs - stretch.fromMs) * 1e6)}`}</title>
        </rect>
      ))}
    </svg>
  );
};
