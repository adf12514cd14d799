// SPDX-License-Identifier: Apache-2.0
// Paths of the API, and the times that can be chosen.

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

/** What the overview of a time asks for: `from` is a time before now, or the begin in nanoseconds since 1970. */
export const overviewPath = (from: string): string => query("overview", { from });

/** The spans of a trace, in columns. */
export const tracePath = (id: string, allKernel: boolean): string => `/api/v1/traces/${encodeURIComponent(id)}/columns${allKernel ? "?kernel=all" : ""}`;

export const TOKEN = "fathom.token"; // in the storage of the tab

export const headersOf = (token: string | null): Record<string, string> => (token ? { Authorization: `Bearer ${token}` } : {});
