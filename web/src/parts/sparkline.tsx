// SPDX-License-Identifier: Apache-2.0
// A small line of values over time; a step without spans is a gap in it.

interface Props {
  readonly values: readonly number[];
  readonly counts: readonly number[];
  readonly label: string;
  readonly bad?: boolean;
}

const WIDTH = 120;
const HEIGHT = 24;

export const Sparkline = ({ values, counts, label, bad }: Props) => {
  const most = Math.max(...values, 1);
  const x = (i: number) => (values.length < 2 ? WIDTH : (i / (values.length - 1)) * (WIDTH - 4) + 2);
  const y = (value: number) => HEIGHT - 2 - (value / most) * (HEIGHT - 5);
  let path = "";
  let last = -1;
  values.forEach((value, i) => {
    if (!counts[i]) return;
    path += `${last === i - 1 && path ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!counts[i - 1] && !counts[i + 1]) path += "m-1.5 0h3"; // a point of its own is seen, too
    last = i;
  });
  return (
    <svg class={bad ? "spark bad" : "spark"} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      <path d={path} />
    </svg>
  );
};
