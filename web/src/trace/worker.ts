// SPDX-License-Identifier: Apache-2.0
// Loads and parses a trace beside the page, which gets columns; keeps what the details show.
import { parseExact } from "../lib/json";
import { type ApiSpan, type ApiTrace, makeTrace, type Trace } from "./model";

export type Question =
  | { readonly ask: "trace"; readonly path: string; readonly headers: Record<string, string> }
  | { readonly ask: "detail"; readonly number: number; readonly span: number }
  | { readonly ask: "find"; readonly number: number; readonly words: string };

export interface Detail {
  readonly span: ApiSpan;
  readonly resource: Record<string, unknown>;
  readonly scope: string;
}

export type Reply =
  | { readonly reply: "trace"; readonly trace: Trace }
  | { readonly reply: "failed"; readonly status: number; readonly body: string }
  | { readonly reply: "detail"; readonly number: number; readonly detail: Detail }
  | { readonly reply: "found"; readonly number: number; readonly found: Uint8Array };

const post = (reply: Reply, buffers: Transferable[] = []) => (self as unknown as Worker).postMessage(reply, buffers);

let answer: ApiTrace | undefined;
let haystack: string[] | undefined; // of each span, made by the first find

const TRIES = 3;
const PAUSE_MS = 2000;

/** A large trace can take more time or memory than a busy server has just now. */
const fetchPatiently = async (path: string, headers: Record<string, string>): Promise<Response> => {
  for (let tries = 1; ; tries++) {
    const response = await fetch(path, { headers });
    if (response.status !== 503 || tries === TRIES) return response;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};

const load = async (path: string, headers: Record<string, string>) => {
  const response = await fetchPatiently(path, headers);
  const body = await response.text();
  if (!response.ok) {
    post({ reply: "failed", status: response.status, body });
    return;
  }
  answer = parseExact(body) as ApiTrace;
  const trace = makeTrace(answer);
  post({ reply: "trace", trace }, [trace.begin.buffer, trace.end.buffer, trace.split.buffer, trace.ownNs.buffer]);
};

const find = (words: string): Uint8Array => {
  const spans = answer?.spans ?? [];
  haystack ??= spans.map((span) => `${span.name}\n${span.service}\n${span.span_id}\n${JSON.stringify(span.attributes)}`.toLowerCase());
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return Uint8Array.from(haystack, (text) => (wanted.every((word) => text.includes(word)) ? 1 : 0));
};

const detail = (span: number): Detail | undefined => {
  const found = answer?.spans[span];
  if (!answer || !found) return undefined;
  const scope = answer.scopes[found.scope];
  return {
    span: found,
    resource: answer.resources[found.resource]?.attributes ?? {},
    scope: scope ? `${scope.name} ${scope.version}`.trim() : "",
  };
};

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  if (data.ask === "trace") {
    load(data.path, data.headers).catch(() => post({ reply: "failed", status: 0, body: "" }));
  } else if (data.ask === "detail") {
    const found = detail(data.span);
    if (found) post({ reply: "detail", number: data.number, detail: found });
  } else {
    const found = find(data.words);
    post({ reply: "found", number: data.number, found }, [found.buffer]);
  }
});
