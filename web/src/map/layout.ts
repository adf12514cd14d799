// SPDX-License-Identifier: Apache-2.0
// Places of services on the map: layers from left to right, in which callers stand before those they call.

export interface Link {
  readonly from: string;
  readonly to: string;
}

export interface Spot {
  readonly name: string;
  readonly layer: number;
  readonly row: number; // in its layer
}

export interface Layout {
  readonly spots: ReadonlyMap<string, Spot>;
  readonly layers: number;
  readonly rows: number; // of the fullest layer
}

const SWEEPS = 6; // more change little

/** Names in an order in which callers come first; links that close a circle are passed over. */
const ordered = (names: readonly string[], below: ReadonlyMap<string, readonly string[]>): { order: string[]; back: Set<string> } => {
  const state = new Map<string, "open" | "done">();
  const order: string[] = [];
  const back = new Set<string>();
  for (const start of names) {
    // a stack, since a chain of services can be long
    const way: { name: string; next: number }[] = state.has(start) ? [] : [{ name: start, next: 0 }];
    if (way.length) state.set(start, "open");
    while (way.length) {
      const at = way[way.length - 1];
      const child = below.get(at.name)?.[at.next++];
      if (child === undefined) {
        state.set(at.name, "done");
        order.push(at.name);
        way.pop();
      } else if (!state.has(child)) {
        state.set(child, "open");
        way.push({ name: child, next: 0 });
      } else if (state.get(child) === "open") {
        back.add(`${at.name}\n${child}`);
      }
    }
  }
  return { order: order.reverse(), back };
};

const neighbours = (links: readonly Link[], key: "from" | "to", value: "from" | "to"): Map<string, string[]> => {
  const map = new Map<string, string[]>();
  for (const link of links) {
    const list = map.get(link[key]);
    if (list) list.push(link[value]);
    else map.set(link[key], [link[value]]);
  }
  return map;
};

/** Sorts each layer by where its neighbours stand, so that few edges cross. */
const sweep = (layers: string[][], near: ReadonlyMap<string, readonly string[]>, forward: boolean): void => {
  const rows = new Map<string, number>();
  const note = (layer: readonly string[]) => layer.forEach((name, i) => rows.set(name, (i + 0.5) / layer.length));
  for (const layer of layers) note(layer);
  for (const layer of forward ? layers : [...layers].reverse()) {
    const centre = (name: string): number => {
      const places = (near.get(name) ?? []).map((other) => rows.get(other) ?? 0);
      return places.length ? places.reduce((sum, row) => sum + row, 0) / places.length : (rows.get(name) ?? 0);
    };
    const centres = new Map(layer.map((name) => [name, centre(name)]));
    layer.sort((a, b) => (centres.get(a) ?? 0) - (centres.get(b) ?? 0) || a.localeCompare(b));
    note(layer);
  }
};

export const makeLayout = (links: readonly Link[]): Layout => {
  const names = [...new Set(links.flatMap((link) => [link.from, link.to]))].sort();
  const called = new Set(links.filter((link) => link.from !== link.to).map((link) => link.to));
  const below = neighbours(links, "from", "to");
  // from those that nobody calls on, so that a circle is cut where it comes back to its begin
  const { order, back } = ordered([...names.filter((name) => !called.has(name)), ...names.filter((name) => called.has(name))], below);
  const layer = new Map(order.map((name) => [name, 0]));
  for (const name of order) {
    for (const child of below.get(name) ?? []) {
      if (child !== name && !back.has(`${name}\n${child}`)) layer.set(child, Math.max(layer.get(child) ?? 0, (layer.get(name) ?? 0) + 1));
    }
  }
  const layers: string[][] = [];
  for (const name of names) (layers[layer.get(name) ?? 0] ??= []).push(name);
  const above = neighbours(links, "to", "from");
  for (let i = 0; i < SWEEPS; i++) sweep(layers, i % 2 ? below : above, i % 2 === 0);
  const spots = new Map<string, Spot>();
  layers.forEach((list, l) => list.forEach((name, row) => spots.set(name, { name, layer: l, row })));
  return { spots, layers: layers.length, rows: Math.max(...layers.map((list) => list.length), 0) };
};
