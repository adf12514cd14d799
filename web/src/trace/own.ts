// SPDX-License-Identifier: Apache-2.0
// The time of a span that is no child's, by kind: the wait for a child in another thread is the child's time.
import { PART_COUNT, partNumber } from "../parts/list";
import { splitOf, type Trace } from "./model";

/** Parts in which a thread can wait for another one, the most likely first: as the server has them. */
const WAITING = ["network", "ipc", "off_thread", "lock", "child", "other", "timer", "idle", "unknown"].map(partNumber);

export const ownSplit = (t: Trace, span: number): Float64Array => {
  const own = Float64Array.from(splitOf(t, span));
  for (let c = t.first[span]; c >= 0; c = t.next[c]) {
    if (t.kernel[c] || !t.measured[c] || t.service[c] !== t.service[span]) continue;
    const child = splitOf(t, c);
    for (let p = 0; p < PART_COUNT; p++) own[p] = Math.max(0, own[p] - child[p]);
  }
  let over = own.reduce((sum, ns) => sum + ns, 0) - t.ownNs[span];
  for (const part of WAITING) {
    const taken = Math.max(0, Math.min(own[part], over));
    own[part] -= taken;
    over -= taken;
  }
  return own;
};
