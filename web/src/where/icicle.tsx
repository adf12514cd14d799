// SPDX-License-Identifier: Apache-2.0
// The tree as boxes: the width of a box is its time, and all below it sum to that.
import { useMemo, useState } from "preact/hooks";
import { difference, duration, many, percent, short } from "../lib/format";
import { nameOf } from "./tell";
import { type Box, boxesOf, growth, nodeAt, type Node } from "./tree";

const ROW = 26;
const GROWN_MOST = 48; // percent of the colour of what grew, under which text is still read in both modes

export const partOf = (node: Node, above: string): string => (node.kind === "part" ? node.name : above);

const boxText = (box: Box, whole: number, spans: number): string => {
  const { node } = box;
  const each = spans > 1 ? `, ${duration(node.width_ns / spans)} for each request` : "";
  const beside = node.total_ns > node.width_ns * 1.01 ? `; ${duration(node.total_ns)} with what ran beside other work` : "";
  const grew = box.grewNs === undefined ? "" : box.isNew ? "; the others have nothing of it" : `; ${difference(box.grewNs)} for each against the others`;
  return `${nameOf(node)}: ${duration(node.width_ns)} (${percent(node.width_ns / (whole || 1))}), ${many(node.count, "time")}${each}${beside}${grew}`;
};

const colour = (box: Box, most: number): Record<string, string> => {
  if (box.grewNs !== undefined) {
    const strength = Math.min(1, Math.abs(box.grewNs) / (most || 1));
    return { background: `color-mix(in oklab, var(${box.grewNs > 0 ? "--bad" : "--good"}) ${Math.round(strength * GROWN_MOST)}%, var(--raised))` };
  }
  return box.part ? { background: `var(--part-${box.part})` } : {};
};

interface IcicleProps {
  readonly name?: string; // of the tree, where there are two
  readonly root: Node;
  readonly path: readonly number[];
  readonly open: (path: readonly number[]) => void;
  readonly normal: Node | undefined; // to which it is compared
  readonly spans: number;
  readonly normalSpans: number;
}

export const Icicle = ({ name = "Where the time goes", root, path, open, normal, spans, normalSpans }: IcicleProps) => {
  const [hover, setHover] = useState("");
  const at = nodeAt(root, path);
  const boxes = useMemo(() => boxesOf(root, path, partOf, normal && growth(root, normal, spans, normalSpans)), [root, normal, path.join()]);
  const most = Math.max(...boxes.filter((box) => box.depth > 0).map((box) => Math.abs(box.grewNs ?? 0)), 1);
  const ways = path.map((_, i) => path.slice(0, i));
  return (
    <>
      <p class="way">
        {ways.map((way) => <span key={way.join(".")}><button class="link" onClick={() => open(way)}><bdi>{short(nameOf(nodeAt(root, way)), 40)}</bdi></button> ▸ </span>)}
        <strong><bdi>{short(nameOf(at), 120)}</bdi></strong> {duration(at.width_ns)}, {percent(at.width_ns / (root.width_ns || 1))} of all
      </p>
      <div class="icicle" style={{ height: `${(Math.max(...boxes.map((box) => box.depth)) + 1) * ROW}px` }} role="tree" aria-label={name}
        onMouseLeave={() => setHover("")}>
        {boxes.map((box) => (
          <button key={box.path.join(".")} role="treeitem" aria-level={box.depth + 1} aria-label={boxText(box, root.width_ns, spans)}
            class={`box ${box.node.kind}${box.part ? ` part-${box.part}` : ""}${box.depth ? "" : " here"}${box.isNew && box.depth ? " once" : ""}`} data-part={box.part || undefined}
            style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW}px`, ...colour(box, most) }}
            onMouseEnter={() => setHover(boxText(box, root.width_ns, spans))} onFocus={() => setHover(boxText(box, root.width_ns, spans))}
            onClick={() => open(box.depth ? box.path : box.path.slice(0, -1))}>
            {box.width > 0.03 && <span><bdi>{short(nameOf(box.node), 100)}</bdi></span>}
          </button>
        ))}
      </div>
      <p class="hover" role="status"><bdi>{hover || "A click on a box looks at it alone; a click on the topmost one goes back."}</bdi></p>
    </>
  );
};
