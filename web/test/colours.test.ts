// SPDX-License-Identifier: Apache-2.0
// Neighbours in the order of the bar are told apart, also by those who see fewer colours.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PARTS } from "../src/parts/list";

type Triple = readonly [number, number, number];

const LEAST = 10; // CIEDE2000

// Machado, Oliveira and Fernandes (2009), of full strength, for linear RGB
const SIGHTS: Record<string, readonly Triple[] | undefined> = {
  usual: undefined,
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

const linear = (byte: number): number => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);

const rgb = (hex: string): Triple => [1, 3, 5].map((i) => linear(parseInt(hex.slice(i, i + 2), 16))) as unknown as Triple;

const seen = (v: Triple, sight: readonly Triple[] | undefined): Triple =>
  sight ? (sight.map((row) => Math.min(1, Math.max(0, row[0] * v[0] + row[1] * v[1] + row[2] * v[2]))) as unknown as Triple) : v;

const lab = (v: Triple): Triple => {
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
  const x = f((0.4124564 * v[0] + 0.3575761 * v[1] + 0.1804375 * v[2]) / 0.95047);
  const y = f(0.2126729 * v[0] + 0.7151522 * v[1] + 0.072175 * v[2]);
  const z = f((0.0193339 * v[0] + 0.119192 * v[1] + 0.9503041 * v[2]) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
};

const degrees = Math.PI / 180;

/** CIEDE2000, after Sharma, Wu and Dalal (2005). */
const distance = ([l1, a1, b1]: Triple, [l2, a2, b2]: Triple): number => {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [x1, x2] = [(1 + g) * a1, (1 + g) * a2];
  const [c1, c2] = [Math.hypot(x1, b1), Math.hypot(x2, b2)];
  const hue = (x: number, y: number) => (x || y ? (Math.atan2(y, x) / degrees + 360) % 360 : 0);
  const [h1, h2] = [hue(x1, b1), hue(x2, b2)];
  let turn = c1 * c2 ? h2 - h1 : 0;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * degrees);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  let h = h1 + h2;
  if (c1 * c2) h = Math.abs(h1 - h2) <= 180 ? h / 2 : h < 360 ? (h + 360) / 2 : (h - 360) / 2;
  const t = 1 - 0.17 * Math.cos((h - 30) * degrees) + 0.24 * Math.cos(2 * h * degrees) +
    0.32 * Math.cos((3 * h + 6) * degrees) - 0.2 * Math.cos((4 * h - 63) * degrees);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rt = -Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * degrees) * 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  return Math.sqrt(((l2 - l1) / sl) ** 2 + ((c2 - c1) / sc) ** 2 + (dh / sh) ** 2 + rt * ((c2 - c1) / sc) * (dh / sh));
};

test("the distance is that of published pairs", () => {
  assert.ok(Math.abs(distance([50, 2.6772, -79.7751], [50, 0, -82.7485]) - 2.0425) < 1e-4);
  assert.ok(Math.abs(distance([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387]) - 1.2644) < 1e-4);
});

for (const mode of ["light", "dark"] as const) {
  for (const [name, sight] of Object.entries(SIGHTS)) {
    test(`neighbours differ: ${mode}, ${name}`, () => {
      const close = PARTS.slice(1).map((part, i) => ({
        pair: `${PARTS[i].key} ${part.key}`, far: distance(lab(seen(rgb(PARTS[i][mode]), sight)), lab(seen(rgb(part[mode]), sight))),
      })).filter(({ far }) => far < LEAST);
      assert.deepEqual(close, []);
    });
  }
}
