// SPDX-License-Identifier: Apache-2.0
// One trace: waterfall, details, sums; what is missing stands on top.
import { useEffect, useMemo, useState } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { count, duration, many, moment, short, unbroken } from "../lib/format";
import { useKeys } from "../lib/keys";
import { tracePath } from "../lib/paths";
import { Empty, Failed, Loading, Missing, useAgain } from "../lib/states";
import { Legend } from "../parts/bar";
import { splitTotal } from "../parts/list";
import { Details } from "./details";
import { idOf, nameOf, serviceOf, spanOfId, type Trace } from "./model";
import { pathKnownBy, pathSentence } from "./path";
import { PathSteps } from "./path_steps";
import { makeRows, reveal, type Row, type Shape } from "./rows";
import { Session } from "./session";
import { Statistics } from "./statistics";
import { Threads } from "./threads";
import { timeKeys } from "./time_keys";
import { type TimeView, viewOfAddress, viewText } from "./time_view";
import { Waterfall } from "./waterfall";

const NO_SHAPE: Shape = { closed: new Set(), kernel: new Set(), unfolded: new Set(), found: undefined, leastNs: 0 };
const MATTERS = 0.01; // of the trace: shorter spans are hidden by "what matters"

/** A set with the value put in, or taken out if it was in. */
const toggled = <T,>(set: ReadonlySet<T>, value: T): ReadonlySet<T> => {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
};

/** Nanoseconds since 1970. */
const unixOf = (trace: Trace, ns: number): string => String(BigInt(trace.beginUnixNs) + BigInt(Math.round(ns)));

const rootOf = (trace: Trace): number => trace.roots.find((span) => !trace.kernel[span]) ?? trace.roots[0] ?? 0;

const Head = ({ trace }: { readonly trace: Trace }) => {
  const root = rootOf(trace);
  const isGone = place.value.query.get("kernel") === "all" && !trace.hasAllKernel;
  const notes = isGone ? [...trace.notes, "the recording of that time is there no longer: only the kernel spans that were stored are shown"] : trace.notes;
  const { errors, kernel, services } = trace.totals;
  const said = useMemo(() => pathSentence(trace), [trace]);
  return (
    <div class="trace-head">
      <h1><bdi>{short(nameOf(trace, root) || "(no name)", 200)}</bdi> <span class="service"><bdi>{short(serviceOf(trace, root), 80)}</bdi></span></h1>
      <p>
        <strong class="big">{duration(trace.durationNs)}</strong> {moment(Number(trace.beginUnixNs) / 1e6)}
        {" · "}{many(trace.count - kernel, "span")} of {many(services, "service")}
        {kernel > 0 && <>, {many(kernel, "kernel span")}</>}
        {errors > 0 && <>{" · "}<span class="bad">{many(errors, "error")}</span></>}
        {" · "}<code>{trace.id}</code>
      </p>
      {said && <p class="sentence"><bdi>{unbroken(said)}</bdi></p>}
      <Missing notes={notes} />
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
  const wanted = spanOfId(trace, query.get("span") ?? "");
  const words = query.get("find") ?? "";
  const hides = query.get("hide") === "1";
  const matters = query.get("matters") === "1";
  const critical = query.get("path") !== "0";
  const tab = query.get("tab") ?? "spans";
  const found = useFound(session, words);
  const [shape, setShape] = useState<Shape>(() => {
    if (wanted < 0) return NO_SHAPE;
    const isAsked = trace.hasAllKernel && !trace.kernel[wanted]; // its kernel spans were asked for
    return reveal(trace, isAsked ? { ...NO_SHAPE, kernel: new Set([wanted]) } : NO_SHAPE, wanted);
  });
  const whole: TimeView = { from: 0, to: trace.durationNs || 1 };
  const [view, setViewState] = useState(() => viewOfAddress(whole));
  const selected = wanted < 0 ? rootOf(trace) : wanted;
  const rows = useMemo(
    () => makeRows(trace, { ...shape, found: hides ? found : undefined, leastNs: matters ? trace.durationNs * MATTERS : 0 }),
    [trace, shape, hides, found, matters],
  );
  const at = rows.findIndex((row) => row.span === selected && !row.fold);
  const setView = (next: TimeView) => {
    setViewState(next);
    setQuery({ view: viewText(next, whole) });
  };
  const selectSpan = (span: number) => {
    if (!rows.some((row) => row.span === span && !row.fold)) setShape(reveal(trace, shape, span));
    setQuery({ span: idOf(trace, span) });
  };
  const toggle = (row: Row) => {
    if (row.fold) setShape({ ...shape, unfolded: toggled(shape.unfolded, row.fold.key) });
    else setShape({ ...shape, closed: toggled(shape.closed, row.span) });
  };
  const select = (row: Row) => (row.fold && !row.isOpen ? toggle(row) : setQuery({ span: idOf(trace, row.span) }));
  const step = (by: number) => {
    for (let next = at + by; next >= 0 && next < rows.length; next += by) {
      if (rows[next].fold) continue;
      setQuery({ span: idOf(trace, rows[next].span) });
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
  useKeys([
    ...timeKeys(trace, view, selected, whole, setView),
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
  return (
    <section class="trace">
      <Head trace={trace} />
      <div class="tools">
        <div class="tabs" role="group" aria-label="Show">
          {[["spans", "Spans"], ["path", "Critical path"], ["threads", "Threads"], ["sums", "Sums"]].map(([key, name]) =>
            <button key={key} aria-pressed={tab === key} onClick={() => setQuery({ tab: key === "spans" ? null : key })}>{name}</button>)}
        </div>
        <input type="search" placeholder="Find in names and attributes" aria-label="Find" value={words} onInput={(event) => setQuery({ find: event.currentTarget.value })}
          onKeyDown={(event) => { if (event.key === "Enter") nextFound(event.shiftKey ? -1 : 1); if (event.key === "Escape") event.currentTarget.blur(); }} />
        {words && <span role="status">{found ? many(hits, "span") : "…"}</span>}
        {words && <label><input type="checkbox" checked={hides} onChange={() => setQuery({ hide: hides ? null : "1" })} /> hide others</label>}
        <label title="Hides spans that are shorter than 1 % of the trace"><input type="checkbox" checked={matters} onChange={() => setQuery({ matters: matters ? null : "1" })} /> what matters</label>
        <label title={`The line through the bars: what the end waited for. ${pathKnownBy(trace)}`}><input type="checkbox" checked={critical} onChange={() => setQuery({ path: critical ? "0" : null })} /> critical path</label>
        <a class="button" href={addressOf(["compare"], { a: trace.id })}>Compare</a>
        {view.to - view.from < trace.durationNs && <button onClick={() => setView(whole)}>whole trace</button>}
      </div>
      <div class="trace-body">
        {tab === "sums"
          ? <Statistics trace={trace} select={(span) => { setQuery({ tab: null }); selectSpan(span); }} />
          : tab === "path" ? <PathSteps trace={trace} select={selectSpan} />
          : tab === "threads" ? <Threads trace={trace} view={view} selected={selected} setView={setView} select={selectSpan}
            above={<a href={addressOf(["lanes"], { from: unixOf(trace, 0), to: unixOf(trace, trace.durationNs + 1) })}>all threads of this time</a>} />
          : <Waterfall trace={trace} rows={rows} view={view} selected={selected} found={found} critical={critical} setView={setView} select={select} toggle={toggle} showRow={at} />}
        <Details session={session} trace={trace} span={selected} select={selectSpan}
          showKernel={(span) => setShape({ ...shape, kernel: toggled(shape.kernel, span), closed: new Set([...shape.closed].filter((other) => other !== span)) })} />
      </div>
      <Legend splits={[trace.sums]} />
      {splitTotal(trace.sums) > 0 && <p class="faint">A hatched bar has the shares of its parts, but not their order in time.</p>}
      <p class="unseen" role="status">{count(rows.length)} rows</p>
    </section>
  );
};

export const TraceView = ({ id }: { readonly id: string }) => {
  const all = place.value.query.get("kernel") === "all";
  const [opened, setOpened] = useState<{ readonly all: boolean; readonly session: Session } | undefined>();
  const session = opened?.all === all ? opened.session : undefined;
  const error = session?.error.value;
  const tries = useAgain(error);
  useEffect(() => {
    const next = new Session(tracePath(id, all));
    setOpened({ all, session: next });
    return () => next.close();
  }, [id, all, tries]);
  const trace = session?.trace.value;
  if (error?.status === 404) {
    return (
      <Empty title="There is no such trace">
        <p>No span has the trace id <code>{short(id, 64)}</code>. It was not sent, has not arrived yet (a span is found about two seconds after its end), or its file was dropped since it was too old.</p>
      </Empty>
    );
  }
  if (error) return <Failed error={error} />;
  if (!session || !trace) return <Loading what={all ? "Reading the recording of the trace" : "Loading the trace"} />;
  return <Opened key={String(all)} session={session} trace={trace} />;
};
