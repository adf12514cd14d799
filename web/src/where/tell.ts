// SPDX-License-Identifier: Apache-2.0
// The tree of where time goes in words.
import { difference, percent, short } from "../lib/format";
import { PARTS, partNumber } from "../parts/list";
import { type Growth, type Leaf, leavesOf, type Node } from "./tree";

export const nameOf = (node: Node): string => (node.kind === "span" ? node.name || "(no name)" : (PARTS[partNumber(node.name)]?.name ?? node.name));

const QUOTA_LEAST = 0.1; // of what grew

/** Before Linux 6.18 a thread that is woken while the quota of its cgroup is used up counts as waiting for a CPU. */
const quotaBehind = (leaves: readonly Leaf[], grew: (node: Node) => number, all: number): Leaf | undefined => {
  if (leaves[0]?.part !== "runnable") return undefined;
  const quota = leaves.filter((leaf) => leaf.part === "throttled");
  return quota.reduce((sum, leaf) => sum + grew(leaf.node), 0) > QUOTA_LEAST * all ? quota[0] : undefined;
};

const SECOND_LEAST = 0.2; // of what grew

const leafText = (leaf: Leaf): string => {
  const part = PARTS[partNumber(leaf.part)]?.name ?? leaf.part;
  const what = leaf.node.kind === "place" && leaf.node.name !== leaf.part ? `${leaf.node.name}: ${part}` : part;
  return `${what} in ${short(nameOf(leaf.span), 60)}`;
};

/**
 * What grew most at or below a path, in one sentence: the object, its kind of time, the span, and its share of all
 * that grew. `look`: the kind of time that somebody chose comes first. Another kind that grew much stands behind it.
 */
export const grownSentence = (root: Node, path: readonly number[], grown: ReadonlyMap<Node, Growth>, look = ""): string => {
  const grew = (node: Node): number => grown.get(node)?.grewNs ?? 0;
  const all = grew(root);
  const leaves = leavesOf(root, path).sort((a, b) => grew(b.node) - grew(a.node));
  const quota = quotaBehind(leaves, grew, all);
  const leaf = quota ?? leaves.find((one) => one.part === look && grew(one.node) > 0) ?? leaves[0];
  if (all <= 0) return "These requests take no longer than the others.";
  if (!leaf || grew(leaf.node) <= 0) return "Nothing of this grew.";
  const second = quota ? undefined : leaves.find((one) => one.part !== leaf.part && grew(one.node) >= SECOND_LEAST * all);
  const share = (one: Leaf) => percent(Math.min(1, grew(one.node) / all));
  return `${leafText(leaf)} takes ${difference(grew(leaf.node))} for each request, ${share(leaf)} of what grew (${difference(all)})`
    + `${second ? `; ${leafText(second)} takes ${difference(grew(second.node))}, ${share(second)}` : ""}.`;
};
