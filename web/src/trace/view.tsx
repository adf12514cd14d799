// SPDX-License-Identifier: Apache-2.0
// One trace: waterfall, details, sums; what is missing stands on top.
import { useEffect, useMemo, useState } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { count, duration, many, moment, percent, short, unbroken } from "../lib/format";
import { useKeys } from "../lib/keys";
import { Empty, Failed, Loading } from "../lib/states";
import { Legend } from "../parts/bar";
import { largestPart, PART_COUNT, PARTS, splitTotal } from "../parts/list";
import { Details } from "./details";
import { nameOf, serviceOf, type Trace } from "./model";
import { ownSplit } from "./own";
import { makeRows, reveal, type Row, type Shape } from "./rows";
import { Session } from "./session";
import { Statistics } from "./statistics";
import { Threads } from "./threads";
import { moved, type TimeView, Waterfall, zoomed } from "./waterfall";

const NO_SHAPE: Shape = { closed: new Set(), kernel: new Set(), unfolded: new Set(), found: undefined, leastNs: 0 };
const MATTERS = 0.01; // of the trace: shorter spans are hidden by "what matters"

/** A set with the value put in, or taken out if it was in. */
const toggled = <T,>(set: ReadonlySet<T>, value: T): ReadonlySet<T> => {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
};

const viewOf = (trace: Trace): TimeView => {
  const [from, to] = (place.value.query.get("view") ?? "").split("-").map(Number);
  return to > from && from >= 0 ? { from, to } : { from: 0, to: trace.durationNs || 1 };
};

const rootOf = (trace: Trace): number => trace.roots.find((span) => !trace.kernel[span]) ?? trace.roots[0] ?? 0;

/** The operation that has the most of the critical path, and what it did meanwhile. */
const sentence = (trace: Trace): string => {
  const times = new Map<string, { span: number; ns: number; most: number }>();
  let all = 0;
  for (let i = 0; i < trace.critical.length; i += 3) {
    const [span, from, to] = trace.critical.slice(i, i + 3);
    const key = `${trace.service[span]} ${trace.name[span]}`;
    const time = times.get(key) ?? { span, ns: 0, most: 0 };
    time.ns += to - from;
    if (to - from > time.most) Object.assign(time, { span, most: to - from });
    times.set(key, time);
    all += to - from;
  }
  const first = [...times.values()].sort((a, b) => b.ns - a.ns)[0];
  if (!first || times.size < 2) return "";
  const split = ownSplit(trace, first.span);
  const part = trace.measured[first.span] ? largestPart(split) : -1;
  const text = `${percent(first.ns / all)} of the critical path is ${short(nameOf(trace, first.span), 80)} of ${short(serviceOf(trace, first.span), 60)}`;
  return part < 0 ? `${text}.` : `${text}; ${percent(split[part] / splitTotal(split))} of its own time is ${PARTS[part].name}.`;
};

const Head = ({ trace }: { readonly trace: Trace }) => {
  const root = rootOf(trace);
  let errors = 0, kernel = 0;
  const services = new Set<number>();
  const said = useMemo(() => sentence(trace), [trace]);
  for (let i = 0; i < trace.count; i++) {
    errors += trace.error[i];
    kernel += trace.kernel[i] ? 1 : 0;
    services.add(trace.service[i]);
  }
  return (
    <div class="trace-head">
      <h1><bdi>{short(nameOf(trace, root) || "(no name)", 200)}</bdi> <span class="service"><bdi>{short(serviceOf(trace, root), 80)}</bdi></span></h1>
      <p>
        <strong class="big">{duration(trace.durationNs)}</strong> {moment(Number(trace.beginUnixNs) / 1e6)}
        {" · "}{many(trace.count - kernel, "span")} of {many(services.size, "service")}
        {kernel > 0 && <>, {many(kernel, "kernel span")}</>}
        {errors > 0 && <>{" · "}<span class="bad">{many(errors, "error")}</span></>}
        {" · "}<code>{trace.id}</code>
      </p>
      {said && <p class="sentence"><bdi>{unbroken(said)}</bdi></p>}
      {trace.notes.length > 0 && (
        <ul class="notes" aria-label="What is missing">{trace.notes.map((note) => <li key={note}>{note}</li>)}</ul>
      )}
    </div>
  );
};

const useFound = (session: Session, words: string): Uint8Array | undefined => {
  const [found, setFound] = useState<{ words: string; found: Uint8Array } | undefined>();
  useEffect(() => {
    let current = true;
    if (words) void session.find(words).then((answer) => current && setFound({ words, found: answer }));
    else setFound(undefined);
    return () => {
      current = false;
    };
  }, [words, session]);
  return words ? found?.found : undefined;
};

const Opened = ({ session, trace }: { readonly session: Session; readonly trace: Trace }) => {
  const { query } = place.value;
  const wanted = trace.ids.indexOf(query.get("span") ?? "");
  const words = query.get("find") ?? "";
  const hides = query.get("hide") === "1";
  const matters = query.get("matters") === "1";
  const critical = query.get("path") !== "0";
  const tab = query.get("tab") ?? "spans";
  const found = useFound(session, words);
  const [shape, setShape] = useState<Shape>(() => (wanted < 0 ? NO_SHAPE : reveal(trace, NO_SHAPE, wanted)));
  const [view, setViewState] = useState(() => viewOf(trace));
  const selected = wanted < 0 ? rootOf(trace) : wanted;
  const rows = useMemo(
    () => makeRows(trace, { ...shape, found: hides ? found : undefined, leastNs: matters ? trace.durationNs * MATTERS : 0 }),
    [trace, shape, hides, found, matters],
  );
  const at = rows.findIndex((row) => row.span === selected && !row.fold);
  const setView = (next: TimeView) => {
    setViewState(next);
    const all = next.from <= 0 && next.to >= trace.durationNs;
    setQuery({ view: all ? null : `${Math.round(next.from)}-${Math.round(next.to)}` });
  };
  const selectSpan = (span: number) => {
    if (!rows.some((row) => row.span === span && !row.fold)) setShape(reveal(trace, shape, span));
    setQuery({ span: trace.ids[span] });
  };
  const toggle = (row: Row) => {
    if (row.fold) setShape({ ...shape, unfolded: toggled(shape.unfolded, row.fold.key) });
    else setShape({ ...shape, closed: toggled(shape.closed, row.span) });
  };
  const select = (row: Row) => (row.fold && !row.isOpen ? toggle(row) : setQuery({ span: trace.ids[row.span] }));
  const step = (by: number) => {
    for (let next = at + by; next >= 0 && next < rows.length; next += by) {
      if (rows[next].fold) continue;
      setQuery({ span: trace.ids[rows[next].span] });
      return;
    }
  };
  const nextFound = (by: number) => {
    if (!found) return;
    for (let i = 1; i <= trace.count; i++) {
      const span = (selected + by * i + trace.count * 2) % trace.count;
      if (found[span]) {
        selectSpan(span);
        return;
      }
    }
  };
  const middle = () => (trace.begin[selected] + trace.end[selected]) / 2;
  const around = () => (middle() >= view.from && middle() <= view.to ? middle() : (view.from + view.to) / 2);
  const length = view.to - view.from;
  useKeys([
    { keys: ["w", "+"], shown: "w", what: "zoom in", run: () => setView(zoomed(trace, view, 0.7, around())) },
    { keys: ["s", "-"], shown: "s", what: "zoom out", run: () => setView(zoomed(trace, view, 1 / 0.7, around())) },
    { keys: ["a"], shown: "a", what: "earlier", run: () => setView(moved(trace, view, -length / 5)) },
    { keys: ["d"], shown: "d", what: "later", run: () => setView(moved(trace, view, length / 5)) },
    { keys: ["f"], shown: "f", what: "fit the selected span", run: () => {
      const margin = Math.max(50, (trace.end[selected] - trace.begin[selected]) * 0.05);
      setView({ from: Math.max(0, trace.begin[selected] - margin), to: Math.min(trace.durationNs, trace.end[selected] + margin) });
    } },
    { keys: ["0"], shown: "0", what: "the whole trace", run: () => setView({ from: 0, to: trace.durationNs }) },
    { keys: ["ArrowDown", "j"], shown: "↓ j", what: "next span", run: () => step(1) },
    { keys: ["ArrowUp", "k"], shown: "↑ k", what: "span before", run: () => step(-1) },
    { keys: ["ArrowRight", "Enter"], shown: "→", what: "open the span", run: () => {
      const row = rows[at];
      if (row && !row.isOpen) toggle(row);
    } },
    { keys: ["ArrowLeft"], shown: "←", what: "close the span, or go to its parent", run: () => {
      const row = rows[at];
      if (row?.children && row.isOpen) toggle(row);
      else if (trace.parent[selected] >= 0) selectSpan(trace.parent[selected]);
    } },
    { keys: ["e"], shown: "e", what: "show its kernel spans", run: () => setShape({ ...shape, kernel: toggled(shape.kernel, selected) }) },
    { keys: ["c"], shown: "c", what: "critical path on or off", run: () => setQuery({ path: critical ? "0" : null }) },
    { keys: ["m"], shown: "m", what: "only what matters: 1 % and more", run: () => setQuery({ matters: matters ? null : "1" }) },
    { keys: ["n"], shown: "n", what: "next that was found", run: () => nextFound(1) },
    { keys: ["N"], shown: "N", what: "the one before", run: () => nextFound(-1) },
  ]);
  const hits = found ? found.reduce((sum, hit) => sum + hit, 0) : 0;
  const shownSplits = useMemo(() => {
    const sums = new Float64Array(PART_COUNT);
    trace.split.forEach((ns, i) => {
      sums[i % PART_COUNT] += ns;
    });
    return [sums];
  }, [trace]);
  return (
    <section class="trace">
      <Head trace={trace} />
      <div class="tools">
        <div class="tabs" role="group" aria-label="Show">
          {[["spans", "Spans"], ["threads", "Threads"], ["sums", "Sums"]].map(([key, name]) =>
            <button key={key} aria-pressed={tab === key} onClick={() => setQuery({ tab: key === "spans" ? null : key })}>{name}</button>)}
        </div>
        <input type="search" placeholder="Find in names and attributes" aria-label="Find" value={words} onInput={(event) => setQuery({ find: event.currentTarget.value })}
          onKeyDown={(event) => { if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1); if (event.key === "Escape") event.currentTarget.blur(); }} />
        {words && <span role="status">{found ? many(hits, "span") : "…"}</span>}
        {words && <label><input type="checkbox" checked={hides} onChange={() => setQuery({ hide: hides ? null : "1" })} /> hide others</label>}
        <label title="Hides spans that are shorter than 1 % of the trace"><input type="checkbox" checked={matters} onChange={() => setQuery({ matters: matters ? null : "1" })} /> what matters</label>
        <label title="The chain of work that the end waited for"><input type="checkbox" checked={critical} onChange={() => setQuery({ path: critical ? "0" : null })} /> critical path</label>
        <a class="button" href={addressOf(["compare"], { a: trace.id })}>Compare</a>
        {length < trace.durationNs && <button onClick={() => setView({ from: 0, to: trace.durationNs })}>whole trace</button>}
      </div>
      <div class="trace-body">
        {tab === "sums"
          ? <Statistics trace={trace} select={(span) => { setQuery({ tab: null }); selectSpan(span); }} />
          : tab === "threads" ? <Threads trace={trace} view={view} selected={selected} setView={setView} select={selectSpan} />
          : <Waterfall trace={trace} rows={rows} view={view} selected={selected} found={found} critical={critical} setView={setView} select={select} toggle={toggle} showRow={at} />}
        <Details session={session} trace={trace} span={selected} select={selectSpan}
          showKernel={(span) => setShape({ ...shape, kernel: toggled(shape.kernel, span), closed: new Set([...shape.closed].filter((other) => other !== span)) })} />
      </div>
      <Legend splits={shownSplits} />
      {splitTotal(shownSplits[0]) > 0 && <p class="faint">A hatched bar has the shares of its parts, but not their order in time.</p>}
      <p class="unseen" role="status">{count(rows.length)} rows</p>
    </section>
  );
};

export const TraceView = ({ id }: { readonly id: string }) => {
  const [session, setSession] = useState<Session | undefined>();
  useEffect(() => {
    const opened = new Session(id);
    setSession(opened);
    return () => opened.close();
  }, [id]);
  const error = session?.error.value;
  const trace = session?.trace.value;
  if (error?.status === 404) {
    return (
      <Empty title="There is no such trace">
        <p>No span has the trace id <code>{short(id, 64)}</code>. It was not sent, has not arrived yet (a span is found about two seconds after its end), or its file was dropped since it was too old.</p>
      </Empty>
    );
  }
  if (error) return <Failed error={error} />;
  if (!session || !trace) return <Loading what="Loading the trace" />;
  return <Opened session={session} trace={trace} />;
};
