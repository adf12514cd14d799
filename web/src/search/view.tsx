// SPDX-License-Identifier: Apache-2.0
// One line of filters; what is found as dots and rows.
import { useEffect, useRef, useState } from "preact/hooks";
import { addressOf, go, place, setQuery } from "../lib/address";
import { ask, query, Refusal, useAnswer } from "../lib/api";
import { clock, duration, lostText, many, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { type Range, RangePicker, rangeOf } from "../lib/range";
import { Empty, Failed } from "../lib/states";
import { PARTS } from "../parts/list";
import { completions, type Found, type Operation, readLine, type SearchAnswer } from "./data";
import { Scatter } from "./scatter";

const PAGE = 50;

const addressFor = (line: string, range: Range, sort: string, page: string | undefined): string => {
  const parameters = new URLSearchParams(readLine(line).parameters.map(([key, value]) => [key, value]));
  parameters.set("from", range.from);
  if (range.to) parameters.set("to", range.to);
  parameters.set("sort", sort);
  parameters.set("limit", String(PAGE));
  if (page) parameters.set("page", page);
  return `/api/v1/search?${parameters}`;
};

interface State {
  readonly found: readonly Found[];
  readonly next: string | undefined;
  readonly partial: boolean;
  readonly lost: string;
  readonly error: Refusal | undefined;
  readonly busySince: number | undefined;
}

const START: State = { found: [], next: undefined, partial: false, lost: "", error: undefined, busySince: undefined };

/** A search that can be stopped and gone on with. */
const useSearch = (line: string, range: Range, sort: string) => {
  const [state, setState] = useState<State>(START);
  const running = useRef<AbortController | undefined>(undefined);
  const run = async (before: readonly Found[], page: string | undefined) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState((last) => ({ ...last, found: before.length ? before : last.found, error: undefined, busySince: Date.now() }));
    try {
      const answer = await ask<SearchAnswer>(addressFor(line, range, sort, page), abort.signal);
      setState({ found: [...before, ...answer.traces], next: answer.next, partial: answer.partial ?? false, lost: lostText(answer.lost), error: undefined, busySince: undefined });
    } catch (error) {
      if (abort.signal.aborted) return;
      setState({ ...START, found: before, error: error instanceof Refusal ? error : new Refusal(0, String(error)) });
    }
  };
  const stop = () => {
    running.current?.abort();
    setState((last) => ({ ...last, busySince: undefined }));
  };
  useEffect(() => {
    if (readLine(line).wrong) return stop();
    void run([], undefined);
    return () => running.current?.abort();
  }, [line, range.from, range.to, sort]);
  return { state, stop, more: () => run(state.found, state.next) };
};

const valueText = (trace: Found, sort: string): string => {
  if (sort !== "time") return duration(Number(trace.value));
  return trace.begin_unix_ns ? duration(Number(trace.end_unix_ns) - Number(trace.begin_unix_ns)) : "";
};

const Rows = ({ found, sort }: { readonly found: readonly Found[]; readonly sort: string }) => (
  <table class="found">
    <thead><tr><th class="number">{sort === "time" ? "Duration" : sort === "duration" ? "Longest span" : PARTS.find((p) => p.key === sort)?.name}</th><th>Trace</th><th>Begins</th><th class="number">Spans</th><th class="number">Errors</th></tr></thead>
    <tbody>
      {found.map((trace) => (
        <tr key={trace.trace_id} class={trace.errors ? "error" : undefined}>
          <td class="number"><strong>{valueText(trace, sort)}</strong></td>
          <td><a href={addressOf(["t", trace.trace_id])}><bdi>{short(trace.name || "(no name)")}</bdi> <span class="service"><bdi>{short(trace.service ?? "", 60)}</bdi></span></a></td>
          <td>{trace.begin_unix_ns ? clock(Number(trace.begin_unix_ns) / 1e6, true) : ""}</td>
          <td class="number">{trace.spans}</td>
          <td class={trace.errors ? "number bad" : "number"}>{trace.errors || ""}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const FilterLine = ({ line }: { readonly line: string }) => {
  const [text, setText] = useState(line);
  const known = useAnswer((abort) => ask<{ operations: Operation[] }>(query("operations", { from: "24h" }), abort), "known operations");
  useEffect(() => setText(line), [line]);
  const trace = /^[0-9a-f]{16,32}$/i.exec(text.trim());
  const submit = (event: Event) => {
    event.preventDefault();
    if (trace) go(addressOf(["t", trace[0].toLowerCase()]));
    else setQuery({ q: text.trim() }, false);
  };
  return (
    <form class="filter-line" role="search" onSubmit={submit}>
      <input type="search" list="filter-words" value={text} autocomplete="off" spellcheck={false} aria-label="Filters"
        placeholder="service:shop duration>100ms lock>5ms http.status_code=500 error – or a trace id"
        onInput={(event) => setText(event.currentTarget.value)} />
      <datalist id="filter-words">{completions(text, known.value?.operations ?? []).map((word) => <option key={word} value={word} />)}</datalist>
      <button>{trace ? "Open" : "Search"}</button>
    </form>
  );
};

export const Search = () => {
  const { query: parameters } = place.value;
  const line = parameters.get("q") ?? "";
  const sort = parameters.get("sort") ?? "duration";
  const range = rangeOf(parameters, "1h");
  const { wrong } = readLine(line);
  const { state, stop, more } = useSearch(line, range, sort);
  useKeys([{ keys: ["Escape"], shown: "Esc", what: "stop the search", run: stop }]);
  const { found, error, busySince } = state;
  return (
    <section class="search">
      <h1 class="unseen">Search</h1>
      <div class="tools">
        <FilterLine line={line} />
        <RangePicker usual="1h" />
        <label>Sort by <select value={sort} onChange={(event) => setQuery({ sort: event.currentTarget.value }, false)}>
          <option value="duration">duration</option><option value="time">time, the newest first</option>
          {PARTS.map((part) => <option key={part.key} value={part.key}>time in {part.name}</option>)}
        </select></label>
      </div>
      {wrong && <p class="state failed" role="alert"><bdi>{wrong}</bdi></p>}
      {error && <Failed error={error} />}
      {busySince !== undefined && <p class="state loading" role="status">Searching the {range.text} … <button onClick={stop}>Stop</button></p>}
      {state.partial && <p class="notes">The time for the search was over: these are not all. A shorter range or more filters help.</p>}
      {state.lost && <p class="notes">{state.lost}: requests may be missing here.</p>}
      {found.length > 0 && (
        <div class={busySince === undefined ? undefined : "stale"}>
          <Scatter traces={found} />
          <p role="status">{many(found.length, "trace")}{state.next ? ", and more" : ""}</p>
          <Rows found={found} sort={sort} />
          {state.next && <p><button onClick={() => void more()}>More</button></p>}
        </div>
      )}
      {!found.length && !error && !wrong && busySince === undefined && (
        <Empty title={`No trace in the ${range.text} meets this`}>
          <p>Filters: <code>service:NAME</code>, <code>operation:"GET /x"</code>, <code>kind:server</code>, <code>error</code>, <code>duration&gt;100ms</code>,
            a part of the time split such as <code>lock&gt;5ms</code>, and any attribute: <code>http.status_code=500</code>. A span must meet all of them.</p>
        </Empty>
      )}
    </section>
  );
};
