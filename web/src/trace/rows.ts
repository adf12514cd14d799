// SPDX-License-Identifier: Apache-2.0
// Which rows of a trace are shown: open or closed spans, like siblings as one row, what find hides.
import { idOf, KERNEL_KINDS, nameOf, type Trace } from "./model";

export interface Fold {
  readonly key: string;
  readonly name: string;
  readonly members: readonly number[];
  readonly totalNs: number;
}

export interface Row {
  readonly span: number; // the first member of a fold
  readonly depth: number;
  readonly fold?: Fold;
  readonly children: number; // that a click shows or hides
  readonly isOpen: boolean;
}

export interface Shape {
  readonly closed: ReadonlySet<number>; // spans whose children are hidden
  readonly kernel: ReadonlySet<number>; // spans whose kernel spans are shown
  readonly unfolded: ReadonlySet<string>; // folds whose members are shown
  readonly found: Uint8Array | undefined; // spans that find has; undefined: nothing is hidden
  readonly leastNs: number; // shorter spans are hidden; 0: none
}

const foldKey = (t: Trace, span: number): string => JSON.stringify([idOf(t, t.parent[span]), t.service[span], nameOf(t, span)]);

const FOLD_LEAST = 5; // like siblings that become one row

/** Spans that find has, with all above them. */
const withAncestors = (t: Trace, found: Uint8Array): Uint8Array => {
  const shown = new Uint8Array(t.count);
  for (let i = 0; i < t.count; i++) for (let at = found[i] ? i : -1; at >= 0 && !shown[at]; at = t.parent[at]) shown[at] = 1;
  return shown;
};

const childrenOf = (t: Trace, span: number, kernel: boolean): number[] => {
  const list: number[] = [];
  for (let c = t.first[span]; c >= 0; c = t.next[c]) if ((t.kernel[c] !== 0) === kernel) list.push(c);
  return list;
};

/** Like siblings, which are in the order of their begin, become one group where there are many. */
const groupsOf = (t: Trace, spans: readonly number[]): number[][] => {
  if (spans.length < FOLD_LEAST) return spans.map((span) => [span]);
  const groups = new Map<number, number[]>();
  for (const span of spans) {
    const name = t.kernel[span] ? t.place[span] : t.name[span];
    const key = (t.service[span] * t.texts.length + name) * KERNEL_KINDS.length + t.kernel[span];
    const group = groups.get(key);
    if (group) group.push(span);
    else groups.set(key, [span]);
  }
  const out: number[][] = [];
  for (const group of groups.values()) {
    if (group.length >= FOLD_LEAST) out.push(group);
    else for (const span of group) out.push([span]);
  }
  return out.sort((a, b) => t.begin[a[0]] - t.begin[b[0]]);
};

/** How many spans a parent has below it that a row can show: those of the kernel only if it is asked for. */
const countChildren = (t: Trace, span: number, kernel: boolean): number => {
  let count = 0;
  for (let c = t.first[span]; c >= 0; c = t.next[c]) count += kernel || !t.kernel[c] ? 1 : 0;
  return count;
};

export const kernelCount = (t: Trace, span: number): number => countChildren(t, span, true) - countChildren(t, span, false);

export const makeRows = (t: Trace, shape: Shape): Row[] => {
  const rows: Row[] = [];
  const found = shape.found && withAncestors(t, shape.found);
  const isShown = (span: number) =>
    (!found || found[span] !== 0) && (t.end[span] - t.begin[span] >= shape.leastNs || t.parent[span] < 0);
  // a stack, since hostile traces are deep; the last one is the next row
  const waiting: { spans: readonly number[]; depth: number }[] = [];
  const wait = (groups: readonly (readonly number[])[], depth: number) => {
    for (let i = groups.length - 1; i >= 0; i--) waiting.push({ spans: groups[i], depth });
  };
  const pushSpan = (span: number, depth: number) => {
    const inKernel = t.kernel[span] !== 0;
    const kernel = shape.kernel.has(span) || inKernel;
    const isOpen = !shape.closed.has(span);
    rows.push({ span, depth, children: countChildren(t, span, kernel), isOpen });
    if (!isOpen) return;
    const groups = groupsOf(t, childrenOf(t, span, false).filter(isShown));
    if (kernel) groups.push(...groupsOf(t, childrenOf(t, span, true).filter(isShown)));
    wait(groups, depth + 1);
  };
  const pushFold = (spans: readonly number[], depth: number) => {
    const key = foldKey(t, spans[0]);
    const isOpen = shape.unfolded.has(key);
    const totalNs = spans.reduce((sum, span) => sum + t.end[span] - t.begin[span], 0);
    rows.push({ span: spans[0], depth, fold: { key, name: nameOf(t, spans[0]), members: spans, totalNs }, children: spans.length, isOpen });
    if (isOpen) wait(spans.map((span) => [span]), depth + 1);
  };
  wait(groupsOf(t, [...t.roots].filter((span) => !t.kernel[span]).filter(isShown)), 0);
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    if (at.spans.length > 1) pushFold(at.spans, at.depth);
    else pushSpan(at.spans[0], at.depth);
  }
  return rows;
};

/** The row of each span: that of the fold it is in, or of the one above it, where it has none. -1: none. */
export const rowsOf = (t: Trace, rows: readonly Row[]): Int32Array => {
  const places = new Int32Array(t.count).fill(-1);
  rows.forEach((row, i) => {
    if (!row.fold) places[row.span] = i;
    else if (!row.isOpen) for (const span of row.fold.members) places[span] = i;
  });
  for (let i = 0; i < t.count; i++) {
    let at = i;
    while (at >= 0 && places[at] < 0) at = t.parent[at];
    for (let below = i; at >= 0 && below !== at; below = t.parent[below]) places[below] = places[at];
  }
  return places;
};

/** Sets that show a span, wherever it is: all above it are open. */
export const reveal = (t: Trace, shape: Shape, span: number): Shape => {
  const closed = new Set(shape.closed);
  const kernel = new Set(shape.kernel);
  const unfolded = new Set(shape.unfolded);
  for (let at = span; at >= 0; at = t.parent[at]) {
    const parent = t.parent[at];
    if (parent >= 0) closed.delete(parent);
    if (parent >= 0 && t.kernel[at] && !t.kernel[parent]) kernel.add(parent);
    unfolded.add(foldKey(t, at));
  }
  return { ...shape, closed, kernel, unfolded };
};
