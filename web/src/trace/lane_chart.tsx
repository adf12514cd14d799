// SPDX-License-Identifier: Apache-2.0
// Lanes over a time: names on the left, a canvas as high as what is seen of them, and what pointer and wheel do there.
import type { ComponentChildren, VNode } from "preact";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Canvas } from "../lib/canvas";
import { variable } from "../lib/theme";
import { makeHatch } from "./bars";
import { AXIS, type Drag, drawAxis, drawDrag, type Frame, LANE, lanesSeen, topOf } from "./lane_draw";
import type { Trace } from "./model";
import { moved, type TimeView, zoomed } from "./time_view";

/** Where the pointer is: a lane, pixels below its top, and a time. */
export interface Spot {
  readonly lane: number;
  readonly y: number;
  readonly timeNs: number;
}

interface Props {
  readonly trace: Trace;
  readonly view: TimeView;
  readonly setView: (view: TimeView) => void;
  readonly names: VNode; // a list with an item for each lane
  readonly count: number; // of lanes
  readonly label: string;
  readonly usual: string; // said while the pointer is elsewhere
  readonly above?: ComponentChildren; // beside the line that says what is under the pointer
  readonly below?: ComponentChildren;
  readonly drawLane: (frame: Frame, lane: number, top: number) => void; // another function draws all again
  readonly drawOver?: (frame: Frame) => void;
  readonly textAt: (spot: Spot) => string;
  readonly click: (spot: Spot) => void;
}

const DRAG_LEAST = 4; // pixels: less is a click

/** What of a scrolled element is seen below the top of a column in it. */
const useSeen = () => {
  const box = useRef<HTMLDivElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 0 });
  const measure = useCallback(() => {
    if (!box.current || !column.current) return;
    const top = Math.max(0, box.current.scrollTop - column.current.offsetTop);
    const height = box.current.clientHeight;
    setSeen((old) => (old.top === top && old.height === height ? old : { top, height }));
  }, []);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return { box, column, seen, measure };
};

export const LaneChart = (props: Props) => {
  const { trace, view, setView, count, drawLane, drawOver } = props;
  const { box, column, seen, measure } = useSeen();
  const [width, setWidth] = useState(0);
  const [hover, setHover] = useState("");
  const [drag, setDrag] = useState<Drag | undefined>();
  const whole = AXIS + count * LANE;
  const height = Math.min(whole, seen.height || whole);
  const top = Math.min(seen.top, whole - height);
  const draw = useCallback((context: CanvasRenderingContext2D, w: number) => {
    const f: Frame = { context, view, width: w, hatch: makeHatch(context, variable("back")), top, height };
    drawAxis(f, trace.time?.from ?? 0, () => {
      const [first, behind] = lanesSeen(f, count);
      for (let lane = first; lane < behind; lane++) drawLane(f, lane, topOf(f, lane));
      drawOver?.(f);
    });
    if (drag) drawDrag(f, drag);
  }, [trace, view.from, view.to, drawLane, drawOver, height, top, drag]);
  const timeAt = (x: number) => view.from + (x / (width || 1)) * (view.to - view.from);
  const spotOf = (event: MouseEvent): Spot | undefined => {
    const frame = (event.currentTarget as Element).getBoundingClientRect();
    const y = event.clientY - frame.top - AXIS;
    const lane = Math.floor((y + top) / LANE);
    if (y < 0 || lane >= count) return undefined;
    return { lane, y: (y + top) % LANE, timeNs: timeAt(event.clientX - frame.left) };
  };
  const placeOf = (event: MouseEvent): number => event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  const release = (event: PointerEvent) => {
    if (!drag) return;
    const [from, to] = [Math.min(drag.from, placeOf(event)), Math.max(drag.from, placeOf(event))];
    setDrag(undefined);
    if (to - from > DRAG_LEAST) {
      setView({ from: Math.max(0, timeAt(from)), to: Math.min(trace.durationNs, timeAt(to)) });
      return;
    }
    const spot = spotOf(event);
    if (spot) props.click(spot);
  };
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (event.ctrlKey) setView(zoomed(trace, view, 1.0015 ** event.deltaY, timeAt(event.offsetX)));
    else setView(moved(trace, view, ((event.deltaX || event.deltaY) / (width || 1)) * (view.to - view.from)));
  };
  return (
    <div ref={box} class="lanes" onScroll={measure}>
      <div class="lanes-head">
        <p class="hover" role="status"><bdi>{hover || props.usual}</bdi></p>
        {props.above}
      </div>
      <div class="lanes-body">
        {props.names}
        <div ref={column} style={{ height: `${whole}px` }}>
          <Canvas draw={draw} height={height} class="time" sized={setWidth} label={props.label}
            events={{
              onPointerDown: (event: PointerEvent) => {
                if (event.button) return;
                (event.currentTarget as Element).setPointerCapture(event.pointerId);
                setDrag({ from: placeOf(event), to: placeOf(event) });
              },
              onPointerMove: (event: PointerEvent) => {
                const spot = spotOf(event);
                setHover(spot ? props.textAt(spot) : "");
                if (drag) setDrag({ ...drag, to: placeOf(event) });
              },
              onPointerUp: release,
              onMouseLeave: () => setHover(""),
              onDblClick: () => setView({ from: 0, to: trace.durationNs }),
              onWheel: wheel,
            }} />
        </div>
      </div>
      {props.below}
    </div>
  );
};
