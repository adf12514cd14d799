// SPDX-License-Identifier: Apache-2.0
// Reads answers of the API, whose integers have up to 64 bits.

// A quote that ends a key is followed by a colon. In a text it has a backslash before it, so that no
// text has this pattern.
const LARGE = /([^\\]":\s*)(-?\d{16,})(?=\s*[,}\]])/g;

/** As JSON.parse(), but members that are integers of 16 digits or more become texts. */
export const parseExact = (text: string): unknown => JSON.parse(text.replace(LARGE, '$1"$2"'));

/** Nanoseconds since 1970 as milliseconds. */
export const unixMs = (ns: string | number): number => Number(ns) / 1e6;
