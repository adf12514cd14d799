// SPDX-License-Identifier: Apache-2.0
// Spans as /api/v1/traces/ID/columns and /api/v1/lanes/columns have them: a list for each member of all spans.
import { parseExact } from "../lib/json";

/** A member that spans may have: of all of them in their order, or of those in `spans`. */
export interface ApiColumn {
  readonly key: string;
  readonly kind: "text" | "value" | "json"; // of `values`: numbers of texts, plain values, numbers of texts of JSON
  readonly spans?: readonly number[]; // left out: all
  readonly values: readonly unknown[];
}

/** What few spans have. */
export interface ApiMore {
  readonly span: number;
  readonly status_message?: string;
  readonly dropped?: number;
  readonly events: readonly { readonly time_ns: string; readonly name: string; readonly attributes: Record<string, unknown> }[];
  readonly links: readonly { readonly trace_id: string; readonly span_id: string; readonly attributes: Record<string, unknown> }[];
}

/** The critical path, as the server calculates it: a list for each member of its steps. */
export interface ApiPath {
  readonly subject: number;
  readonly known_by: string;
  readonly cut: boolean;
  readonly span: readonly number[];
  readonly begin_ns: readonly number[];
  readonly duration_ns: readonly number[];
  readonly state: readonly number[]; // of STATES
  readonly part: readonly number[]; // of `texts`; that of "": not known
  readonly place: readonly number[]; // of `texts`
  readonly waker: readonly number[]; // of `texts`
  readonly wait: readonly number[]; // -1: none
}

/** Which thread had which CPU: a list for each member of the runs. */
export interface ApiCpus {
  readonly why?: string; // that nothing is known
  readonly host?: string;
  readonly cpu: readonly number[];
  readonly begin_ns: readonly number[]; // since from_unix_ns
  readonly duration_ns: readonly number[];
  readonly busy_ns: readonly number[];
  readonly runs: readonly number[];
  readonly thread: readonly number[]; // of `threads`
  readonly threads: readonly { readonly pid: number; readonly tid: number; readonly name: string }[];
}

/** A time in which something is missing. */
export interface ApiGap {
  readonly begin_ns: string | number;
  readonly end_ns: string | number;
  readonly reason: string;
}

export interface ApiColumns {
  readonly trace_id?: string; // not of spans of a time
  readonly from_unix_ns?: string; // of these: the time that was asked for
  readonly to_unix_ns?: string;
  readonly partial?: boolean;
  readonly hosts?: readonly string[];
  readonly joined_below_ns?: number; // kernel spans that are shorter are joined
  readonly kernel?: string; // which kernel spans it has: "none", "stored", "all"
  readonly lost?: string | number; // records, in the seconds of the trace
  readonly incomplete?: string | number;
  readonly gaps?: readonly ApiGap[];
  readonly coverage?: number | null; // the share of its time that was recorded; null: not known
  readonly begin_unix_ns: string | number;
  readonly count: number;
  readonly ids: string;
  readonly parent: readonly number[]; // -1: none, -2: not there
  readonly begin_ns: readonly number[]; // since begin_unix_ns
  readonly duration_ns: readonly number[];
  readonly kind: readonly number[];
  readonly status: readonly number[];
  readonly name: readonly number[]; // of `texts`
  readonly resource: readonly number[];
  readonly scope: readonly number[];
  readonly trace?: readonly number[]; // of `texts`, where spans are of several traces
  readonly attributes: readonly ApiColumn[];
  readonly more: readonly ApiMore[];
  readonly critical?: ApiPath;
  readonly cpus?: ApiCpus;
  readonly resources: readonly { readonly service: string; readonly attributes: Record<string, unknown> }[];
  readonly scopes: readonly { readonly name: string; readonly version: string }[];
  readonly texts: readonly string[];
}

/** The last place of a number in a sorted list. -1: it is not there. */
const placeIn = (list: readonly number[], number: number): number => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return list[low - 1] === number ? low - 1 : -1;
};

/** Attributes of spans, by key, by span, and by words. */
export class Columns {
  private lower: string[] | undefined; // texts in lower case, made by the first find

  constructor(private readonly answer: ApiColumns) {}

  private value(column: ApiColumn, place: number): unknown {
    const value = column.values[place];
    if (column.kind === "value") return value;
    const text = this.answer.texts[value as number];
    return column.kind === "text" ? text : (parseExact(`{"value":${text}}`) as { value: unknown }).value;
  }

  /** Each span that has the attribute. */
  each(key: string, see: (span: number, value: unknown) => void): void {
    for (const column of this.answer.attributes) {
      if (column.key !== key) continue;
      for (let i = 0; i < column.values.length; i++) see(column.spans?.[i] ?? i, this.value(column, i));
    }
  }

  /** The attributes of a span. */
  of(span: number): Record<string, unknown> {
    const found: [string, unknown][] = [];
    for (const column of this.answer.attributes) {
      const place = column.spans ? placeIn(column.spans, span) : span;
      if (place >= 0) found.push([column.key, this.value(column, place)]);
    }
    return Object.fromEntries(found);
  }

  more(span: number): ApiMore | undefined {
    const { more } = this.answer;
    return more[placeIn(more.map((one) => one.span), span)];
  }

  /** Marks spans that have a word in lower case: in name, service, id, or an attribute. */
  private mark(word: string, found: Uint8Array): void {
    const { answer } = this;
    this.lower ??= answer.texts.map((text) => text.toLowerCase());
    const texts = Uint8Array.from(this.lower, (text) => (text.includes(word) ? 1 : 0));
    const resources = answer.resources.map(({ service }) => (service.toLowerCase().includes(word) ? 1 : 0));
    for (let i = 0; i < answer.count; i++) found[i] = texts[answer.name[i]] | resources[answer.resource[i]];
    for (const column of answer.attributes) {
      const { key, kind, values, spans } = column;
      const isKey = key.toLowerCase().includes(word);
      for (let i = 0; i < values.length; i++) {
        if (isKey || (kind === "value" ? String(values[i]).includes(word) : texts[values[i] as number])) found[spans?.[i] ?? i] = 1;
      }
    }
    if (!/^[0-9a-f]{1,16}$/.test(word)) return;
    for (let i = 0; i < answer.count; i++) if (!found[i] && answer.ids.slice(16 * i, 16 * i + 16).includes(word)) found[i] = 1;
  }

  /** For each span 1 if it has all the words, else 0. */
  find(words: string): Uint8Array {
    const all = new Uint8Array(this.answer.count).fill(1);
    const one = new Uint8Array(this.answer.count);
    for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) {
      this.mark(word, one);
      for (let i = 0; i < all.length; i++) all[i] &= one[i];
    }
    return all;
  }
}
