// SPDX-License-Identifier: Apache-2.0
// Lanes of CPUs: which thread had each of them when.
import type { ComponentChildren } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { count, duration, many, percent, short } from "../lib/format";
import { partColours, variable } from "../lib/theme";
import { partNumber } from "../parts/list";
import { LaneChart, type Spot } from "./lane_chart";
import { AXIS, drawEach, type Frame, LANE } from "./lane_draw";
import { at, firstAbove, type Lane, lanesOf } from "./lanes";
import type { Cpus as Runs, Trace } from "./model";
import type { TimeView } from "./time_view";

const RUN = { top: 8, height: 24 };

/** The runs of a CPU: places in the columns, in the order of time. */
interface CpuLane {
  readonly cpu: number;
  readonly first: number;
  readonly behind: number;
}

export const cpuLanes = (runs: Runs): CpuLane[] => {
  const lanes: CpuLane[] = [];
  for (let i = 0; i < runs.cpu.length;) {
    const first = i;
    while (i < runs.cpu.length && runs.cpu[i] === runs.cpu[first]) i++;
    lanes.push({ cpu: runs.cpu[first], first, behind: i });
  }
  return lanes;
};

/** Of each thread of the runs its lane of spans, if it has one. */
export const spansOfRuns = (trace: Trace, runs: Runs): (Lane | undefined)[] => {
  const known = new Map(lanesOf(trace).filter((lane) => trace.threads[lane.thread].host === runs.host).map((lane) => [trace.threads[lane.thread].tid, lane]));
  return runs.threads.map(({ tid }) => known.get(tid));
};

const threadText = ({ name, tid }: { readonly name: string; readonly tid: number }): string => `${name || "thread"} ${tid}`;

const runText = (runs: Runs, i: number): string => {
  const thread = threadText(runs.threads[runs.thread[i]]);
  const length = runs.end[i] - runs.begin[i];
  if (runs.runs[i] === 1) return `${thread} had CPU ${runs.cpu[i]} for ${duration(length)}`;
  return `${many(runs.runs[i], "short run")} on CPU ${runs.cpu[i]} in ${duration(length)}, ${percent(runs.busyNs[i] / length)} of it; ${thread} had the longest`;
};

/** The run of a lane at a time, or the nearest one within a pixel or so. -1: none. */
const runAt = (runs: Runs, lane: CpuLane, timeNs: number): number => {
  const place = lane.first + firstAbove(lane.behind - lane.first, (i) => runs.begin[lane.first + i], timeNs) - 1;
  return place >= lane.first && runs.end[place] >= timeNs ? place : -1;
};

const drawLane = (f: Frame, runs: Runs, lane: CpuLane, top: number, colourOf: (run: number) => string) => {
  const { context } = f;
  context.fillStyle = variable("line");
  context.fillRect(0, top, f.width, 1);
  drawEach(f, lane.behind - lane.first, (i) => runs.begin[lane.first + i], (i) => runs.end[lane.first + i], (i, x, width) => {
    const run = lane.first + i;
    context.fillStyle = colourOf(run);
    context.globalAlpha = Math.max(0.25, runs.busyNs[run] / (runs.end[run] - runs.begin[run] || 1)); // of several: how much of the time
    context.fillRect(x, top + RUN.top, width, RUN.height);
    context.globalAlpha = 1;
    if (width < 60 || runs.runs[run] > 1) return;
    context.save();
    context.beginPath();
    context.rect(x, top + RUN.top, width - 4, RUN.height);
    context.clip();
    context.fillStyle = variable("back");
    context.fillText(short(threadText(runs.threads[runs.thread[run]]), 40), Math.max(x, 0) + 5, top + RUN.top + RUN.height / 2 + 0.5);
    context.restore();
  });
};

interface Props {
  readonly trace: Trace;
  readonly runs: Runs;
  readonly view: TimeView;
  readonly selected: number;
  readonly setView: (view: TimeView) => void;
  readonly select: (span: number) => void;
  readonly above?: ComponentChildren;
}

const names = (runs: Runs, lanes: readonly CpuLane[], lengthNs: number) => (
  <ol class="lane-names" style={{ paddingTop: `${AXIS}px` }}>
    {lanes.map((lane) => {
      let busy = 0, times = 0;
      for (let i = lane.first; i < lane.behind; i++) {
        busy += runs.busyNs[i];
        times += runs.runs[i];
      }
      return <li key={lane.cpu} style={{ height: `${LANE}px` }}><span>CPU {lane.cpu}</span><span class="service">{percent(busy / lengthNs)} busy, {many(times, "run")}</span></li>;
    })}
  </ol>
);

export const Cpus = ({ trace, runs, view, selected, setView, select, above }: Props) => {
  const lanes = useMemo(() => cpuLanes(runs), [runs]);
  const spans = useMemo(() => spansOfRuns(trace, runs), [trace, runs]);
  const list = useMemo(() => names(runs, lanes, trace.time ? trace.time.to - trace.time.from : trace.durationNs), [runs, lanes]);
  const chosen = selected >= 0 ? trace.thread[selected] : -1;
  const draw = useCallback((f: Frame, lane: number, top: number) => drawLane(f, runs, lanes[lane], top, (run) => {
    const own = spans[runs.thread[run]];
    return own && own.thread === chosen ? variable("link") : own ? partColours.value[partNumber("user")] : variable("plain");
  }), [runs, lanes, spans, chosen]);
  const spot = (at: Spot): number => runAt(runs, lanes[at.lane], at.timeNs);
  if (!lanes.length) return <div class="lanes"><p class="faint">Which thread had which CPU is not known of this time: {runs.why || "no switch was recorded then"}. {above}</p></div>;
  return (
    <LaneChart trace={trace} view={view} setView={setView} names={list} count={lanes.length} drawLane={draw} above={above}
      label={`Which thread had each of ${count(lanes.length)} CPUs over time; the list beside it has their sums`}
      usual={`CPUs of ${runs.host}: blue had threads with spans here, grey all others. A click shows the span of the thread.`}
      textAt={(place) => {
        const run = spot(place);
        return run < 0 ? "" : runText(runs, run);
      }}
      click={(place) => {
        const run = spot(place);
        const own = run < 0 ? undefined : spans[runs.thread[run]];
        const span = own ? at(trace, own, place.timeNs, false) : -1;
        if (span >= 0) select(span);
      }} />
  );
};
