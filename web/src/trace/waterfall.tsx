// SPDX-License-Identifier: Apache-2.0
// Rows of spans, of which only those that are seen exist: names as elements, bars on a canvas.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ticks } from "../lib/axis";
import { count, duration, short } from "../lib/format";
import { isDark, partColours, variable } from "../lib/theme";
import { splitText } from "../parts/bar";
import { drawEvents, drawPath, drawRow, type Frame, type Look, makeHatch, type PathLine, ROW_HEIGHT } from "./bars";
import { nameOf, serviceOf, splitOf, type Trace, wakerText } from "./model";
import { type Row, rowsOf } from "./rows";
import { moved, type TimeView, zoomed } from "./time_view";

interface Props {
  readonly trace: Trace;
  readonly rows: readonly Row[];
  readonly view: TimeView;
  readonly selected: number;
  readonly found: Uint8Array | undefined;
  readonly critical: boolean;
  readonly setView: (view: TimeView) => void;
  readonly select: (row: Row) => void;
  readonly toggle: (row: Row) => void;
  readonly showRow: number; // that must be seen; -1: none
}

const NAMES_WIDTH = 380;
const AXIS_HEIGHT = 22;

const lookOf = (context: CanvasRenderingContext2D): Look => ({
  colours: partColours.value, plain: variable("plain"), faint: variable("line"), text: variable("text"), bad: variable("bad"),
  selected: variable("selected"), background: variable("back"), hatch: makeHatch(context, variable("back")),
});

const drawAxis = (context: CanvasRenderingContext2D, frame: Frame, height: number, look: Look) => {
  context.font = `11px ${variable("font")}`;
  context.textBaseline = "middle";
  for (const at of ticks(frame.from, frame.to, frame.width / 110)) {
    const left = Math.round(((at - frame.from) / (frame.to - frame.from)) * frame.width) + 0.5;
    context.fillStyle = look.faint;
    context.fillRect(left, 0, 1, height);
    context.fillStyle = look.text;
    if (left < frame.width - 50) context.fillText(duration(at), left + 4, AXIS_HEIGHT / 2);
  }
};

/** What the bar and the colours of a row say, for those who do not see them. */
const rowText = (trace: Trace, row: Row): string =>
  row.fold ? "together" : `${trace.error[row.span] ? "error " : ""}${splitText(splitOf(trace, row.span), 3)}`;

interface NameProps {
  readonly trace: Trace;
  readonly row: Row;
  readonly number: number;
  readonly top: number;
  readonly selected: boolean;
  readonly faint: boolean;
  readonly select: (row: Row) => void;
  readonly toggle: (row: Row) => void;
}

const Name = ({ trace, row, number, top, selected, faint, select, toggle }: NameProps) => {
  const { fold, span } = row;
  const isKernel = trace.kernel[span] !== 0;
  return (
    <div role="treeitem" id={`row-${number}`} aria-level={row.depth + 1} aria-selected={selected}
      aria-expanded={row.children ? row.isOpen : undefined}
      class={`row${selected ? " selected" : ""}${faint ? " faint" : ""}${isKernel ? " kernel" : ""}${trace.error[span] && !fold ? " error" : ""}`}
      style={{ transform: `translateY(${top}px)`, paddingLeft: `${Math.min(row.depth, 24) * 14 + 4}px` }} onClick={() => select(row)}>
      {row.children > 0
        ? <button class="twist" tabIndex={-1} aria-hidden="true" onClick={(event) => { event.stopPropagation(); toggle(row); }}>{row.isOpen ? "▾" : "▸"}</button>
        : <span class="twist" />}
      <span class="row-name"><bdi>{short((fold ? fold.name : nameOf(trace, span)) || "(no name)")}</bdi></span>
      {!fold && trace.waker[span] > 0 && <span class="waker"><bdi>{short(wakerText(trace, span), 60)}</bdi></span>}
      {fold && <span class="times">×{count(fold.members.length)}</span>}
      {!isKernel && (trace.parent[span] < 0 || trace.service[trace.parent[span]] !== trace.service[span]) &&
        <span class="service"><bdi>{short(serviceOf(trace, span), 40)}</bdi></span>}
      <span class="row-time">{duration(fold ? fold.totalNs : trace.end[span] - trace.begin[span])}</span>
      <span class="unseen">{rowText(trace, row)}</span>
    </div>
  );
};

const eventsOf = (trace: Trace): Map<number, number[]> => {
  const map = new Map<number, number[]>();
  for (let i = 0; i < trace.events.length; i += 2) {
    const list = map.get(trace.events[i]) ?? [];
    list.push(trace.events[i + 1]);
    map.set(trace.events[i], list);
  }
  return map;
};

export const Waterfall = (props: Props) => {
  const { trace, rows, view, selected, found, critical, setView, select, toggle, showRow } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [top, setTop] = useState(0);
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>();
  const [events] = useState(() => eventsOf(trace));
  const line = useMemo((): PathLine => {
    const places = critical ? rowsOf(trace, rows) : new Int32Array(0);
    return { steps: critical ? trace.path.steps : [], rows: Int32Array.from(trace.path.steps, (step) => places[step.span] ?? -1) };
  }, [trace, rows, critical]);
  const width = Math.max(0, size.width - NAMES_WIDTH);
  const firstRow = Math.max(0, Math.floor(top / ROW_HEIGHT));
  const lastRow = Math.min(rows.length, Math.ceil((top + size.height) / ROW_HEIGHT));
  const seen = rows.slice(firstRow, lastRow);
  const dark = isDark.value;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element || showRow < 0) return;
    const at = showRow * ROW_HEIGHT;
    if (at < element.scrollTop) element.scrollTop = Math.max(0, at - ROW_HEIGHT);
    else if (at + 2 * ROW_HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = at + 2 * ROW_HEIGHT - element.clientHeight;
  }, [showRow, size.height]);

  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !width) return;
    const scale = devicePixelRatio || 1;
    canvas.current.width = Math.round(width * scale);
    canvas.current.height = Math.round((size.height + AXIS_HEIGHT) * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const frame: Frame = { from: view.from, to: view.to, width };
    const look = lookOf(context);
    drawAxis(context, frame, size.height + AXIS_HEIGHT, look);
    context.save();
    context.beginPath();
    context.rect(0, AXIS_HEIGHT, width, size.height);
    context.clip();
    seen.forEach((row, i) => {
      const at = AXIS_HEIGHT + (firstRow + i) * ROW_HEIGHT - top;
      const isFaint = found !== undefined && !found[row.span] && !row.fold;
      context.globalAlpha = isFaint ? 0.35 : 1;
      if (row.span === selected && !row.fold) {
        context.fillStyle = look.selected;
        context.fillRect(0, at, width, ROW_HEIGHT);
      }
      drawRow(context, trace, row, frame, at, look);
      if (!row.fold) drawEvents(context, events.get(row.span) ?? [], frame, at, look);
    });
    context.globalAlpha = 1;
    if (line.steps.length) drawPath(context, line, frame, (row) => AXIS_HEIGHT + row * ROW_HEIGHT - top, look);
    context.restore();
    if (drag) {
      context.fillStyle = look.selected;
      context.globalAlpha = 0.6;
      context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), size.height + AXIS_HEIGHT);
      context.globalAlpha = 1;
    }
  }, [trace, rows, view, selected, found, line, top, size, drag, dark]);

  const timeAt = (x: number) => view.from + (x / width) * (view.to - view.from);
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    const x = event.offsetX;
    if (event.ctrlKey) setView(zoomed(trace, view, 1.0015 ** event.deltaY, timeAt(x)));
    else setView(moved(trace, view, ((event.deltaX || event.deltaY) / width) * (view.to - view.from)));
  };
  const down = (event: PointerEvent) => {
    if (event.button) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    setDrag({ from: event.offsetX, to: event.offsetX });
  };
  const up = (event: PointerEvent) => {
    if (!drag) return;
    setDrag(undefined);
    const [from, to] = [Math.min(drag.from, event.offsetX), Math.max(drag.from, event.offsetX)];
    if (to - from > 4) {
      setView({ from: Math.max(0, timeAt(from)), to: Math.min(trace.durationNs, timeAt(to)) });
    } else {
      const row = rows[Math.floor((event.offsetY - AXIS_HEIGHT + top) / ROW_HEIGHT)];
      if (row) select(row);
    }
  };
  return (
    <div class="waterfall">
      <div class="names-head">{count(rows.length)} rows</div>
      <div ref={box} class="rows" role="tree" aria-label="Spans of the trace" tabIndex={0}
        aria-activedescendant={showRow >= firstRow && showRow < lastRow ? `row-${showRow}` : undefined}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          <div class="rows-seen" style={{ height: `${size.height}px` }}>
            <div class="names" style={{ width: `${NAMES_WIDTH}px` }}>
              {seen.map((row, i) => (
                <Name key={firstRow + i} number={firstRow + i} trace={trace} row={row} top={(firstRow + i) * ROW_HEIGHT - top}
                  selected={row.span === selected && !row.fold} faint={found !== undefined && !found[row.span] && !row.fold} select={select} toggle={toggle} />
              ))}
            </div>
          </div>
        </div>
      </div>
      <canvas ref={canvas} class="bars" role="img" aria-label="Bars of the rows over time" style={{ left: `${NAMES_WIDTH}px`, width: `${width}px`, height: `${size.height + AXIS_HEIGHT}px` }}
        onWheel={(event) => { wheel(event); if (!event.defaultPrevented && box.current) box.current.scrollTop += event.deltaY; }}
        onPointerDown={down} onPointerMove={(event) => drag && setDrag({ ...drag, to: event.offsetX })} onPointerUp={up}
        onDblClick={() => setView({ from: 0, to: trace.durationNs })} />
    </div>
  );
};
