// SPDX-License-Identifier: Apache-2.0
// Ticks at round values.

/** The least of 1, 2 and 5 times a power of ten that is at least the value. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(value));
  const lead = value / power;
  return (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1) * power;
};

/** Round values in a range, at most `wanted` and one. */
export const ticks = (from: number, to: number, wanted: number): number[] => {
  if (!(to > from)) return [];
  const step = roundUp((to - from) / Math.max(1, wanted));
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && out.length < 100; at += step) out.push(at);
  return out;
};

const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((s) => s * 1000);

/** Times of day at round steps, in milliseconds since 1970. */
export const timeTicks = (fromMs: number, toMs: number, wanted: number): number[] => {
  const step = TIME_STEPS.find((s) => (toMs - fromMs) / s <= wanted) ?? 604800e3;
  const zone = new Date(fromMs).getTimezoneOffset() * 60000;
  const out: number[] = [];
  for (let at = Math.ceil((fromMs - zone) / step) * step + zone; at <= toMs; at += step) out.push(at);
  return out;
};
