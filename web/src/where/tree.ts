// SPDX-License-Identifier: Apache-2.0
// The tree of where time goes, and its boxes.
import { PARTS, partNumber } from "../parts/list";

export interface Node {
  readonly kind: "span" | "part" | "place";
  readonly name: string;
  readonly service?: string;
  readonly count: number;
  readonly total_ns: number;
  readonly detailed: number;
  readonly width_ns: number; // of the time of the requests: less than total_ns if it ran beside other work
  readonly children: readonly Node[];
}

export interface WhereAnswer {
  readonly traces: number;
  readonly spans: number;
  readonly left_out: number;
  readonly partial?: boolean;
  readonly lost?: number | string; // records, in the time of the requests
  readonly roots: readonly Node[];
}

export interface Box {
  readonly node: Node;
  readonly path: readonly number[]; // places among the children, from the root on
  readonly depth: number; // below the box that fills the width
  readonly left: number; // of the width, 0 to 1
  readonly width: number;
  readonly part: string; // whose colour it has; "": none
  readonly grewNs?: number; // as in Growth
  readonly isNew?: boolean;
}

export const DEPTH_SHOWN = 14;
const WIDTH_LEAST = 0.002;

/** The node of a path; of a wrong one, the last that is there. */
export const nodeAt = (root: Node, path: readonly number[]): Node => {
  let node = root;
  for (const i of path) {
    const child = node.children[i];
    if (!child) break;
    node = child;
  }
  return node;
};

/**
 * Boxes below a path. What lies below a box has exactly its own share of the width. The longest stand first, or
 * those that grew most if that is known.
 */
export const boxesOf = (root: Node, path: readonly number[], partOf: (node: Node, above: string) => string, grown?: ReadonlyMap<Node, Growth>): Box[] => {
  const boxes: Box[] = [];
  const add = (node: Node, way: readonly number[], depth: number, left: number, width: number, above: string) => {
    const part = partOf(node, above);
    boxes.push({ node, path: way, depth, left, width, part, ...grown?.get(node) });
    if (depth + 1 >= DEPTH_SHOWN) return;
    const all = Math.max(node.width_ns, node.children.reduce((sum, child) => sum + child.width_ns, 0)) || 1;
    let at = left;
    const children = node.children.map((child, i) => ({ child, i }));
    if (grown) children.sort((a, b) => (grown.get(b.child)?.grewNs ?? 0) - (grown.get(a.child)?.grewNs ?? 0));
    for (const { child, i } of children) {
      if (child.kind === "place" && child.name === node.name) continue; // time of the part without a place
      const share = (child.width_ns / all) * width;
      if (share >= WIDTH_LEAST) add(child, [...way, i], depth + 1, at, share, part);
      at += share;
    }
  };
  let part = "";
  path.forEach((_, i) => {
    part = partOf(nodeAt(root, path.slice(0, i + 1)), part);
  });
  add(nodeAt(root, path), path, 0, 0, 1, part);
  return boxes;
};

/** The path of the box of a part, or of a place in it, that has the most time; `of`: in spans of that name. */
export const findPath = (root: Node, part: string, place: string, of = ""): number[] => {
  let best: { path: number[]; ns: number } = { path: [], ns: 0 };
  const walk = (node: Node, path: number[], inPart: boolean, span: string) => {
    const isPart = node.kind === "part" && node.name === part && (!of || span === of);
    const isWanted = place ? node.kind === "place" && inPart && node.name === place : isPart;
    if (isWanted && node.width_ns > best.ns) best = { path, ns: node.width_ns };
    node.children.forEach((child, i) => walk(child, [...path, i], inPart || isPart, node.kind === "span" ? node.name : span));
  };
  if (part) walk(root, [], false, "");
  // of a place, the span above is looked at, so that it is seen beside the rest
  return best.path.slice(0, -1);
};

const sameNode = (nodes: readonly Node[], node: Node): Node | undefined =>
  nodes.find((other) => other.kind === node.kind && other.name === node.name && other.service === node.service);

export interface Growth {
  readonly grewNs: number; // how much more of it a request has than a normal one
  readonly isNew: boolean; // the normal ones have nothing of the kind
}

/** How much each node of a tree grew. A place grew no more than its part: only some normal requests tell places. */
export const growth = (root: Node, normal: Node, spans: number, normalSpans: number): Map<Node, Growth> => {
  const grown = new Map<Node, Growth>();
  const walk = (node: Node, other: Node | undefined, most: number) => {
    const grewNs = Math.min(most, node.width_ns / (spans || 1) - (other?.width_ns ?? 0) / (normalSpans || 1));
    grown.set(node, { grewNs, isNew: other === undefined });
    for (const child of node.children) walk(child, other && sameNode(other.children, child), node.kind === "part" ? Math.max(0, grewNs) : Infinity);
  };
  walk(root, normal, Infinity);
  return grown;
};

/** A place, or a part that has none: all time of a tree is in these. */
export interface Leaf {
  readonly path: readonly number[];
  readonly node: Node;
  readonly part: string;
  readonly span: Node; // whose own time it is
}

/** The leaves at or below a path. */
export const leavesOf = (root: Node, path: readonly number[] = []): Leaf[] => {
  const list: Leaf[] = [];
  const walk = (node: Node, way: readonly number[], part: string, span: Node) => {
    const mine = node.kind === "part" ? node.name : part;
    const of = node.kind === "span" ? node : span;
    if ((node.kind === "place" || (node.kind === "part" && !node.children.length)) && path.every((n, i) => n === (way[i] ?? n)) && way.length >= path.length) {
      list.push({ path: way, node, part: mine, span: of });
    }
    node.children.forEach((child, i) => walk(child, [...way, i], mine, of));
  };
  walk(root, [], "", root);
  return list;
};

/** The time of each part in a tree, as a split: all of it sums to the time of the requests. */
export const partsIn = (root: Node): number[] => {
  const split = PARTS.map(() => 0);
  const walk = (node: Node) => {
    const part = node.kind === "part" ? partNumber(node.name) : -1;
    if (part >= 0) split[part] += node.width_ns;
    node.children.forEach(walk);
  };
  walk(root);
  return split;
};

/** Whether requests wait for another service whose spans are in the tree. */
export const hasOthers = (root: Node): boolean => {
  const waiting: Node[] = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.kind === "span" && node.service !== root.service) return true;
    waiting.push(...node.children);
  }
  return false;
};
