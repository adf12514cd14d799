// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.

const UNITS: readonly [number, string][] = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

const threeDigits = (value: number): string => {
  const size = Math.abs(value);
  return size >= 99.95 || size === 0 ? value.toFixed(0) : size >= 9.995 ? value.toFixed(1) : value.toFixed(2);
};

/** A duration with three significant digits: "817 ns", "1.23 ms", "45.0 s", "2 m 05 s". */
export const duration = (ns: number): string => {
  const size = Math.abs(ns);
  if (size >= 60e9) {
    const seconds = Math.round(size / 1e9);
    const sign = ns < 0 ? "-" : "";
    const two = (n: number) => String(n).padStart(2, "0");
    return seconds < 3600
      ? `${sign}${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
      : `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`;
  }
  if (size < 999.5) return `${Math.round(ns)} ns`;
  const [factor, unit] = UNITS.find(([f]) => size / f < 999.5) ?? UNITS[3];
  return `${threeDigits(ns / factor)} ${unit}`;
};

/** A difference, with its sign. */
export const difference = (ns: number): string => (ns > 0 ? `+${duration(ns)}` : duration(ns).replace("-", "−"));

/** A count with thin separators: "1 203", or "1.20 M" from a million on. */
export const count = (n: number): string => {
  if (n >= 999_500_000) return `${threeDigits(n / 1e9)} G`;
  if (n >= 999_500) return `${threeDigits(n / 1e6)} M`;
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
};

export const rate = (perSecond: number): string =>
  perSecond >= 100 ? `${count(perSecond)}/s`
    : perSecond >= 1 ? `${perSecond.toFixed(1)}/s`
      : perSecond > 0 ? `${(perSecond * 60).toFixed(1)}/min` : "0/s";

export const percent = (share: number): string => {
  const value = share * 100;
  return value === 0 ? "0 %" : value < 0.1 ? "< 0.1 %" : value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
};

const two = (n: number) => String(n).padStart(2, "0");

/** The time of day of this browser: "14:05:09", with milliseconds if asked for. */
export const clock = (unixMs: number, withMs = false): string => {
  const at = new Date(unixMs);
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return withMs ? `${text}.${String(at.getMilliseconds()).padStart(3, "0")}` : text;
};

/** Date and time: "2026-11-27 14:05:09.123". */
export const moment = (unixMs: number): string => {
  const at = new Date(unixMs);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(unixMs, true)}`;
};

/** A name that fits into a line: hostile ones are long, and may turn the direction of text. */
export const short = (text: string, most = 120): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** A sentence in which no line ends between a number and its unit. */
export const unbroken = (text: string): string => text.replace(/(\d) (?=%|ms\b|µs|ns\b|s\b)/g, "$1\u00a0");

/** "1 span", "3 spans". */
export const many = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`;

/** That records of the time of an answer were lost: "12 records were lost in this time"; "": none was. */
export const lostText = (lost: number | string | undefined): string =>
  Number(lost ?? 0) ? `${many(Number(lost), "record was", "records were")} lost in this time` : "";
