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
  readonly roots: readonly Node[];
}

export interface Box {
  readonly node: Node;
  readonly path: readonly number[]; // places among the children, from the root on
  readonly depth: number; // below the box that fills the width
  readonly left: number; // of the width, 0 to 1
  readonly width: number;
  readonly part: string; // whose colour it has; "": none
  readonly grewNs?: number; // for each request, against the others
  readonly isNew?: boolean; // the others have nothing of the kind
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

/** Boxes below a path. What lies below a box has exactly its own share of the width. */
export const boxesOf = (root: Node, path: readonly number[], partOf: (node: Node, above: string) => string): Box[] => {
  const boxes: Box[] = [];
  const add = (node: Node, way: readonly number[], depth: number, left: number, width: number, above: string) => {
    const part = partOf(node, above);
    boxes.push({ node, path: way, depth, left, width, part });
    if (depth + 1 >= DEPTH_SHOWN) return;
    const all = Math.max(node.width_ns, node.children.reduce((sum, child) => sum + child.width_ns, 0)) || 1;
    let at = left;
    node.children.forEach((child, i) => {
      if (child.kind === "place" && child.name === node.name) return; // time of the part without a place
      const share = (child.width_ns / all) * width;
      if (share >= WIDTH_LEAST) add(child, [...way, i], depth + 1, at, share, part);
      at += share;
    });
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

/** The node of another tree with the same names on its path. */
const counterpart = (root: Node, other: Node, path: readonly number[]): Node | undefined => {
  let at: Node | undefined = other;
  let node = root;
  for (const i of path) {
    node = node.children[i];
    at = node && at && sameNode(at.children, node);
  }
  return at;
};

/** Boxes with how much more time a request has in them than a normal one. */
export const growth = (boxes: readonly Box[], root: Node, normal: Node, spans: number, normalSpans: number): Box[] =>
  boxes.map((box) => {
    const other = counterpart(root, normal, box.path);
    return { ...box, grewNs: box.node.width_ns / (spans || 1) - (other?.width_ns ?? 0) / (normalSpans || 1), isNew: other === undefined };
  });

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
