// SPDX-License-Identifier: Apache-2.0
// Services and the calls between them: drawn in layers, and as a table.
import { useMemo } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { useAnswer } from "../lib/api";
import { count, duration, many, percent, rate, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { Empty, Missing, Shown } from "../lib/states";
import { around, type Call, isBad, isUnsure, loadMap, type MapData } from "./data";
import { type Layout, makeLayout, type Spot } from "./layout";

const BOX = { width: 168, height: 38 };
const GAP = { x: 110, y: 18 };
const MARGIN = 12;
const CALLS_SHOWN = 500;
const NAME_SHOWN = 23; // letters that fit into a box

const placeOf = (layout: Layout, spot: Spot): { x: number; y: number } => {
  const rows = [...layout.spots.values()].filter((other) => other.layer === spot.layer).length;
  const height = layout.rows * (BOX.height + GAP.y);
  return {
    x: MARGIN + spot.layer * (BOX.width + GAP.x),
    y: MARGIN + (height - rows * (BOX.height + GAP.y)) / 2 + spot.row * (BOX.height + GAP.y),
  };
};

type Points = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** A curve from the right of the caller to the left of the other one; around both where it leads back. */
const curve = (points: Points, call: Call): string => {
  const from = points.get(call.from) ?? { x: 0, y: 0 };
  const to = points.get(call.to) ?? { x: 0, y: 0 };
  const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
  const bend = x2 > x1 ? (x2 - x1) / 2 : 70;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
};

const calledText = (call: Call): string =>
  call.sampled ? `${many(call.count, "call")} in a sample` : `${rate(call.rate ?? 0)}, p99 ${duration(call.p99_ns ?? 0)}`;

const callText = (call: Call): string =>
  `${short(call.from, 60)} calls ${short(call.to, 60)}: ${calledText(call)}${call.errors ? `, ${percent(call.errors / call.count)} errors` : ""}` +
  `${isUnsure(call) ? `; which request made them is ${percent(call.probability ?? 0)} sure` : ""}`;

interface DrawingProps {
  readonly data: MapData;
  readonly calls: readonly Call[];
  readonly by: string;
  readonly focus: string;
  readonly name: string;
}

const Box = ({ data, name, at, isFocus, isFound }: { readonly data: MapData; readonly name: string; readonly at: { x: number; y: number }; readonly isFocus: boolean; readonly isFound: boolean }) => {
  const known = data.services.get(name);
  const errors = known ? known.errors / (known.count || 1) : 0;
  const text = known ? `${rate(known.rate)}, p99 ${duration(known.p99_ns)}` : "sends no span";
  return (
    <a href={addressOf(["map"], { ...Object.fromEntries(place.value.query), focus: isFocus ? null : name })}>
      <g class={`service-box${isFocus ? " focus" : ""}${errors >= 0.01 ? " bad" : ""}${known ? "" : " remote"}${isFound ? "" : " other"}`} transform={`translate(${at.x} ${at.y})`}>
        {name.length > NAME_SHOWN && <title>{short(name, 300)}</title>}
        <rect width={BOX.width} height={BOX.height} rx={4} />
        <text x={10} y={16}>{short(name, NAME_SHOWN)}</text>
        <text x={10} y={31} class="below">{text}{errors >= 0.001 ? `, ${percent(errors)}` : ""}</text>
      </g>
    </a>
  );
};

const Drawing = ({ data, calls, by, focus, name }: DrawingProps) => {
  const keys = calls.map((call) => call.key).join();
  const layout = useMemo(() => makeLayout(calls), [keys]);
  const points: Points = useMemo(() => new Map([...layout.spots.values()].map((spot) => [spot.name, placeOf(layout, spot)])), [layout]);
  const width = 2 * MARGIN + layout.layers * BOX.width + (layout.layers - 1) * GAP.x;
  const height = 2 * MARGIN + layout.rows * (BOX.height + GAP.y);
  const most = Math.max(...calls.map((call) => call.count), 1);
  return (
    <div class="map-drawing">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label="Services and the calls between them; the table below has the same">
        <defs>
          {["arrow", "arrow-bad"].map((id) => (
            <marker key={id} id={id} viewBox="0 0 10 10" refX={9} refY={5} markerWidth={11} markerHeight={11} markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" /></marker>
          ))}
        </defs>
        {calls.map((call) => (
          <path marker-end={isBad(call, by) ? "url(#arrow-bad)" : "url(#arrow)"} key={call.key} d={curve(points, call)} class={`call${isBad(call, by) ? " bad" : ""}${isUnsure(call) ? " unsure" : ""}`}
            style={{ strokeWidth: `${1.5 + 6 * (Math.log1p(call.count) / Math.log1p(most))}px` }}><title>{callText(call)}</title></path>
        ))}
        {[...points].map(([service, at]) => (
          <Box key={service} data={data} name={service} at={at} isFocus={service === focus} isFound={!name || service.toLowerCase().includes(name.toLowerCase())} />
        ))}
      </svg>
    </div>
  );
};

const Change = ({ call }: { readonly call: Call }) =>
  call.change >= 1.25 ? <strong class="bad">×{call.change.toFixed(1)}</strong>
    : call.change <= 0.8 ? <span class="good">×{call.change.toFixed(2)}</span> : <span class="faint">same</span>;

const ServiceLink = ({ name }: { readonly name: string }) => (
  <a href={addressOf(["map"], { ...Object.fromEntries(place.value.query), focus: name })}><bdi>{short(name, 60) || "(no name)"}</bdi></a>
);

const Table = ({ calls }: { readonly calls: readonly Call[] }) => (
  <table class="calls">
    <thead><tr><th>From</th><th>To</th><th class="number">Rate</th><th class="number">Errors</th><th class="number">p50</th><th class="number">p99</th><th class="number">Change</th><th class="number">Sure</th></tr></thead>
    <tbody>
      {calls.map((call) => (
        <tr key={call.key}>
          <td><ServiceLink name={call.from} /></td>
          <td><ServiceLink name={call.to} />{call.sampled && <span class="kind" title="It sends no span: its callers tell of it, in a sample of traces">no spans</span>}</td>
          <td class="number">{call.sampled ? <span class="faint" title="in a sample of traces">{count(call.count)} calls</span> : rate(call.rate ?? 0)}</td>
          <td class={call.errors / call.count >= 0.01 ? "number bad" : "number"}>{call.errors ? percent(call.errors / call.count) : <span class="faint">0</span>}</td>
          <td class="number">{call.p50_ns === undefined ? duration(call.mean_ns) : duration(call.p50_ns)}</td>
          <td class="number">{call.p99_ns === undefined ? "–" : duration(call.p99_ns)}</td>
          <td class="number"><Change call={call} /></td>
          <td class="number" title="how sure it is which request made a call">{call.probability === undefined ? <span class="faint">–</span> : percent(call.probability)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const Found = ({ data, by, focus, name }: { readonly data: MapData; readonly by: string; readonly focus: string; readonly name: string }) => {
  const all = around(data.calls, focus);
  const shown = all.slice(0, CALLS_SHOWN);
  return (
    <>
      <Drawing data={data} calls={shown} by={by} focus={focus} name={name} />
      <p class="faint">
        An arrow leads from the caller on the left to the service on the right; the thicker, the more calls.
        {shown.some(isUnsure) && " A dashed one: it is not sure which requests made its calls."}
        {all.length > shown.length && ` ${count(all.length - shown.length)} rare ones are not shown: choose a service.`}
      </p>
      <Table calls={shown.filter((call) => !name || `${call.from}\n${call.to}`.toLowerCase().includes(name.toLowerCase()))} />
    </>
  );
};

export const ServiceMap = () => {
  const { query } = place.value;
  const range = rangeOf(query, "15m");
  const [focus, name, by] = [query.get("focus") ?? "", query.get("name") ?? "", query.get("by") ?? "errors"];
  const answer = useAnswer((abort) => loadMap(range, abort), `map ${range.from} ${range.to ?? ""}`, range.isLive ? 15000 : 0);
  useKeys([{ keys: ["Escape"], shown: "Esc", what: "show all services", run: () => setQuery({ focus: null, name: null }, false) }]);
  return (
    <section class="map">
      <div class="tools">
        <h1>Services</h1>
        <input type="search" placeholder="Service" aria-label="Service" value={name} onInput={(event) => setQuery({ name: event.currentTarget.value })} />
        <label>Red by <select value={by} onChange={(event) => setQuery({ by: event.currentTarget.value === "errors" ? null : event.currentTarget.value })}>
          <option value="errors">errors</option><option value="p99">p99 against before</option>
        </select></label>
        {focus && <button onClick={() => setQuery({ focus: null }, false)}>All services</button>}
        <RangePicker usual="15m" />
      </div>
      <Shown answer={answer} what="Asking for the calls between services">
        {(data) => (
          <>
            <Missing notes={data.losses} />
            {data.calls.length ? <Found data={data} by={by} focus={focus} name={name} /> : (
              <Empty title={`No service called another one in the ${range.text}`}>
                <p>A call is known where both services send spans of one trace, or where a client's span names its peer (<code>peer.service</code>).</p>
              </Empty>
            )}
          </>
        )}
      </Shown>
    </section>
  );
};
