// SPDX-License-Identifier: Apache-2.0
// Ticks at round values.

/** The greatest of 1, 2 and 5 times a power of ten that is at most the value. */
const roundDown = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(value));
  const lead = value / power;
  return (lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * power;
};

/** Round values in a range, about `wanted` of them. */
export const ticks = (from: number, to: number, wanted: number): number[] => {
  if (!(to > from)) return [];
  let step = roundDown((to - from) / Math.max(1, wanted));
  if ((to - from) / step > wanted * 1.6) step = roundDown(step * 2.1);
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
