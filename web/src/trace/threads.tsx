// SPDX-License-Identifier: Apache-2.0
// Lanes of the threads of a trace: spans above, states beneath, arrows for wakes.
import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { ticks } from "../lib/axis";
import { Canvas } from "../lib/canvas";
import { count, duration, short } from "../lib/format";
import { isDark, partColours, variable } from "../lib/theme";
import { PARTS, splitTotal } from "../parts/list";
import { makeHatch } from "./bars";
import { at, beginsAfter, type Lane, laneParts, lanesOf, type Wake, wakesOf } from "./lanes";
import { mainPart, nameOf, splitOf, type Trace, wakerText } from "./model";
import { moved, type TimeView, zoomed } from "./time_view";

const LANES_SHOWN = 200;
const LANE = 40;
const AXIS = 22;
const SPAN = { top: 4, height: 14, step: 3 }; // inner spans stand a little lower
const STATE = { top: 25, height: 10 };
const ARROWS_MOST = 400; // seen at once: more are a mesh

interface Props {
  readonly trace: Trace;
  readonly view: TimeView;
  readonly selected: number;
  readonly setView: (view: TimeView) => void;
  readonly select: (span: number) => void;
  readonly above?: ComponentChildren; // beside the line that says what is under the pointer
}

interface Frame {
  readonly context: CanvasRenderingContext2D;
  readonly view: TimeView;
  readonly width: number;
  readonly hatch: CanvasPattern | null; // over parts whose order is not known
}

const xOf = ({ view, width }: Frame, ns: number): number => ((ns - view.from) / (view.to - view.from)) * width;

const drawAxis = (f: Frame, height: number, zero: number) => {
  f.context.font = `11px ${variable("font")}`;
  f.context.textBaseline = "middle";
  for (const ns of ticks(f.view.from - zero, f.view.to - zero, f.width / 110)) {
    const x = Math.round(xOf(f, ns + zero));
    f.context.fillStyle = variable("line");
    f.context.fillRect(x, 0, 1, height);
    f.context.fillStyle = variable("text");
    if (x < f.width - 50) f.context.fillText(duration(ns), x + 4, AXIS / 2);
  }
};

/** What is narrower than a pixel and lies in one that is drawn is passed over. Spans are sorted by their begin. */
const drawEach = (f: Frame, t: Trace, list: readonly number[], draw: (span: number, x: number, width: number, i: number) => void) => {
  let last = -Infinity;
  const behind = beginsAfter(t, list, f.view.to);
  for (let i = 0; i < behind; i++) {
    const span = list[i];
    if (t.end[span] < f.view.from) continue;
    const x = Math.max(-2, xOf(f, t.begin[span]));
    const width = Math.min(f.width + 2, xOf(f, t.end[span])) - x;
    if (x + width <= last) continue;
    if (width < 1) last = Math.floor(x) + 1;
    draw(span, x, Math.max(1, width), i);
  }
};

const drawSpans = (f: Frame, t: Trace, lane: Lane, top: number, selected: number) => {
  const { context } = f;
  drawEach(f, t, lane.spans, (span, x, width, i) => {
    const y = top + SPAN.top + Math.min(2, lane.depths[i]) * SPAN.step;
    context.fillStyle = span === selected ? variable("link") : variable("selected");
    context.fillRect(x, y, width, SPAN.height);
    context.strokeStyle = t.error[span] ? variable("bad") : variable("plain");
    if (width > 3) context.strokeRect(x + 0.5, y + 0.5, width - 1, SPAN.height - 1);
    if (width < 40) return;
    context.save();
    context.beginPath();
    context.rect(x, y, width - 4, SPAN.height);
    context.clip();
    context.fillStyle = span === selected ? variable("back") : variable("text");
    context.fillText(short(nameOf(t, span), 80), x + 4, y + SPAN.height / 2 + 0.5);
    context.restore();
  });
};

/** Where waits tell a span, it was on a CPU in the rest of its time; others have the shares of their parts, hatched. */
const drawStates = (f: Frame, t: Trace, lane: Lane, top: number, selected: number) => {
  const { context } = f;
  drawEach(f, t, lane.spans, (span, x, width, i) => {
    if (!t.measured[span] || lane.depths[i]) return;
    const split = splitOf(t, span);
    if (lane.told[i]) {
      let most = 0;
      for (let p = 1; p <= 2; p++) if (split[p] > split[most]) most = p;
      context.fillStyle = partColours.value[most];
      context.fillRect(x, top + STATE.top, width, STATE.height);
      return;
    }
    const total = splitTotal(split) || 1;
    let left = x;
    PARTS.forEach((_, p) => {
      const share = (split[p] / total) * width;
      context.fillStyle = partColours.value[p];
      context.fillRect(left, top + STATE.top, share, STATE.height);
      left += share;
    });
    if (!f.hatch) return;
    context.fillStyle = f.hatch;
    context.fillRect(x, top + STATE.top, width, STATE.height);
  });
  drawEach(f, t, lane.waits, (wait, x, width) => {
    const part = mainPart(t, wait);
    context.fillStyle = part < 0 ? variable("plain") : partColours.value[part];
    context.fillRect(x, top + STATE.top, width, STATE.height);
    if (wait !== selected) return;
    context.strokeStyle = variable("text");
    context.lineWidth = 2;
    context.strokeRect(x, top + STATE.top - 1, width, STATE.height + 2);
    context.lineWidth = 1;
  });
};

const drawWakes = (f: Frame, wakes: readonly Wake[], selected: number) => {
  const { context } = f;
  let drawn = 0;
  for (const wake of wakes) {
    if (wake.atNs < f.view.from || wake.atNs > f.view.to || (drawn++ >= ARROWS_MOST && wake.wait !== selected)) continue;
    const x = xOf(f, wake.atNs);
    const down = wake.to > wake.from;
    const [y1, y2] = [AXIS + wake.from * LANE + STATE.top + STATE.height / 2, AXIS + wake.to * LANE + (down ? STATE.top - 2 : STATE.top + STATE.height + 2)];
    context.strokeStyle = context.fillStyle = variable("text");
    context.globalAlpha = wake.wait === selected ? 1 : 0.4;
    context.beginPath();
    context.moveTo(x, y1);
    context.lineTo(x, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x, y2);
    context.lineTo(x - 3, y2 + (down ? -6 : 6));
    context.lineTo(x + 3, y2 + (down ? -6 : 6));
    context.fill();
    context.globalAlpha = 1;
  }
};

const laneText = (t: Trace, lane: Lane): string => {
  const waits = laneParts(t, lane).slice(0, 3).map(([part, ns]) => `${PARTS[part].name} ${duration(ns)}`).join(", ");
  return `${count(lane.spans.length)} spans${waits ? `; waited: ${waits}` : ""}`;
};

const hoverText = (t: Trace, span: number): string => {
  if (span < 0) return "";
  const woken = wakerText(t, span);
  return `${short(nameOf(t, span), 100)} ${duration(t.end[span] - t.begin[span])}${woken ? `, ${woken}` : ""}`;
};

/** A drag over the canvas, which shows the time of it. */
interface Drag {
  readonly from: number; // pixels
  readonly to: number;
}

const DRAG_LEAST = 4; // pixels: less is a click

const drawDrag = (f: Frame, drag: Drag, height: number) => {
  f.context.fillStyle = variable("link");
  f.context.globalAlpha = 0.2;
  f.context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height);
  f.context.globalAlpha = 1;
};

export const Threads = ({ trace, view, selected, setView, select, above }: Props) => {
  const all = useMemo(() => lanesOf(trace), [trace]);
  const lanes = all.slice(0, LANES_SHOWN);
  const wakes = useMemo(() => wakesOf(trace, lanes), [trace]);
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState("");
  const [drag, setDrag] = useState<Drag | undefined>();
  const dark = isDark.value;
  const height = AXIS + lanes.length * LANE;
  const draw = useCallback((context: CanvasRenderingContext2D, w: number) => {
    const f: Frame = { context, view, width: w, hatch: makeHatch(context, variable("back")) };
    drawAxis(f, height, trace.time?.from ?? 0);
    lanes.forEach((lane, i) => {
      const top = AXIS + i * LANE;
      context.fillStyle = variable("line");
      context.fillRect(0, top, w, 1);
      drawStates(f, trace, lane, top, selected);
      drawSpans(f, trace, lane, top, selected);
    });
    drawWakes(f, wakes, selected);
    if (drag) drawDrag(f, drag, height);
  }, [trace, view.from, view.to, selected, dark, height, drag]);
  const timeAt = (x: number) => view.from + (x / (width || 1)) * (view.to - view.from);
  const placeOf = (event: MouseEvent): number => event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  const release = (event: PointerEvent) => {
    if (!drag) return;
    const [from, to] = [Math.min(drag.from, placeOf(event)), Math.max(drag.from, placeOf(event))];
    setDrag(undefined);
    if (to - from > DRAG_LEAST) {
      setView({ from: Math.max(0, timeAt(from)), to: Math.min(trace.durationNs, timeAt(to)) });
      return;
    }
    const span = spanAt(event);
    if (span >= 0) select(span);
  };
  const spanAt = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const y = event.clientY - box.top - AXIS;
    const lane = lanes[Math.floor(y / LANE)];
    if (!lane || y < 0) return -1;
    const inWaits = y % LANE >= STATE.top - 2;
    const found = at(trace, lane, timeAt(event.clientX - box.left), inWaits);
    return found >= 0 || !inWaits ? found : at(trace, lane, timeAt(event.clientX - box.left), false);
  };
  if (!lanes.length) return <div class="lanes"><p class="faint">No span tells its thread: spans of libfathom do, and those that were joined with one. {above}</p></div>;
  return (
    <div class="lanes">
      <div class="lanes-head">
        <p class="hover" role="status"><bdi>{hover || "Spans stand above what their thread did; an arrow leads from a thread to the one that it woke."}</bdi></p>
        {above}
      </div>
      <div class="lanes-body">
        <ol class="lane-names" style={{ paddingTop: `${AXIS}px` }}>
          {lanes.map((lane) => {
            const { tid, name, service } = trace.threads[lane.thread];
            return (
              <li key={lane.thread} style={{ height: `${LANE}px` }} title={laneText(trace, lane)}>
                <button class="link" onClick={() => { const first = lane.spans[0] ?? lane.waits[0]; if (first !== undefined) select(first); }}><bdi>{short(name || service, 24)}</bdi> {tid}</button>
                <span class="service"><bdi>{short(service, 24)}</bdi></span>
                <span class="unseen">{laneText(trace, lane)}</span>
              </li>
            );
          })}
        </ol>
        <Canvas draw={draw} height={height} class="time" sized={setWidth} label={`What ${count(lanes.length)} threads did over time; the list beside it has their sums`}
          events={{
            onPointerDown: (event: PointerEvent) => {
              if (event.button) return;
              (event.currentTarget as Element).setPointerCapture(event.pointerId);
              setDrag({ from: placeOf(event), to: placeOf(event) });
            },
            onPointerMove: (event: PointerEvent) => {
              setHover(hoverText(trace, spanAt(event)));
              if (drag) setDrag({ ...drag, to: placeOf(event) });
            },
            onPointerUp: release,
            onMouseLeave: () => setHover(""),
            onDblClick: () => setView({ from: 0, to: trace.durationNs }),
            onWheel: (event: WheelEvent) => {
              if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
              event.preventDefault();
              if (event.ctrlKey) setView(zoomed(trace, view, 1.0015 ** event.deltaY, timeAt(event.offsetX)));
              else setView(moved(trace, view, ((event.deltaX || event.deltaY) / (width || 1)) * (view.to - view.from)));
            },
          }} />
      </div>
      {all.length > lanes.length && <p class="faint">{count(all.length - lanes.length)} more threads are not shown.</p>}
    </div>
  );
};
