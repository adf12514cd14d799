// SPDX-License-Identifier: Apache-2.0
// Draws lanes of threads: spans above, states beneath, arrows for wakes. Only what is seen, and one thing for a pixel.
import { ticks } from "../lib/axis";
import { duration, short } from "../lib/format";
import { partColours, variable } from "../lib/theme";
import { PARTS, splitTotal } from "../parts/list";
import { firstAbove, type Lane, seenOf, type Wake } from "./lanes";
import { mainPart, nameOf, splitOf, type Trace } from "./model";
import type { TimeView } from "./time_view";

export const LANE = 40;
export const AXIS = 22;
const SPAN = { top: 4, height: 14, step: 3 }; // inner spans stand a little lower
export const STATE = { top: 25, height: 10 };
const ARROWS_MOST = 400; // seen at once: more are a mesh
const NARROW = 1; // pixels

export interface Frame {
  readonly context: CanvasRenderingContext2D;
  readonly view: TimeView;
  readonly width: number;
  readonly hatch: CanvasPattern | null; // over parts whose order is not known
  readonly top: number; // pixels of the lanes that lie above the canvas
  readonly height: number;
}

export const xOf = ({ view, width }: Frame, ns: number): number => ((ns - view.from) / (view.to - view.from)) * width;

/** A line down from each time of the axis, and then what `drawLanes` draws, but not over the axis itself. */
export const drawAxis = (f: Frame, zero: number, drawLanes: () => void) => {
  const { context } = f;
  const times = ticks(f.view.from - zero, f.view.to - zero, f.width / 110);
  const xs = times.map((ns) => Math.round(xOf(f, ns + zero)));
  context.font = `11px ${variable("font")}`;
  context.textBaseline = "middle";
  context.fillStyle = variable("line");
  for (const x of xs) context.fillRect(x, 0, 1, f.height);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, f.width, f.height - AXIS);
  context.clip();
  drawLanes();
  context.restore();
  context.fillStyle = variable("text");
  xs.forEach((x, i) => {
    if (x < f.width - 50) context.fillText(duration(times[i]), x + 4, AXIS / 2);
  });
};

/** Where a lane begins on the canvas. */
export const topOf = (f: Frame, lane: number): number => AXIS + lane * LANE - f.top;

/** The lanes of which something is seen: from the first one to before the second. */
export const lanesSeen = (f: Frame, count: number): readonly [number, number] =>
  [Math.max(0, Math.floor(f.top / LANE)), Math.min(count, Math.ceil((f.top + f.height - AXIS) / LANE))];

/** Draws what is seen of spans that follow each other: `draw` gets the place of one, and where it is. */
export const drawEach = (f: Frame, count: number, beginOf: (place: number) => number, endOf: (place: number) => number, draw: (place: number, x: number, width: number) => void) => {
  const leastNs = (NARROW / f.width) * (f.view.to - f.view.from);
  seenOf(count, beginOf, endOf, f.view.from, f.view.to, leastNs, (place, upTo) => {
    const x = Math.max(-2, xOf(f, beginOf(place)));
    draw(place, x, Math.max(NARROW, Math.min(f.width + 2, xOf(f, upTo)) - x));
  });
};

const drawSpan = (f: Frame, t: Trace, span: number, x: number, width: number, y: number, isSelected: boolean) => {
  const { context } = f;
  context.fillStyle = variable(isSelected ? "link" : width > 3 ? "selected" : "plain");
  context.fillRect(x, y, width, SPAN.height);
  context.strokeStyle = variable(t.error[span] ? "bad" : "plain");
  if (width > 3) context.strokeRect(x + 0.5, y + 0.5, width - 1, SPAN.height - 1);
  if (width < 40) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width - 4, SPAN.height);
  context.clip();
  context.fillStyle = variable(isSelected ? "back" : "text");
  context.fillText(short(nameOf(t, span), 80), Math.max(x, 0) + 4, y + SPAN.height / 2 + 0.5);
  context.restore();
};

/** Those of each depth follow each other, and are drawn over those around them. */
const drawSpans = (f: Frame, t: Trace, lane: Lane, top: number, selected: number) => {
  lane.levels.forEach((level, depth) => {
    const y = top + SPAN.top + Math.min(2, depth) * SPAN.step;
    drawEach(f, level.length, (i) => t.begin[lane.spans[level[i]]], (i) => t.end[lane.spans[level[i]]],
      (i, x, width) => drawSpan(f, t, lane.spans[level[i]], x, width, y, lane.spans[level[i]] === selected));
  });
};

/** The parts of a span whose waits are not known, by their shares. */
const drawShares = (f: Frame, t: Trace, span: number, x: number, width: number, y: number) => {
  const split = splitOf(t, span);
  const total = splitTotal(split) || 1;
  let left = x;
  PARTS.forEach((_, p) => {
    const share = (split[p] / total) * width;
    f.context.fillStyle = partColours.value[p];
    f.context.fillRect(left, y, share, STATE.height);
    left += share;
  });
  if (!f.hatch || width < 3) return;
  f.context.fillStyle = f.hatch;
  f.context.fillRect(x, y, width, STATE.height);
};

const SHARES_FROM = 8; // pixels

/** Waits that are too short to be seen, and what ran between them: as much of the place as they had of the time. */
const drawJoined = (f: Frame, t: Trace, wait: number, x: number, width: number, y: number) => {
  const length = t.end[wait] - t.begin[wait];
  const share = length ? Math.min(1, t.joinedNs[wait] / length) : 1;
  if (width >= SHARES_FROM) {
    drawShares(f, t, wait, x, width * share, y);
    return;
  }
  f.context.globalAlpha = Math.max(0.25, share);
  f.context.fillRect(x, y, width, STATE.height);
  f.context.globalAlpha = 1;
};

/** Where waits tell a span, it was on a CPU in the rest of its time; others have the shares of their parts, hatched. */
const drawStates = (f: Frame, t: Trace, lane: Lane, top: number, selected: number) => {
  const { context } = f;
  const y = top + STATE.top;
  const outer = lane.levels[0] ?? [];
  drawEach(f, outer.length, (i) => t.begin[lane.spans[outer[i]]], (i) => t.end[lane.spans[outer[i]]], (i, x, width) => {
    const span = lane.spans[outer[i]];
    if (!t.measured[span]) return;
    if (!lane.told[outer[i]]) {
      drawShares(f, t, span, x, width, y);
      return;
    }
    const split = splitOf(t, span);
    let most = 0;
    for (let p = 1; p <= 2; p++) if (split[p] > split[most]) most = p;
    context.fillStyle = partColours.value[most];
    context.fillRect(x, y, width, STATE.height);
  });
  drawEach(f, lane.waits.length, (i) => t.begin[lane.waits[i]], (i) => t.end[lane.waits[i]], (i, x, width) => {
    const wait = lane.waits[i];
    const part = mainPart(t, wait);
    context.fillStyle = part < 0 ? variable("plain") : partColours.value[part];
    if (t.joined[wait]) drawJoined(f, t, wait, x, width, y);
    else context.fillRect(x, y, width, STATE.height);
    if (wait !== selected) return;
    context.strokeStyle = variable("text");
    context.lineWidth = 2;
    context.strokeRect(x, y - 1, width, STATE.height + 2);
    context.lineWidth = 1;
  });
};

export const drawLane = (f: Frame, t: Trace, lane: Lane, top: number, selected: number) => {
  f.context.fillStyle = variable("line");
  f.context.fillRect(0, top, f.width, 1);
  drawStates(f, t, lane, top, selected);
  drawSpans(f, t, lane, top, selected);
};

/** Wakes are in the order of time. */
export const drawWakes = (f: Frame, wakes: readonly Wake[], selected: number) => {
  const { context } = f;
  const [first, behind] = lanesSeen(f, Infinity);
  let drawn = 0;
  for (let i = firstAbove(wakes.length, (place) => wakes[place].atNs, f.view.from - 1); i < wakes.length && wakes[i].atNs <= f.view.to; i++) {
    const wake = wakes[i];
    if (Math.max(wake.from, wake.to) < first || Math.min(wake.from, wake.to) >= behind) continue;
    if (drawn++ >= ARROWS_MOST) break;
    drawWake(context, xOf(f, wake.atNs), topOf(f, wake.from), topOf(f, wake.to), wake.wait === selected);
  }
};

const drawWake = (context: CanvasRenderingContext2D, x: number, from: number, to: number, isSelected: boolean) => {
  const down = to > from;
  const [y1, y2] = [from + STATE.top + STATE.height / 2, to + (down ? STATE.top - 2 : STATE.top + STATE.height + 2)];
  context.strokeStyle = context.fillStyle = variable("text");
  context.globalAlpha = isSelected ? 1 : 0.4;
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
};

/** A drag over the canvas, which shows the time of it. */
export interface Drag {
  readonly from: number; // pixels
  readonly to: number;
}

export const drawDrag = (f: Frame, drag: Drag) => {
  f.context.fillStyle = variable("link");
  f.context.globalAlpha = 0.2;
  f.context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), f.height);
  f.context.globalAlpha = 1;
};
