// SPDX-License-Identifier: Apache-2.0
// Spans as they end, the newest on top.
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { headers, needsToken, query, reason, Refusal } from "../lib/api";
import { clock, count, duration, short } from "../lib/format";
import { parseExact } from "../lib/json";
import { useKeys } from "../lib/keys";
import { Empty, Failed } from "../lib/states";
import { SplitBar } from "../parts/bar";
import { readSplit, splitTotal } from "../parts/list";
import { readLine } from "../search/data";

/** What is shown of a span of the stream. */
interface ApiSpan {
  readonly trace_id?: string;
  readonly span_id: string;
  readonly name: string;
  readonly kind: string;
  readonly begin_unix_ns: string;
  readonly end_unix_ns: string;
  readonly status: string;
  readonly service: string;
  readonly attributes: Record<string, unknown>;
}

const SHOWN = 100;
const PER_SECOND = 20; // more cannot be read
const SHOWN_AFTER_MS = 100; // so that those of a chunk come together

type LiveSpan = ApiSpan & { readonly trace_id: string };

interface Event {
  readonly name: string;
  readonly data: string;
}

/** Splits a stream into events; the rest stays for the next piece. */
export const takeEvents = (text: string): { events: Event[]; rest: string } => {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  const events = blocks.map((block) => {
    const field = (name: string) => block.split("\n").filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart()).join("\n");
    return { name: field("event"), data: field("data") };
  });
  return { events: events.filter((event) => event.data), rest };
};

/** Reads until the stream ends or is aborted. It is read only as fast as it is taken. */
const listen = async (path: string, take: (event: Event) => void, abort: AbortSignal): Promise<void> => {
  const response = await fetch(path, { headers: headers(), signal: abort });
  if (response.status === 401) needsToken.value = true;
  if (!response.ok || !response.body) throw reason(response.status, await response.text());
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const { events, rest } = takeEvents(text + piece.value);
    text = rest;
    events.forEach(take);
  }
};

interface Stream {
  readonly spans: readonly LiveSpan[];
  readonly hiddenPerSecond: number;
  readonly error: Refusal | undefined;
}

const useLive = (path: string, isPaused: boolean): Stream => {
  const [stream, setStream] = useState<Stream>({ spans: [], hiddenPerSecond: 0, error: undefined });
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    let abort = new AbortController();
    let waiting: LiveSpan[] = [];
    let room = PER_SECOND;
    let hidden = 0;
    let soon = 0; // the timer that shows those that wait
    let stopped = false;
    let retry = 0;
    const take = (event: Event) => {
      if (event.name === "missed") hidden += (parseExact(event.data) as { spans: number }).spans;
      else if (room > 0) {
        room--;
        waiting.push(parseExact(event.data) as LiveSpan);
        soon ||= window.setTimeout(show, SHOWN_AFTER_MS);
      } else hidden++;
    };
    const run = async () => {
      abort = new AbortController();
      const { signal } = abort;
      try {
        await listen(path, take, signal);
        if (!signal.aborted) throw new Refusal(0, "the stream ended");
      } catch (error) {
        if (signal.aborted || stopped) return;
        const refusal = error instanceof Refusal ? error : new Refusal(0, String(error));
        setStream((last) => ({ ...last, error: refusal }));
        if (refusal.status < 400 || refusal.status >= 500) retry = window.setTimeout(run, 2000);
      }
    };
    const show = () => {
      const spans = waiting.reverse();
      waiting = [];
      soon = 0;
      if (paused.current || !spans.length) return;
      setStream((last) => ({ ...last, spans: [...spans, ...last.spans].slice(0, SHOWN), error: undefined }));
    };
    const second = () => {
      const more = hidden;
      hidden = 0;
      room = PER_SECOND;
      if (!paused.current) setStream((last) => (more !== last.hiddenPerSecond ? { ...last, hiddenPerSecond: more } : last));
    };
    const seen = () => {
      if (document.hidden) abort.abort();
      else void run();
    };
    const timer = setInterval(second, 1000);
    document.addEventListener("visibilitychange", seen);
    if (!document.hidden) void run();
    return () => {
      stopped = true;
      abort.abort();
      clearInterval(timer);
      clearTimeout(soon);
      clearTimeout(retry);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path]);
  return stream;
};

const LIVE_PARAMETERS = ["service", "operation", "kind", "error", "min_duration"];

export const Live = () => {
  const line = place.value.query.get("q") ?? "";
  const [isHeld, setHeld] = useState(false);
  const [isOver, setOver] = useState(false);
  const { parameters, wrong } = readLine(line);
  const other = parameters.find(([key]) => !LIVE_PARAMETERS.includes(key));
  const problem = wrong ?? (other && `Live filters by service, operation, kind, duration> and error; “${other[1]}” is for search.`);
  const path = query("live", problem ? {} : Object.fromEntries(parameters));
  const { spans, hiddenPerSecond, error } = useLive(path, isHeld || isOver);
  useKeys([{ keys: [" "], shown: "Space", what: "hold, or go on", run: () => setHeld(!isHeld) }]);
  return (
    <section class="live">
      <h1 class="unseen">Live</h1>
      <div class="tools">
        <input type="search" class="wide" aria-label="Filters" placeholder="service:shop duration>100ms error" value={line} onChange={(event) => setQuery({ q: event.currentTarget.value })} />
        <button aria-pressed={isHeld} onClick={() => setHeld(!isHeld)}>{isHeld ? "Go on" : "Hold"}</button>
        <span role="status">{isHeld || isOver ? "held" : hiddenPerSecond ? `${count(hiddenPerSecond)} more a second are not shown` : ""}</span>
      </div>
      {problem && <p class="state failed" role="alert"><bdi>{problem}</bdi></p>}
      {error && <Failed error={error} />}
      {spans.length ? (
        <table class="found" onMouseEnter={() => setOver(true)} onMouseLeave={() => setOver(false)}>
          <thead><tr><th>Ended</th><th>Span</th><th class="number">Duration</th><th>Where its time went</th></tr></thead>
          <tbody>
            {spans.map((span) => {
              const split = readSplit(span.attributes as Record<string, number>, "fathom.time.");
              return (
                <tr key={`${span.trace_id} ${span.span_id} ${span.end_unix_ns}`} class={span.status === "error" ? "error" : undefined}>
                  <td>{clock(Number(span.end_unix_ns) / 1e6, true)}</td>
                  <td><a href={addressOf(["t", span.trace_id], { span: span.span_id })}><bdi>{short(span.name || "(no name)")}</bdi> <span class="service"><bdi>{short(span.service, 60)}</bdi></span></a></td>
                  <td class="number">{duration(Number(span.end_unix_ns) - Number(span.begin_unix_ns))}</td>
                  <td class="split">{splitTotal(split) > 0 && <SplitBar split={split} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      ) : !error && !problem && <Empty title="Waiting for spans"><p>Each span is shown about two seconds after its end.</p></Empty>}
    </section>
  );
};
