// SPDX-License-Identifier: Apache-2.0
// Latency over time as a heat map, and beneath it, on the same axis, the split. A drag selects a box.
import { useCallback, useState } from "preact/hooks";
import { timeTicks } from "../lib/axis";
import { Canvas } from "../lib/canvas";
import { clock, count, duration } from "../lib/format";
import { isDark, partColours, variable } from "../lib/theme";
import { splitText } from "../parts/bar";
import { PARTS } from "../parts/list";
import type { Heat, Selection } from "./data";

const LEFT = 64; // of the axis
const HEAT_HEIGHT = 260;
const SPLIT_HEIGHT = 150;
const BOTTOM = 20;

interface Scale {
  readonly x: (ms: number) => number;
  readonly y: (ns: number) => number;
  readonly ms: (x: number) => number;
  readonly ns: (y: number) => number;
}

/** The durations at which the map begins and ends. */
const bounds = (heat: Heat): [number, number] => {
  const last = heat.binEnds[heat.binEnds.length - 1] ?? 1e6;
  const first = heat.binEnds[0] ?? 1e3;
  return [Math.max(1, first * 0.8), Math.max(last, first * 2)];
};

const scaleOf = (heat: Heat, width: number): Scale => {
  const [least, most] = bounds(heat);
  const logs = Math.log(most / least);
  const inner = Math.max(1, width - LEFT);
  const time = Math.max(1, heat.toMs - heat.fromMs);
  return {
    x: (ms) => LEFT + ((ms - heat.fromMs) / time) * inner,
    y: (ns) => HEAT_HEIGHT - (Math.log(Math.max(ns, least) / least) / logs) * HEAT_HEIGHT,
    ms: (x) => heat.fromMs + ((Math.min(width, Math.max(LEFT, x)) - LEFT) / inner) * time,
    ns: (y) => least * Math.exp(((HEAT_HEIGHT - Math.min(HEAT_HEIGHT, Math.max(0, y))) / HEAT_HEIGHT) * logs),
  };
};

const drawDurations = (context: CanvasRenderingContext2D, heat: Heat, scale: Scale, width: number) => {
  const [least, most] = bounds(heat);
  context.font = `11px ${variable("font")}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  let last = Infinity;
  for (let power = Math.floor(Math.log10(least)); 10 ** power <= most; power++) {
    for (const lead of [1, 2, 5]) {
      const ns = lead * 10 ** power;
      const y = scale.y(ns);
      if (ns < least || ns > most || last - y < 22 || y < 8) continue;
      context.fillStyle = variable("line");
      context.fillRect(LEFT, Math.round(y), width - LEFT, 1);
      context.fillStyle = variable("faint");
      context.fillText(duration(ns), LEFT - 6, y);
      last = y;
    }
  }
};

const drawTimes = (context: CanvasRenderingContext2D, heat: Heat, scale: Scale, width: number, top: number) => {
  context.font = `11px ${variable("font")}`;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.fillStyle = variable("faint");
  for (const ms of timeTicks(heat.fromMs, heat.toMs, (width - LEFT) / 90)) {
    const x = scale.x(ms);
    context.fillRect(x, top, 1, 4);
    if (x > LEFT + 20 && x < width - 24) context.fillText(clock(ms), x, top + 6);
  }
};

const GAP_FROM = 6; // pixels: smaller cells stand without a gap between them

/** Where a cell or a column begins, and how long it is. */
const sized = (from: number, to: number): [number, number] => {
  if (to - from >= GAP_FROM) return [from + 0.5, to - from - 1];
  return [Math.round(from), Math.max(1, Math.round(to) - Math.round(from))]; // cells do not overlap
};

const drawHeat = (context: CanvasRenderingContext2D, heat: Heat, scale: Scale) => {
  const colour = variable("heat");
  for (const column of heat.columns) {
    const left = scale.x(column.beginMs);
    const right = scale.x(Math.min(heat.toMs, column.beginMs + heat.stepMs));
    for (const [bin, spans] of column.cells) {
      const top = scale.y(heat.binEnds[bin]);
      const bottom = scale.y(bin ? heat.binEnds[bin - 1] : heat.binEnds[0] * 0.92);
      context.globalAlpha = 0.18 + 0.82 * (Math.log1p(spans) / Math.log1p(heat.most));
      context.fillStyle = colour;
      const [x, width] = sized(left, right);
      const [y, height] = sized(top, bottom);
      context.fillRect(x, y, width, height);
    }
  }
  context.globalAlpha = 1;
};

const drawLine = (context: CanvasRenderingContext2D, heat: Heat, scale: Scale, value: (column: Heat["columns"][number]) => number) => {
  context.strokeStyle = variable("text");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const column of heat.columns) {
    const y = scale.y(value(column));
    context.moveTo(scale.x(column.beginMs), y);
    context.lineTo(scale.x(Math.min(heat.toMs, column.beginMs + heat.stepMs)), y);
  }
  context.stroke();
};

const drawBox = (context: CanvasRenderingContext2D, scale: Scale, box: Selection) => {
  const top = box.mostNs ? scale.y(box.mostNs) : 0;
  const left = scale.x(box.fromMs);
  context.strokeStyle = variable("text");
  context.fillStyle = variable("selected");
  context.globalAlpha = 0.35;
  const width = scale.x(box.toMs) - left;
  const height = scale.y(box.leastNs || 1) - top;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
  context.setLineDash(box.isDrawn ? [] : [5, 4]);
  context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
  context.setLineDash([]);
};

interface Props {
  readonly heat: Heat;
  readonly selection: Selection;
  readonly select: (selection: Selection | undefined) => void;
}

interface Drag {
  readonly x: number;
  readonly y: number;
  readonly toX: number;
  readonly toY: number;
}

const boxOf = (drag: Drag, scale: Scale): Selection => ({
  fromMs: scale.ms(Math.min(drag.x, drag.toX)), toMs: scale.ms(Math.max(drag.x, drag.toX)),
  leastNs: scale.ns(Math.max(drag.y, drag.toY)), mostNs: Math.min(drag.y, drag.toY) <= 2 ? 0 : scale.ns(Math.min(drag.y, drag.toY)), isDrawn: true,
});

const SplitChart = ({ heat }: { readonly heat: Heat }) => {
  const dark = isDark.value;
  const draw = useCallback((context: CanvasRenderingContext2D, width: number) => {
    const scale = scaleOf(heat, width);
    const most = heat.columns.reduce((m, c) => Math.max(m, c.split.reduce((sum, ns) => sum + ns, 0)), 1);
    const height = SPLIT_HEIGHT - BOTTOM;
    for (const column of heat.columns) {
      let at = height;
      const left = scale.x(column.beginMs);
      const right = scale.x(Math.min(heat.toMs, column.beginMs + heat.stepMs));
      const [x, wide] = sized(left, right);
      PARTS.forEach((_, p) => {
        const size = (column.split[p] / most) * (height - 8);
        if (!size) return;
        context.fillStyle = partColours.value[p];
        context.fillRect(x, at - size, wide, size);
        at -= size;
      });
    }
    context.font = `11px ${variable("font")}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = variable("faint");
    context.fillText(duration(most), LEFT - 6, 10);
    context.fillText("0", LEFT - 6, height - 4);
    drawTimes(context, heat, scale, width, height);
  }, [heat, dark]);
  return <Canvas draw={draw} height={SPLIT_HEIGHT} label={`Mean time of a request by part, over time: ${splitText(heat.total.split)}`} />;
};

export const HeatMap = ({ heat, selection, select }: Props) => {
  const [drag, setDrag] = useState<Drag | undefined>();
  const [hover, setHover] = useState("");
  const [width, setWidth] = useState(0);
  const dark = isDark.value;
  const scale = scaleOf(heat, width);
  const box = drag ? boxOf(drag, scale) : selection;
  const draw = useCallback((context: CanvasRenderingContext2D, w: number) => {
    const at = scaleOf(heat, w);
    drawDurations(context, heat, at, w);
    drawHeat(context, heat, at);
    drawLine(context, heat, at, (column) => column.p99);
    drawBox(context, at, box);
  }, [heat, box.fromMs, box.toMs, box.leastNs, box.mostNs, dark]);
  const point = (event: PointerEvent) => {
    const place = (event.currentTarget as Element).getBoundingClientRect();
    return { x: event.clientX - place.left, y: event.clientY - place.top };
  };
  const tell = (x: number, y: number) => {
    const ms = scale.ms(x);
    const column = heat.columns.find((c) => ms >= c.beginMs && ms < c.beginMs + heat.stepMs);
    if (!column) return setHover("");
    const ns = scale.ns(y);
    const bin = heat.binEnds.findIndex((end) => ns <= end);
    const spans = column.cells.find(([b]) => b === bin)?.[1] ?? 0;
    setHover(`${clock(column.beginMs)}: ${count(spans)} of ${count(column.count)} about ${duration(ns)}; p50 ${duration(column.p50)}, p99 ${duration(column.p99)}${column.errors ? `, ${count(column.errors)} errors` : ""}`);
  };
  return (
    <>
      <p class="chart-title">Latency: the stronger the colour, the more requests; the line is p99 <span class="faint" role="status">{hover}</span></p>
      <Canvas draw={draw} height={HEAT_HEIGHT} class="heat" sized={setWidth}
        label={`Latency over time of ${count(heat.count)} requests. Drag to select a box.`}
        events={{
          onPointerDown: (event: PointerEvent) => {
            const at = point(event);
            (event.currentTarget as Element).setPointerCapture(event.pointerId);
            setDrag({ ...at, toX: at.x, toY: at.y });
          },
          onPointerMove: (event: PointerEvent) => {
            const at = point(event);
            tell(at.x, at.y);
            if (drag) setDrag({ ...drag, toX: at.x, toY: at.y });
          },
          onPointerUp: () => {
            if (!drag) return;
            const drawn = boxOf(drag, scale);
            const isClick = Math.abs(drag.toX - drag.x) < 4 || Math.abs(drag.toY - drag.y) < 4;
            setDrag(undefined);
            select(isClick ? undefined : drawn);
          },
        }} />
      <p class="chart-title">Where the time of a request goes</p>
      <SplitChart heat={heat} />
    </>
  );
};
