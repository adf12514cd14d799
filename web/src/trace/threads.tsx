// SPDX-License-Identifier: Apache-2.0
// Lanes of the threads of a trace: spans above, states beneath, arrows for wakes.
import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useRef } from "preact/hooks";
import { count, duration, many, short } from "../lib/format";
import { PARTS } from "../parts/list";
import { LaneChart, type Spot } from "./lane_chart";
import { AXIS, drawLane, drawWakes, type Frame, LANE, STATE } from "./lane_draw";
import { at, inOrder, type Lane, laneParts, lanesOf, wakesOf } from "./lanes";
import { nameOf, splitOf, type Trace, wakerText } from "./model";
import type { TimeView } from "./time_view";

const LANES_SHOWN = 200;

interface Props {
  readonly trace: Trace;
  readonly view: TimeView;
  readonly selected: number;
  readonly setView: (view: TimeView) => void;
  readonly select: (span: number) => void;
  readonly above?: ComponentChildren; // beside the line that says what is under the pointer
  readonly order?: readonly number[] | undefined; // of threads; by their first span without it
}

const laneText = (t: Trace, lane: Lane): string => {
  const waits = laneParts(t, lane).slice(0, 3).map(([part, ns]) => `${PARTS[part].name} ${duration(ns)}`).join(", ");
  return `${count(lane.spans.length)} spans${waits ? `; waited: ${waits}` : ""}`;
};

/** Waits that are drawn as one. */
const joinedText = (t: Trace, wait: number): string => {
  const parts = [...splitOf(t, wait)].map((ns, part) => ({ ns, part })).filter(({ ns }) => ns).sort((a, b) => b.ns - a.ns).slice(0, 3);
  return `${many(t.joined[wait], "short wait")} in ${duration(t.end[wait] - t.begin[wait])}: ${parts.map(({ ns, part }) => `${PARTS[part].name} ${duration(ns)}`).join(", ")}`;
};

const hoverText = (t: Trace, span: number): string => {
  if (span < 0) return "";
  if (t.joined[span]) return joinedText(t, span);
  const woken = wakerText(t, span);
  return `${short(nameOf(t, span), 100)} ${duration(t.end[span] - t.begin[span])}${woken ? `, ${woken}` : ""}`;
};

interface NameProps {
  readonly trace: Trace;
  readonly lane: Lane;
  readonly select: (span: number) => void;
}

const Name = ({ trace, lane, select }: NameProps) => {
  const { tid, name, service } = trace.threads[lane.thread];
  const text = laneText(trace, lane);
  return (
    <li style={{ height: `${LANE}px` }} title={text}>
      <button class="link" onClick={() => { const first = lane.spans[0] ?? lane.waits[0]; if (first !== undefined) select(first); }}><bdi>{short(name || service, 24)}</bdi> {tid}</button>
      <span class="service"><bdi>{short(service, 24)}</bdi></span>
      <span class="unseen">{text}</span>
    </li>
  );
};

const spanAt = (trace: Trace, lane: Lane, spot: Spot): number => {
  const inWaits = spot.y >= STATE.top - 2;
  const found = at(trace, lane, spot.timeNs, inWaits);
  return found >= 0 || !inWaits ? found : at(trace, lane, spot.timeNs, false);
};

export const Threads = ({ trace, view, selected, setView, select, above, order }: Props) => {
  const all = useMemo(() => (order ? inOrder(lanesOf(trace), order) : lanesOf(trace)), [trace, order]);
  const lanes = useMemo(() => all.slice(0, LANES_SHOWN), [all]);
  const wakes = useMemo(() => wakesOf(trace, lanes), [trace, lanes]);
  const latest = useRef(select);
  latest.current = select;
  // made once: the sums of a lane are over all its waits
  const names = useMemo(() => (
    <ol class="lane-names" style={{ paddingTop: `${AXIS}px` }}>
      {lanes.map((lane) => <Name key={lane.thread} trace={trace} lane={lane} select={(span) => latest.current(span)} />)}
    </ol>
  ), [trace, lanes]);
  const draw = useCallback((f: Frame, lane: number, top: number) => drawLane(f, trace, lanes[lane], top, selected), [trace, lanes, selected]);
  const drawOver = useCallback((f: Frame) => drawWakes(f, wakes, selected), [wakes, selected]);
  if (!lanes.length) return <div class="lanes"><p class="faint">No span tells its thread: spans of libfathom do, and those that were joined with one. {above}</p></div>;
  return (
    <LaneChart trace={trace} view={view} setView={setView} names={names} count={lanes.length} drawLane={draw} drawOver={drawOver} above={above}
      label={`What ${count(lanes.length)} threads did over time; the list beside it has their sums`}
      usual="Spans stand above what their thread did; an arrow leads from a thread to the one that it woke."
      textAt={(spot) => hoverText(trace, spanAt(trace, lanes[spot.lane], spot))}
      click={(spot) => {
        const span = spanAt(trace, lanes[spot.lane], spot);
        if (span >= 0) select(span);
      }}
      below={all.length > lanes.length && <p class="faint">{count(all.length - lanes.length)} more threads are not shown.</p>} />
  );
};
