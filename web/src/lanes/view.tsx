// SPDX-License-Identifier: Apache-2.0
// All threads of a time, whichever trace their spans are of.
import { useEffect, useMemo, useState } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { query } from "../lib/api";
import { clock, count, duration, many, moment } from "../lib/format";
import { useKeys } from "../lib/keys";
import { Empty, Failed, Loading, Missing, useAgain } from "../lib/states";
import { Legend } from "../parts/bar";
import { Details } from "../trace/details";
import { idOf, spanOfId, type Time, type Trace, traceIdOf } from "../trace/model";
import { Session } from "../trace/session";
import { Cpus } from "../trace/cpus";
import { Threads } from "../trace/threads";
import { lanesOf } from "../trace/lanes";
import { timeKeys } from "../trace/time_keys";
import { type TimeView, viewOfAddress, viewText } from "../trace/time_view";
import { useFiner } from "./use_finer";

const LENGTHS = ["100ms", "1s", "10s", "60s"] as const;
const LENGTH_NS: Readonly<Record<string, number>> = { "100ms": 1e8, "1s": 1e9, "10s": 1e10, "60s": 6e10 };
const SETTLED = "3s"; // spans are stored by then

const unixMs = (trace: Trace, ns: number): number => Number(trace.beginUnixNs) / 1e6 + ns / 1e6;

/** Another time, in nanoseconds since 1970. */
const range = (trace: Trace, from: number, to: number) => {
  const unix = (ns: number) => String(BigInt(trace.beginUnixNs) + BigInt(Math.round(ns)));
  return { from: unix(from), to: unix(to), view: null, span: null, trace: null };
};

const hasCpus = (): boolean => place.value.query.get("by") === "cpu";

/** The same time, which otherwise goes on. */
const toggleCpus = (trace: Trace, time: Time) => {
  const { from, to } = range(trace, time.from, time.to);
  setQuery({ by: hasCpus() ? null : "cpu", from, to }, false);
};

const Tools = ({ trace, time }: { readonly trace: Trace; readonly time: Time }) => {
  const length = time.to - time.from;
  const host = place.value.query.get("host") ?? "";
  const hosts = host && !time.hosts.includes(host) ? [host, ...time.hosts] : time.hosts;
  return (
    <div class="tools">
      <h1>Threads <span class="faint">{moment(unixMs(trace, time.from))} to {clock(unixMs(trace, time.to), true)}, {duration(length)}</span></h1>
      <div class="tabs" role="group" aria-label="Lanes">
        <button aria-pressed={!hasCpus()} onClick={() => hasCpus() && toggleCpus(trace, time)}>by thread</button>
        <button aria-pressed={hasCpus()} onClick={() => hasCpus() || toggleCpus(trace, time)}>by CPU</button>
      </div>
      <button onClick={() => setQuery(range(trace, time.from - length, time.to - length), false)}>◂ earlier</button>
      <button onClick={() => setQuery(range(trace, time.from + length, time.to + length), false)}>later ▸</button>
      <label><span class="unseen">Length</span>
        <select value={LENGTHS.find((key) => LENGTH_NS[key] === Math.round(length)) ?? ""}
          onChange={(event) => setQuery(range(trace, time.to - LENGTH_NS[event.currentTarget.value], time.to), false)}>
          {!LENGTHS.some((key) => LENGTH_NS[key] === Math.round(length)) && <option value="">{duration(length)}</option>}
          {LENGTHS.map((key) => <option key={key} value={key}>{duration(LENGTH_NS[key])}</option>)}
        </select></label>
      {(hosts.length > 1 || host) && (
        <label>Host <select value={host} onChange={(event) => setQuery({ host: event.currentTarget.value, view: null, span: null, trace: null }, false)}>
          <option value="">all</option>{hosts.map((name) => <option key={name} value={name}>{name}</option>)}
        </select></label>
      )}
      <button onClick={() => setQuery({ from: null, to: null, view: null, span: null, trace: null, at: Date.now() }, false)}>now</button>
    </div>
  );
};

interface OpenedProps {
  readonly session: Session;
  readonly trace: Trace;
  readonly time: Time;
}

const Opened = ({ session: ofWhole, trace: wholeTrace, time }: OpenedProps) => {
  const whole: TimeView = { from: time.from, to: time.to };
  const [view, setViewState] = useState(() => viewOfAddress(whole));
  const finer = useFiner(wholeTrace, time, view, place.value.query.get("host") ?? undefined);
  const { session, trace } = finer ?? { session: ofWhole, trace: wholeTrace };
  const order = useMemo(() => (time.joinedBelowNs ? lanesOf(wholeTrace).map(({ thread }) => thread) : undefined), [wholeTrace]);
  const joinedBelowNs = finer ? finer.joinedBelowNs : time.joinedBelowNs;
  const selectedOf = (t: Trace) => spanOfId(t, place.value.query.get("span") ?? "", place.value.query.get("trace") ?? "");
  const selected = selectedOf(trace);
  // what was selected may lie outside of the closer look
  const [told, ofTold, toldSpan] = selected >= 0 || !finer ? [trace, session, selected] as const : [wholeTrace, ofWhole, selectedOf(wholeTrace)] as const;
  const setView = (next: TimeView) => {
    setViewState(next);
    setQuery({ view: viewText(next, whole) });
  };
  const selectOf = (t: Trace) => (span: number) => setQuery({ span: idOf(t, span), trace: traceIdOf(t, span) });
  const select = selectOf(trace);
  useKeys([...timeKeys(told, view, toldSpan, whole, setView), { keys: ["c"], shown: "c", what: "lanes of threads or of CPUs", run: () => toggleCpus(trace, time) }]);
  const above = view.from > whole.from || view.to < whole.to ? <button onClick={() => setView(whole)}>whole time</button> : undefined;
  return (
    <>
      <Tools trace={trace} time={time} />
      <Missing notes={time.losses} />
      {time.isPartial && <p class="faint">These may not be all: the newest traces of the time were looked at. A shorter time has more of them.</p>}
      {wholeTrace.count || trace.cpus?.cpu.length ? (
        <>
          <div class="trace-body">
            {trace.cpus
              ? <Cpus trace={trace} runs={trace.cpus} view={view} selected={selected} setView={setView} select={select} above={above} />
              : <Threads trace={trace} view={view} selected={selected} setView={setView} select={select} above={above} order={order} />}
            {toldSpan >= 0
              ? <Details session={ofTold} trace={told} span={toldSpan} select={selectOf(told)} />
              : <section class="details" aria-label="Details"><p class="faint">{many(wholeTrace.count, "span")} on {many(wholeTrace.threads.length, "thread")}. A click shows what is known of a span, and leads to its trace. W, A, S, D move the time; a drag looks at less of it.</p></section>}
          </div>
          {!trace.cpus && <Legend splits={[trace.sums]} />}
          {!trace.cpus && joinedBelowNs > 0 && <p class="faint">Waits below {duration(joinedBelowNs)} are too many to be told apart, and are drawn together: a closer look shows each of them.</p>}
          {!trace.cpus && <p class="faint">Threads are seen while they have spans: {count(trace.threads.length)} had one then. A hatched bar has the shares of its parts, but not their order: the waits of that span are not stored.</p>}
        </>
      ) : (
        <Empty title="No thread had a span then">
          <p>Spans tell their thread where they are of libfathom, or were joined with a thread by <code>fathom up</code>. Look at <button class="link" onClick={() => setQuery(range(trace, time.to - 6e10, time.to), false)}>a longer time</button>, or at <a href="/search">traces</a>.</p>
        </Empty>
      )}
    </>
  );
};

export const Lanes = () => {
  const { query: parameters } = place.value;
  const path = query("lanes/columns", {
    from: parameters.get("from") ?? "13s", to: parameters.get("to") ?? SETTLED, host: parameters.get("host") ?? undefined, cpus: hasCpus() ? 1 : undefined,
  });
  const key = `${path} ${parameters.get("at") ?? ""}`;
  const [session, setSession] = useState<{ key: string; session: Session } | undefined>();
  const current = session?.key === key ? session.session : undefined;
  const error = current?.error.value;
  const tries = useAgain(error);
  useEffect(() => {
    const opened = new Session(path);
    setSession({ key, session: opened });
    return () => opened.close();
  }, [key, tries]);
  const trace = current?.trace.value;
  return (
    <section class="lanes-view trace">
      {error ? <><h1 class="unseen">Threads</h1><Failed error={error} /><p><a href={addressOf(["lanes"])}>The last ten seconds</a></p></>
        : !current || !trace?.time ? <><h1 class="unseen">Threads</h1><Loading what="Loading spans of threads" /></>
          : <Opened key={key} session={current} trace={trace} time={trace.time} />}
    </section>
  );
};
