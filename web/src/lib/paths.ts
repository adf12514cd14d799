// SPDX-License-Identifier: Apache-2.0
// Paths of the API, and the times of the overview, without anything of the page: early.ts asks before the page is there.

/** `/api/v1/NAME` with parameters; those that are undefined are left out. */
export const query = (name: string, values: Record<string, string | number | undefined>): string => {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== "") parameters.append(key, String(value));
  return `/api/v1/${name}?${parameters}`;
};

/** What can be chosen: a key, a text, and milliseconds. */
export const LAST: readonly (readonly [string, string, number])[] = [
  ["5m", "last 5 minutes", 300e3], ["15m", "last 15 minutes", 900e3], ["1h", "last hour", 3600e3],
  ["6h", "last 6 hours", 21600e3], ["24h", "last day", 86400e3], ["7d", "last week", 604800e3],
];

const WEEK_MS = 7 * 86400e3;
const HOUR_MS = 3600e3;
const seconds = (ms: number): string => `${Math.round(ms / 1000)}s`;

/** What the overview of the last milliseconds asks for first: over time, now, a week ago, and before. */
export const overviewPaths = (lengthMs: number) => {
  const from = seconds(lengthMs);
  const longer = Math.max(HOUR_MS, lengthMs);
  const sums = (begin: string, to: string | undefined) => query("operations", { from: begin, to });
  return {
    series: query("series", { from, step: seconds(Math.max(10e3, lengthMs / 60)) }),
    now: sums(from, undefined),
    weekAgo: sums(seconds(WEEK_MS + lengthMs), seconds(WEEK_MS)),
    earlier: sums(seconds(lengthMs + longer), from),
    earlierText: longer > HOUR_MS ? "the time before" : "the hour before",
  };
};

/** The spans of a trace, in columns. */
export const tracePath = (id: string, allKernel: boolean): string => `/api/v1/traces/${encodeURIComponent(id)}/columns${allKernel ? "?kernel=all" : ""}`;

export const TOKEN = "fathom.token"; // in the storage of the tab

export const headersOf = (token: string | null): Record<string, string> => (token ? { Authorization: `Bearer ${token}` } : {});
