// SPDX-License-Identifier: Apache-2.0
// A row for each operation, the worst change first.
import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { addressOf, go, place, setQuery } from "../lib/address";
import { useAnswer } from "../lib/api";
import { count, duration, many, percent, rate, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { leftOut } from "../lib/budget";
import { Empty, Missing, Shown } from "../lib/states";
import { RedList } from "../monitors/sign";
import { Legend, SplitBar } from "../parts/bar";
import { splitTotal } from "../parts/list";
import { Sparkline } from "../parts/sparkline";
import { isWorse, knownOverview, loadOverview, type OverviewData, type Row, worseText } from "./data";

const ROWS_SHOWN = 200;
const ROW_LEAST = 45; // pixels, together with what stands above the rows

// a range that has what an operation is compared to, too
const LONGER: Record<string, string> = { "5m": "1h", "15m": "1h", "1h": "6h", "6h": "24h", "24h": "7d" };

const addressOfRow = (row: Row, data: OverviewData): string => {
  const { from } = rangeOf(place.value.query, "5m");
  const last = row.before ? (LONGER[from] ?? from) : from === "5m" ? null : from;
  return addressOf(["o", row.now.service, row.now.operation], { kind: row.now.kind, last, sel: worseText(row, data.now, data.before) });
};

const Change = ({ row }: { readonly row: Row }) => {
  if (row.isGone) return <span class="faint">none since</span>;
  if (!row.before) return <span class="faint">new</span>;
  if (row.change >= 1.25) return <strong class="bad">×{row.change >= 10 ? row.change.toFixed(0) : row.change.toFixed(1)}</strong>;
  if (row.change <= 0.8) return <span class="good">×{row.change.toFixed(2)}</span>;
  return <span class="faint">same</span>;
};

interface RowProps {
  readonly row: Row;
  readonly selected: boolean;
  readonly data: OverviewData;
  readonly line: boolean;
}

const OperationRow = ({ row, selected, data, line }: RowProps) => {
  const compared = data.compared !== "";
  const { now, before } = row;
  const longest = Math.max(splitTotal(row.split), splitTotal(row.splitBefore)); // now and before have one scale
  const worse = isWorse(row);
  const shown = row.isGone ? data.before : data.now; // the time of its numbers
  return (
    <tr data-from={shown.from} data-to={shown.to} class={`${worse ? "worse" : ""}${selected ? " selected" : ""}`} data-service={now.service} data-operation={now.operation}>
      <td class="name">
        <a href={addressOfRow(row, data)}>
          <bdi>{short(now.operation || "(no name)")}</bdi> <span class="service"><bdi>{short(now.service, 60)}</bdi></span>
        </a>
        {now.kind !== "internal" && now.kind !== "unspecified" && <span class="kind">{now.kind}</span>}
      </td>
      <td class="split">
        {longest ? <SplitBar split={row.split} of={longest} label="now" /> : <span class="faint">no split</span>}
        {before && splitTotal(row.splitBefore) > 0 && <SplitBar split={row.splitBefore} of={longest} thin label="before" />}
      </td>
      {compared && <td class="number"><Change row={row} /></td>}
      <td class="number p99">{duration(now.p99_ns)}{compared && <div class="before">{before ? duration(before.p99_ns) : "–"}</div>}</td>
      <td class="number">{duration(now.p95_ns)}{compared && <div class="before">{before ? duration(before.p95_ns) : "–"}</div>}</td>
      <td class="number">{duration(now.p50_ns)}{compared && <div class="before">{before ? duration(before.p50_ns) : "–"}</div>}</td>
      <td class="number">{rate(now.rate)}</td>
      <td class={row.errorsMore >= 0.01 ? "number bad" : "number"}>{now.errors ? percent(now.errors / now.count) : <span class="faint">0</span>}</td>
      <td class="line">
        {line && row.series && <Sparkline values={row.series.p99_ns} counts={row.series.count} bad={worse}
          label={`p99 over time, ${duration(Math.max(...row.series.p99_ns))} at most`} />}
      </td>
    </tr>
  );
};

const matches = (row: Row, filter: string): boolean =>
  `${row.now.service} ${row.now.operation}`.toLowerCase().includes(filter.toLowerCase());

const headline = (rows: readonly Row[], compared: string): string => {
  const worse = rows.filter(isWorse);
  if (!compared) return `${many(rows.length, "operation")}; there is nothing older to compare with yet`;
  if (rows.every((row) => row.isGone)) return `No request is known since ${compared}`;
  if (!worse.length) return `Nothing is slower than ${compared === "the same time a week ago" ? "at " : "in "}${compared}`;
  return `${many(worse.length, "operation is", "operations are")} worse than ${compared === "the same time a week ago" ? "at " : "in "}${compared}`;
};

/** Whether a first picture was drawn: what it has not comes then. */
const useDrawn = (): boolean => {
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    let frame = requestAnimationFrame(() => { frame = requestAnimationFrame(() => setTimeout(() => setDrawn(true))); });
    return () => cancelAnimationFrame(frame);
  }, []);
  return drawn;
};

const Table = ({ data, filter }: { readonly data: OverviewData; readonly filter: string }) => {
  const selected = useSignal(-1);
  const found = data.rows.filter((row) => matches(row, filter));
  const drawn = useDrawn();
  const rows = found.slice(0, drawn ? ROWS_SHOWN : Math.ceil(screen.height / ROW_LEAST));
  const move = (by: number) => {
    selected.value = Math.min(rows.length - 1, Math.max(0, selected.value + by));
    document.querySelectorAll<HTMLElement>("tbody tr .name a")[selected.value]?.focus();
  };
  useKeys([
    { keys: ["j", "ArrowDown"], shown: "j ↓", what: "next row", run: () => move(1) },
    { keys: ["k", "ArrowUp"], shown: "k ↑", what: "row before", run: () => move(-1) },
    { keys: ["Enter"], shown: "Enter", what: "open the row", run: () => {
      const row = rows[Math.max(0, selected.value)];
      if (row) go(addressOfRow(row, data));
    } },
  ]);
  return (
    <>
      <h2 class={data.rows.some(isWorse) ? "headline bad" : "headline"}>{headline(data.rows, data.compared)}</h2>
      <table class="operations">
        <thead>
          <tr>
            <th>Operation</th>
            <th>Where the time of a request goes<span class="faint">: now{data.compared && `, thin: ${data.compared}`}</span></th>
            {data.compared && <th class="number">Change</th>}<th class="number">p99</th><th class="number">p95</th><th class="number">p50</th>
            <th class="number">Rate</th><th class="number">Errors</th><th>p99 over time</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => <OperationRow key={row.key} row={row} selected={i === selected.value} data={data} line={drawn} />)}
        </tbody>
      </table>
      {!rows.length && <p class="state">No operation has “{filter}” in its name or service.</p>}
      {found.length > ROWS_SHOWN && <p class="faint">{count(found.length - ROWS_SHOWN)} more are not shown: narrow them by name.</p>}
      <Legend splits={rows.map((row) => row.split)} />
    </>
  );
};

export const Overview = () => {
  const { query } = place.value;
  const range = rangeOf(query, "5m");
  const filter = query.get("name") ?? "";
  const from = range.isLive ? range.from : `${Math.round(range.lengthMs / 1000)}s`;
  const answer = useAnswer((abort) => loadOverview(from, abort), `overview ${range.from}`, Math.max(5000, range.lengthMs / 200), () => knownOverview(from));
  return (
    <section class="overview">
      <h1 class="unseen">Overview</h1>
      <div class="tools">
        <RangePicker usual="5m" />
        <input type="search" placeholder="Name or service" aria-label="Name or service" value={filter}
          onInput={(event) => setQuery({ name: event.currentTarget.value })} />
      </div>
      <RedList />
      <Missing notes={leftOut.value ? [leftOut.value] : []} />
      <Shown answer={answer} what="Asking for all operations">
        {(data) => data.rows.length ? <Table data={data} filter={filter} /> : <Nothing text={range.text} />}
      </Shown>
    </section>
  );
};

const Nothing = ({ text }: { readonly text: string }) => (
  <Empty title={`No request ended in the ${text}`}>
    <p>Spans come from three places:</p>
    <ul>
      <li>programs with libfathom, as soon as <code>fathom up</code> runs on their host;</li>
      <li>programs with OpenTelemetry: <code>OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318</code>;</li>
      <li>programs with Zipkin's tracers: <code>http://127.0.0.1:9411/api/v2/spans</code>.</li>
    </ul>
    <p>This view looks again every five seconds. A longer time can be chosen above.</p>
  </Empty>
);
