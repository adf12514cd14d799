// SPDX-License-Identifier: Apache-2.0
// Draws the bars of the rows that are seen.
import { isOnCpu, PART_COUNT } from "../parts/list";
import { mainPart, splitOf, type Step, type Trace } from "./model";
import type { Row } from "./rows";

export const ROW_HEIGHT = 24;
const BAR_TOP = 5;
const BAR_HEIGHT = 14;

export interface Look {
  readonly colours: readonly string[]; // of the parts
  readonly plain: string; // of a bar without a split
  readonly faint: string;
  readonly text: string;
  readonly bad: string;
  readonly selected: string;
  readonly background: string;
  readonly hatch: CanvasPattern | null;
}

export interface Frame {
  readonly from: number; // of the time that is seen
  readonly to: number;
  readonly width: number;
}

const x = (frame: Frame, time: number): number => ((time - frame.from) / (frame.to - frame.from)) * frame.width;

let hatch: { readonly colour: string; readonly pattern: CanvasPattern | null } | undefined; // the last one

/** Lines over a bar whose parts are shown by their shares, since their order is not known. */
export const makeHatch = (context: CanvasRenderingContext2D, colour: string): CanvasPattern | null => {
  if (hatch?.colour !== colour) hatch = { colour, pattern: drawHatch(context, colour) };
  return hatch.pattern;
};

const drawHatch = (context: CanvasRenderingContext2D, colour: string): CanvasPattern | null => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  if (!pen) return null;
  pen.strokeStyle = colour;
  pen.globalAlpha = 0.45;
  pen.beginPath();
  pen.moveTo(-1, 7);
  pen.lineTo(7, -1);
  pen.stroke();
  return context.createPattern(tile, "repeat");
};

const NO_WAITS: readonly number[] = [];
const WAITS_MOST = 20000; // of one span
const known = new WeakMap<Trace, Map<number, readonly number[]>>();

/** The waits below a span: those of a child on the same thread are the span's, too. */
const collectWaits = (t: Trace, span: number): number[] => {
  const waits: number[] = [];
  const open = [span];
  for (let at = open.pop(); at !== undefined && waits.length < WAITS_MOST; at = open.pop()) {
    for (let c = t.first[at]; c >= 0; c = t.next[c]) {
      if (t.kernel[c] === 1) waits.push(c);
      else open.push(c);
    }
  }
  return waits;
};

const findWaits = (t: Trace, span: number): readonly number[] => {
  const split = splitOf(t, span);
  let blocked = 0, seen = 0;
  for (let p = 0; p < PART_COUNT; p++) if (!isOnCpu(p)) blocked += split[p];
  if (!t.measured[span] || t.kernel[span] || !blocked) return NO_WAITS;
  const waits = collectWaits(t, span);
  for (const wait of waits) seen += t.end[wait] - t.begin[wait];
  return seen >= 0.9 * blocked && seen <= 1.1 * blocked ? waits : NO_WAITS;
};

/** The waits of a span in order of time, if they are all of its time off the CPUs; else nothing. */
const waitsOf = (t: Trace, span: number): readonly number[] => {
  let spans = known.get(t);
  if (!spans) known.set(t, (spans = new Map()));
  let waits = spans.get(span);
  if (!waits) spans.set(span, (waits = findWaits(t, span)));
  return waits;
};

const rect = (context: CanvasRenderingContext2D, frame: Frame, from: number, to: number, top: number, height: number) => {
  const left = Math.max(-1, x(frame, from));
  const right = Math.min(frame.width + 1, x(frame, to));
  if (right > left) context.fillRect(left, top, Math.max(right - left, 0.6), height);
};

const drawInOrder = (context: CanvasRenderingContext2D, t: Trace, span: number, waits: readonly number[], frame: Frame, top: number, look: Look) => {
  const split = splitOf(t, span);
  let onCpu = 0;
  for (let p = 1; p <= 2; p++) if (split[p] > split[onCpu]) onCpu = p;
  context.fillStyle = look.colours[onCpu];
  rect(context, frame, t.begin[span], t.end[span], top, BAR_HEIGHT);
  for (const wait of waits) {
    const part = mainPart(t, wait);
    if (part < 0 || t.end[wait] < frame.from || t.begin[wait] > frame.to) continue;
    context.fillStyle = look.colours[part];
    rect(context, frame, t.begin[wait], t.end[wait], top, BAR_HEIGHT);
  }
};

const drawByShare = (context: CanvasRenderingContext2D, t: Trace, span: number, frame: Frame, top: number, look: Look) => {
  const split = splitOf(t, span);
  let total = 0, parts = 0;
  for (let p = 0; p < PART_COUNT; p++) {
    total += split[p];
    parts += split[p] > 0 ? 1 : 0;
  }
  let at = t.begin[span];
  const scale = (t.end[span] - at) / (total || 1);
  for (let p = 0; p < PART_COUNT; p++) {
    if (split[p] <= 0) continue;
    context.fillStyle = look.colours[p];
    rect(context, frame, at, at + split[p] * scale, top, BAR_HEIGHT);
    at += split[p] * scale;
  }
  if (parts > 1 && look.hatch) {
    context.fillStyle = look.hatch;
    rect(context, frame, t.begin[span], t.end[span], top, BAR_HEIGHT);
  }
};

export const drawSpan = (context: CanvasRenderingContext2D, t: Trace, span: number, frame: Frame, top: number, look: Look) => {
  const bar = top + BAR_TOP;
  if (t.end[span] < frame.from || t.begin[span] > frame.to) return;
  const width = x(frame, t.end[span]) - x(frame, t.begin[span]);
  const part = mainPart(t, span);
  if (!t.measured[span] || width < 3) {
    context.fillStyle = part < 0 ? look.plain : look.colours[part];
    context.fillRect(x(frame, t.begin[span]), bar, Math.max(1, width), BAR_HEIGHT);
  } else {
    const waits = width > 8 ? waitsOf(t, span) : [];
    if (waits.length) drawInOrder(context, t, span, waits, frame, bar, look);
    else if (t.kernel[span]) {
      context.fillStyle = part < 0 ? look.plain : look.colours[part];
      rect(context, frame, t.begin[span], t.end[span], bar, BAR_HEIGHT);
    } else drawByShare(context, t, span, frame, bar, look);
  }
  if (t.unsure[span]) {
    context.strokeStyle = look.text;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.strokeRect(Math.max(-4, x(frame, t.begin[span])) + 0.5, bar + 0.5, Math.min(frame.width + 8, Math.max(2, width)) - 1, BAR_HEIGHT - 1);
    context.setLineDash([]);
  }
  if (t.error[span]) {
    context.strokeStyle = look.bad;
    context.lineWidth = 2;
    context.strokeRect(Math.max(-4, x(frame, t.begin[span])) - 1, bar - 1, Math.min(frame.width + 8, Math.max(2, width) + 2), BAR_HEIGHT + 2);
  }
};

/** Each member of a fold at its time, in a lower bar. */
const drawFold = (context: CanvasRenderingContext2D, t: Trace, row: Row, frame: Frame, top: number, look: Look) => {
  const pixelNs = (frame.to - frame.from) / frame.width;
  let lastNs = frame.from; // until which the bars that are drawn reach
  for (const span of row.fold?.members ?? []) {
    const begin = t.begin[span];
    const end = Math.max(begin + pixelNs, t.end[span]);
    if (end < lastNs || begin > frame.to) continue; // under a pixel that is drawn
    const part = mainPart(t, span);
    context.fillStyle = part < 0 ? look.plain : look.colours[part];
    context.fillRect(x(frame, begin), top + BAR_TOP + 3, (end - begin) / pixelNs, BAR_HEIGHT - 6);
    lastNs = end;
  }
};

export const drawRow = (context: CanvasRenderingContext2D, t: Trace, row: Row, frame: Frame, top: number, look: Look) => {
  if (row.fold && !row.isOpen) drawFold(context, t, row, frame, top, look);
  else if (!row.fold) drawSpan(context, t, row.span, frame, top, look);
};

/** Ticks of the events of a span. */
export const drawEvents = (context: CanvasRenderingContext2D, times: readonly number[], frame: Frame, top: number, look: Look) => {
  context.fillStyle = look.text;
  for (const time of times) {
    const at = x(frame, time);
    context.fillRect(at - 0.5, top + 2, 1.5, ROW_HEIGHT - 4);
  }
};

/** Steps of the critical path, each with the row of its span; -1: none. */
export interface PathLine {
  readonly steps: readonly Step[];
  readonly rows: Int32Array;
}

const NARROW = 0.3; // pixels: a step that is narrower is passed over

/** The first step that ends behind a time. */
const firstAfter = (steps: readonly Step[], time: number): number => {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle].to <= time) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** The critical path as one line through the bars; `topOf` a row is where it is on the canvas. */
export const drawPath = (context: CanvasRenderingContext2D, line: PathLine, frame: Frame, topOf: (row: number) => number, look: Look) => {
  let y = NaN;
  context.beginPath();
  for (let i = firstAfter(line.steps, frame.from); i < line.steps.length && line.steps[i].from < frame.to; i++) {
    const left = x(frame, line.steps[i].from);
    const right = x(frame, line.steps[i].to);
    if (line.rows[i] < 0 || right - left < NARROW) continue;
    const middle = topOf(line.rows[i]) + BAR_TOP + BAR_HEIGHT / 2;
    if (Number.isNaN(y)) context.moveTo(Math.max(-2, left), middle);
    else if (middle !== y) context.lineTo(left, y);
    if (middle !== y) context.lineTo(left, middle);
    context.lineTo(Math.min(frame.width + 2, right), middle);
    y = middle;
  }
  context.lineJoin = "round";
  context.strokeStyle = look.background;
  context.lineWidth = 4;
  context.stroke();
  context.strokeStyle = look.text;
  context.lineWidth = 2;
  context.stroke();
};
