// SPDX-License-Identifier: Apache-2.0
// One operation: latency and split over time, and what is different in a box of it.
import { useMemo } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { ask, query, useAnswer } from "../lib/api";
import { clock, count, duration, many, percent, rate, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { Empty, Shown } from "../lib/states";
import { Legend, SplitBar, splitText } from "../parts/bar";
import { splitTotal } from "../parts/list";
import type { SearchAnswer } from "../search/data";
import { hasOthers, partsIn, type WhereAnswer } from "../where/tree";
import { type CompareAnswer, type Heat, type HeatAnswer, othersInAddress, othersOf, parseSelection, readHeat, type Selection, selectionText, slowest, stepOf, toDuration, toNs } from "./data";
import { Differences } from "./differences";
import { HeatMap } from "./heat";
import type { Target } from "./tell";

const durationWord = (ns: number): string | undefined => (ns > 0 ? toDuration(ns) : undefined);

const compare = (target: Target, heat: Heat, s: Selection, abort: AbortSignal) =>
  ask<CompareAnswer>(query("compare", {
    service: target.service, operation: target.name, kind: target.kind || undefined,
    from: toNs(s.fromMs), to: toNs(s.toMs), min_duration: durationWord(s.leastNs), max_duration: durationWord(s.mostNs),
    base_from: toNs((s.base ?? heat).fromMs), base_to: toNs((s.base ?? heat).toMs),
  }), abort);

const traces = (target: Target, s: Selection, abort: AbortSignal) =>
  ask<SearchAnswer>(query("search", {
    service: target.service, operation: target.name, kind: target.kind || undefined, sort: "duration", limit: 10,
    from: toNs(s.fromMs), to: toNs(s.toMs), min_duration: durationWord(s.leastNs), max_duration: durationWord(s.mostNs),
  }), abort);

/** The slowest of a range that moves on stay one answer, which is renewed. */
const keyOf = (target: Target, selection: Selection): string =>
  JSON.stringify([target, selection.isDrawn ? selectionText(selection) : place.value.query.get("last")]);

const Traces = ({ target, selection }: { readonly target: Target; readonly selection: Selection }) => {
  const answer = useAnswer((abort) => traces(target, selection, abort), `traces ${keyOf(target, selection)}`, selection.isDrawn ? 0 : 20000);
  return (
    <>
      <h2>The longest of them</h2>
      <Shown answer={answer} what="Looking for traces">
        {({ traces: found }) => found.length ? (
          <ol class="traces">
            {found.map((trace) => (
              <li key={trace.trace_id}>
                <a href={addressOf(["t", trace.trace_id])}>{duration(Number(trace.value))} {trace.spans !== undefined && <span class="faint">{clock(Number(trace.begin_unix_ns) / 1e6, true)}, {many(trace.spans, "span")}</span>}</a>
              </li>
            ))}
          </ol>
        ) : <p class="faint">There is none.</p>}
      </Shown>
    </>
  );
};

const whatIsSelected = (s: Selection): string => {
  const length = s.mostNs ? `${duration(s.leastNs)} to ${duration(s.mostNs)}` : `longer than ${duration(s.leastNs)}`;
  if (s.base) return `Requests ${length} since ${clock(s.fromMs, true)}, against those of ${clock(s.base.fromMs, true)} to ${clock(s.base.toMs, true)}`;
  return s.isDrawn ? `Requests ${length}, ${clock(s.fromMs)} to ${clock(s.toMs)}` : `The slowest ${percent(s.share ?? 0)}: ${length}`;
};

/** The selection beside the others: those that are shorter, or all of the time where it is a box within. */
const addressOfCompare = (target: Target, heat: Heat, s: Selection): string =>
  addressOf(["compare"], {
    service: target.service, operation: target.name, kind: target.kind, from: toNs(s.fromMs), to: toNs(s.toMs),
    least: durationWord(s.leastNs), most: durationWord(s.mostNs), ...othersInAddress(othersOf(heat, s)),
  });

const Panel = ({ target, heat, selection }: { readonly target: Target; readonly heat: Heat; readonly selection: Selection }) => {
  const key = `compare ${keyOf(target, selection)}`;
  const answer = useAnswer((abort) => compare(target, heat, selection, abort), key, selection.isDrawn ? 0 : 20000);
  return (
    <section class="panel" aria-label="What is different">
      <h2>{whatIsSelected(selection)}</h2>
      {selection.isDrawn
        ? <button class="link" onClick={() => setQuery({ sel: null }, false)}>the slowest instead</button>
        : <p class="faint">Drag a box over the map to look at others.</p>}
      <Shown answer={answer} what="Comparing">
        {(found) => <Differences target={target} answer={found} selection={selection} others={othersOf(heat, selection)} />}
      </Shown>
      <p><a class="button" href={addressOfCompare(target, heat, selection)}>Both side by side</a></p>
      <Traces target={target} selection={selection} />
    </section>
  );
};

const Facts = ({ heat, lengthMs }: { readonly heat: Heat; readonly lengthMs: number }) => (
  <dl class="facts wide">
    <div><dt>Requests</dt><dd data-fact="count">{count(heat.count)}</dd></div>
    <div><dt>Rate</dt><dd>{rate(heat.count / (lengthMs / 1000))}</dd></div>
    <div><dt>Errors</dt><dd class={heat.errors ? "bad" : ""}>{heat.errors ? `${count(heat.errors)} (${percent(heat.errors / heat.count)})` : "0"}</dd></div>
    <div><dt>p50</dt><dd data-fact="p50">{duration(heat.total.p50)}</dd></div>
    <div><dt>p95</dt><dd data-fact="p95">{duration(heat.total.p95)}</dd></div>
    <div><dt>p99</dt><dd data-fact="p99">{duration(heat.total.p99)}</dd></div>
  </dl>
);

/** The same of the whole request: time of the services that it called stands where it was spent. */
const Whole = ({ target, heat, isLive }: { readonly target: Target; readonly heat: Heat; readonly isLive: boolean }) => {
  const load = (abort: AbortSignal) => ask<WhereAnswer>(query("where", {
    service: target.service, operation: target.name, kind: target.kind || undefined, from: toNs(heat.fromMs), to: toNs(heat.toMs), limit: 200,
  }), abort);
  const { last, from, to } = Object.fromEntries(place.value.query);
  const answer = useAnswer(load, `whole ${JSON.stringify([target, last, from, to])}`, isLive ? 20000 : 0);
  const root = answer.value?.roots[0];
  if (!root || !hasOthers(root)) return null;
  const spans = answer.value?.spans || 1;
  const split = partsIn(root).map((ns) => ns / spans);
  return (
    <>
      <p class="chart-title">The same with the services that it called <span class="faint">of {many(spans, "request")}: {splitText(split, 3)}</span></p>
      <SplitBar split={split} label="mean of whole requests" />
      <Legend splits={[split]} />
    </>
  );
};

const Charts = ({ target, heat }: { readonly target: Target; readonly heat: Heat }) => {
  const drawn = parseSelection(place.value.query.get("sel"));
  const selection = useMemo(() => drawn ?? slowest(heat), [heat, place.value.query.get("sel")]);
  const mean = heat.total.split;
  return (
    <div class="operation-body">
      <div class="charts">
        <HeatMap heat={heat} selection={selection} select={(box) => setQuery({
          sel: box ? selectionText(box) : null,
          // a box stays where it is while time goes on
          ...(box ? { from: toNs(heat.fromMs), to: toNs(heat.toMs), last: null } : {}),
        }, false)} />
        {splitTotal(mean) > 0
          ? <><SplitBar split={mean} label="mean of all requests" /><Legend splits={[mean]} /></>
          : <p class="faint">No request has a time split: its program was not recorded on a host with fathom up.</p>}
        <Whole target={target} heat={heat} isLive={!place.value.query.has("from")} />
      </div>
      <Panel target={target} heat={heat} selection={selection} />
    </div>
  );
};

export const Operation = ({ service, name }: { readonly service: string; readonly name: string }) => {
  const { query: parameters } = place.value;
  const range = rangeOf(parameters, "15m");
  const kind = parameters.get("kind") ?? "";
  const target: Target = { service, name, kind };
  const answer = useAnswer(
    async (abort) => readHeat(await ask<HeatAnswer>(query("heatmap", { service, operation: name, kind: kind || undefined, from: range.from, to: range.to, step: stepOf(range.lengthMs) }), abort)),
    `heat ${service} ${name} ${kind} ${range.from} ${range.to ?? ""}`, range.isLive ? Math.max(10000, range.lengthMs / 60) : 0);
  useKeys([{ keys: ["Escape"], shown: "Esc", what: "take the box away", run: () => setQuery({ sel: null }, false) }]);
  return (
    <section class="operation">
      <div class="tools">
        <h1><bdi>{short(name)}</bdi> <span class="service"><bdi>{short(service, 60)}</bdi></span></h1>
        <RangePicker usual="15m" />
        <a class="button" href={addressOf(["where"], { service, operation: name, kind, last: range.isLive ? range.from : null, from: range.isLive ? null : range.from, to: range.to })}>Where its time goes</a>
        <a class="button" href={addressOf(["monitors"], { new: 1, service, operation: name, kind })}>Monitor it</a>
      </div>
      <Shown answer={answer} what="Asking for the heat map">
        {(heat) => heat.count ? (
          <>
            <Facts heat={heat} lengthMs={heat.toMs - heat.fromMs} />
            <Charts target={target} heat={heat} />
          </>
        ) : <Empty title={`No request of this operation ended in the ${range.text}`}><p>Choose a longer time, or go back to the <a href="/">overview</a>.</p></Empty>}
      </Shown>
    </section>
  );
};
