// SPDX-License-Identifier: Apache-2.0
// Keys that move the time that is seen.
import type { Key } from "../lib/keys";
import type { Trace } from "./model";
import { moved, type TimeView, zoomed } from "./time_view";

/** W A S D, F and 0; `selected` is a span, or -1. `whole` is the time that 0 shows. */
export const timeKeys = (trace: Trace, view: TimeView, selected: number, whole: TimeView, setView: (view: TimeView) => void): Key[] => {
  const length = view.to - view.from;
  const middle = selected < 0 ? -1 : (trace.begin[selected] + trace.end[selected]) / 2;
  const around = middle >= view.from && middle <= view.to ? middle : (view.from + view.to) / 2;
  return [
    { keys: ["w", "+"], shown: "w", what: "zoom in", run: () => setView(zoomed(trace, view, 0.7, around)) },
    { keys: ["s", "-"], shown: "s", what: "zoom out", run: () => setView(zoomed(trace, view, 1 / 0.7, around)) },
    { keys: ["a"], shown: "a", what: "earlier", run: () => setView(moved(trace, view, -length / 5)) },
    { keys: ["d"], shown: "d", what: "later", run: () => setView(moved(trace, view, length / 5)) },
    { keys: ["f"], shown: "f", what: "fit the selected span", run: () => {
      if (selected < 0) return;
      const margin = Math.max(50, (trace.end[selected] - trace.begin[selected]) * 0.05);
      setView({ from: Math.max(0, trace.begin[selected] - margin), to: Math.min(trace.durationNs, trace.end[selected] + margin) });
    } },
    { keys: ["0"], shown: "0", what: "the whole time", run: () => setView(whole) },
  ];
};
