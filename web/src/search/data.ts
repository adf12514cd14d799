// SPDX-License-Identifier: Apache-2.0
// The line of filters, as people write it and as the API takes it.
import { PARTS } from "../parts/list";

export interface Found {
  readonly trace_id: string;
  readonly value: number | string;
  readonly spans?: number; // what is told of spans lacks where there was no room or time to read them
  readonly errors?: number;
  readonly service?: string;
  readonly name?: string;
  readonly begin_unix_ns?: string;
  readonly end_unix_ns?: string;
}

export interface SearchAnswer {
  readonly traces: readonly Found[];
  readonly next?: string;
  readonly partial?: boolean;
  readonly lost?: number | string; // records, in the time that was asked for
}

/** A filter, or what is wrong with a word. */
export type Filter = { readonly parameter: string; readonly value: string } | { readonly wrong: string };

/** Words of a line, in which blanks may stand within "quotes". */
export const words = (line: string): string[] => line.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? [];

const unquoted = (text: string): string => text.replace(/"((?:[^"\\]|\\.)*)"?/g, (_, inner: string) => inner.replace(/\\(.)/g, "$1"));

const DURATION = /^\d+(\.\d+)?(us|ms|s|m|h)$/;
const KINDS = ["internal", "server", "client", "producer", "consumer"];

const parts = new Set(PARTS.map((part) => part.key));

const bound = (name: string, sign: string, value: string): Filter => {
  if (!DURATION.test(value)) return { wrong: `${name}${sign}${value}: write a time such as 5ms` };
  if (name !== "duration") return { parameter: "cause", value: `${name} ${sign} ${value}` };
  return { parameter: sign.startsWith(">") ? "min_duration" : "max_duration", value };
};

/** What a word filters by: service:x operation:"a b" kind:server error duration>5ms lock>5ms key=value. */
export const filterOf = (word: string): Filter => {
  const compared = /^(\w+)(>=|<=|>|<)(.*)$/.exec(word);
  if (compared && (compared[1] === "duration" || parts.has(compared[1]))) return bound(compared[1], compared[2], compared[3]);
  if (word === "error") return { parameter: "error", value: "true" };
  const named = /^(service|operation|name|kind):(.+)$/.exec(word);
  if (named) {
    const parameter = named[1] === "name" ? "operation" : named[1];
    const value = unquoted(named[2]);
    if (parameter === "kind" && !KINDS.includes(value)) return { wrong: `kind:${value}: it is one of ${KINDS.join(", ")}` };
    return { parameter, value };
  }
  const equals = /^((?:"(?:[^"\\]|\\.)*"|[^="])+)[=:](.*)$/.exec(word);
  if (equals && equals[2]) return { parameter: "attribute", value: `${unquoted(equals[1])}=${unquoted(equals[2])}` };
  return { wrong: `“${word}” is no filter: write key=value, service:NAME, operation:NAME, duration>5ms, lock>5ms or error` };
};

export interface Read {
  readonly parameters: readonly (readonly [string, string])[];
  readonly wrong: string | undefined;
}

export const readLine = (line: string): Read => {
  const filters = words(line).map(filterOf);
  const wrong = filters.find((filter) => "wrong" in filter);
  return {
    parameters: filters.flatMap((filter) => ("wrong" in filter ? [] : [[filter.parameter, filter.value] as const])),
    wrong: wrong && "wrong" in wrong ? wrong.wrong : undefined,
  };
};

export interface Operation {
  readonly service: string;
  readonly operation: string;
}

const quote = (text: string): string => (/^[^\s"\\]+$/.test(text) ? text : JSON.stringify(text));

/** What the last word of a line can become. */
export const completions = (line: string, known: readonly Operation[]): string[] => {
  const last = /\s$/.test(line) ? "" : (words(line).pop() ?? "");
  const before = line.slice(0, line.length - last.length);
  const service = words(line).map((word) => /^service:(.+)$/.exec(word)).find((found) => found)?.[1];
  const all = new Set<string>();
  if (!last || "service:".startsWith(last) || last.startsWith("service:")) for (const o of known) all.add(`service:${quote(o.service)}`);
  if (!last || "operation:".startsWith(last) || last.startsWith("operation:")) {
    for (const o of known) if (!service || unquoted(service) === o.service) all.add(`operation:${quote(o.operation)}`);
  }
  for (const word of ["error", "duration>100ms", "kind:server", ...PARTS.map((part) => `${part.key}>5ms`)]) all.add(word);
  return [...all].filter((word) => word.toLowerCase().startsWith(last.toLowerCase()) && word !== last).slice(0, 12).map((word) => before + word);
};
