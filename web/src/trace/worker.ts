// SPDX-License-Identifier: Apache-2.0
// Loads and parses a trace beside the page, which gets columns; keeps what the details show.
import { parseExact } from "../lib/json";
import { type ApiColumns, type ApiMore, Columns } from "./columns";
import { makeTrace, type Packed } from "./model";

export type Question =
  | { readonly ask: "trace"; readonly path: string; readonly headers: Record<string, string>; readonly body?: ArrayBuffer } // which came already
  | { readonly ask: "detail"; readonly number: number; readonly span: number }
  | { readonly ask: "find"; readonly number: number; readonly words: string };

export interface Detail {
  readonly attributes: Record<string, unknown>;
  readonly more: ApiMore | undefined;
  readonly resource: Record<string, unknown>;
  readonly scope: string;
}

export type Reply =
  | { readonly reply: "trace"; readonly trace: Packed }
  | { readonly reply: "failed"; readonly status: number; readonly body: string }
  | { readonly reply: "detail"; readonly number: number; readonly detail: Detail }
  | { readonly reply: "found"; readonly number: number; readonly found: Uint8Array };

const post = (reply: Reply, buffers: Transferable[] = []) => (self as unknown as Worker).postMessage(reply, buffers);

let opened: { readonly answer: ApiColumns; readonly columns: Columns } | undefined;

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
  if (response.ok) open(body);
  else post({ reply: "failed", status: response.status, body });
};

const open = (body: string) => {
  const answer = parseExact(body) as ApiColumns;
  const columns = new Columns(answer);
  opened = { answer, columns };
  const trace = makeTrace(answer, columns);
  const { from, to, numbers } = trace.packedPath;
  const columnsOfTrace = [...Object.values(trace), from, to, ...Object.values(numbers)].filter((value) => ArrayBuffer.isView(value));
  post({ reply: "trace", trace }, columnsOfTrace.map(({ buffer }) => buffer as ArrayBuffer)); // moved, not copied
};

const detail = (span: number): Detail | undefined => {
  if (!opened || !(span < opened.answer.count)) return undefined;
  const { answer, columns } = opened;
  const scope = answer.scopes[answer.scope[span]];
  return {
    attributes: columns.of(span),
    more: columns.more(span),
    resource: answer.resources[answer.resource[span]]?.attributes ?? {},
    scope: scope ? `${scope.name} ${scope.version}`.trim() : "",
  };
};

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  if (data.ask === "trace" && data.body) {
    try {
      open(new TextDecoder().decode(data.body));
    } catch (error) {
      post({ reply: "failed", status: 500, body: `the trace cannot be shown: ${error}` });
    }
  } else if (data.ask === "trace") {
    load(data.path, data.headers).catch(() => post({ reply: "failed", status: 0, body: "" }));
  } else if (data.ask === "detail") {
    const found = detail(data.span);
    if (found) post({ reply: "detail", number: data.number, detail: found });
  } else {
    const found = opened?.columns.find(data.words) ?? new Uint8Array();
    post({ reply: "found", number: data.number, found }, [found.buffer]);
  }
});
