// SPDX-License-Identifier: Apache-2.0
// Monitors as the API gives them, and their words.
import { signal } from "@preact/signals";
import { Refusal, headers, reason } from "../lib/api";
import { count, duration, percent, rate } from "../lib/format";
import { parseExact, unixMs } from "../lib/json";

export type State = "ok" | "warn" | "alert" | "no_data";
export type Unit = "ns" | "per_s" | "ratio" | "ns_per_s";

export interface Change {
  readonly at_unix_ns: string;
  readonly state: State;
  readonly value?: number;
}

export interface Monitor {
  readonly name: string;
  readonly source: "file" | "api";
  readonly rule: Readonly<Record<string, string>>;
  readonly unit: Unit;
  readonly direction: "above" | "below";
  readonly threshold: number;
  readonly warn_threshold?: number;
  readonly over_ns: number;
  readonly min_count: number;
  readonly notify: readonly string[];
  readonly state: State;
  readonly since_unix_ns: string | number;
  readonly evaluated_unix_ns: string | number;
  readonly count: number;
  readonly now?: number;
  readonly text: string;
  readonly why?: string;
  readonly muted: boolean;
  readonly muted_until_unix_ns?: string;
  readonly history: readonly Change[];
}

export interface Untold {
  readonly monitor: string;
  readonly action: string;
  readonly state: State;
  readonly at_unix_ns: string;
  readonly attempts: number;
  readonly given_up: boolean;
  readonly next_unix_ns?: string;
  readonly why: string;
}

export interface Monitors {
  readonly monitors: readonly Monitor[];
  readonly untold: readonly Untold[];
  readonly actions: readonly { readonly name: string; readonly kind: string }[];
  readonly not_saved?: string;
}

export interface Suggestion {
  readonly unit: Unit;
  readonly partial: boolean;
  readonly days: readonly { readonly begin_unix_ns: string; readonly count: number; readonly value: number }[];
  readonly median?: number;
  readonly spread?: number;
  readonly suggested?: number;
  readonly text?: string;
  readonly tried: number;
  readonly windows: number;
  readonly alerts: number;
  readonly alert_ns: number;
  readonly list: readonly { readonly begin_unix_ns: string; readonly end_unix_ns: string; readonly value: number }[];
}

export interface Red {
  readonly name: string;
  readonly text: string;
  readonly since_unix_ns: string;
}

/** What is red now, as the status says; the head and the overview show it. */
export const red = signal<readonly Red[]>([]);

export const STATE_WORDS: Readonly<Record<State, string>> = { ok: "OK", warn: "Warning", alert: "Alert", no_data: "No data" };

export const shownValue = (value: number, unit: Unit): string =>
  unit === "ns" ? duration(value) : unit === "ns_per_s" ? `${duration(value)}/s` : unit === "ratio" ? percent(value) : rate(value);

const SEVERITY: Readonly<Record<State, number>> = { alert: 0, warn: 1, no_data: 2, ok: 3 };

/** What is red first, then by name. */
export const sorted = (monitors: readonly Monitor[]): Monitor[] =>
  [...monitors].sort((a, b) => SEVERITY[a.state] - SEVERITY[b.state] || (a.name < b.name ? -1 : 1));

export const headline = (monitors: readonly Monitor[]): string => {
  const of = (state: State) => monitors.filter((m) => m.state === state).length;
  const [alert, warn] = [of("alert"), of("warn")];
  if (alert) return `${count(alert)} of ${count(monitors.length)} ${alert === 1 ? "monitors is" : "monitors are"} red`;
  if (warn) return `${count(warn)} of ${count(monitors.length)} ${warn === 1 ? "monitors warns" : "monitors warn"}`;
  return of("no_data") ? "Nothing is red; some monitors have no data" : "Nothing is red";
};

export interface Stretch {
  readonly state: State;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The states of a time, one after another. Before the first change nothing is known. */
export const stretches = (history: readonly Change[], fromMs: number, toMs: number): Stretch[] => {
  const ends = [...history.map((change) => unixMs(change.at_unix_ns)).slice(1), toMs];
  const known = history.map((change, i) => ({
    state: change.state,
    fromMs: Math.max(fromMs, unixMs(change.at_unix_ns)),
    toMs: Math.min(toMs, ends[i]),
  })).filter((stretch) => stretch.toMs > stretch.fromMs);
  const first = known[0]?.fromMs ?? toMs;
  return first > fromMs ? [{ state: "no_data", fromMs, toMs: first }, ...known] : known;
};

/** "red for 12 m 00 s, 3 times": what a strip says in words. */
export const stripWords = (list: readonly Stretch[]): string => {
  const reds = list.filter((stretch) => stretch.state === "alert");
  const ms = reds.reduce((sum, stretch) => sum + stretch.toMs - stretch.fromMs, 0);
  return reds.length ? `red for ${duration(ms * 1e6)}, ${reds.length === 1 ? "once" : `${reds.length} times`}` : "never red";
};

/** Asks the server to change something. */
export const send = async <T>(method: "POST" | "PUT" | "DELETE", path: string, body: unknown): Promise<T> => {
  let response: Response;
  try {
    response = await fetch(path, { method, headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Refusal(0, "the server does not answer");
  }
  const text = await response.text();
  if (!response.ok) throw reason(response.status, text);
  return parseExact(text) as T;
};

export const pathOf = (name: string): string => `/api/v1/monitors/${encodeURIComponent(name)}`;
