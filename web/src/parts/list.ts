// SPDX-License-Identifier: Apache-2.0
// The parts of a time split, in the order of the bar: the one list of their names and colours.
// Neighbours differ in lightness, so that they are told apart without colour (test/colours.test.ts).

export interface Part {
  readonly key: string; // as in PART_ns of the API
  readonly name: string;
  readonly what: string;
  readonly light: string;
  readonly dark: string;
}

const part = (key: string, name: string, what: string, light: string, dark: string): Part =>
  ({ key, name, what, light, dark });

export const PARTS: readonly Part[] = [
  part("user", "user code", "on a CPU in user code", "#3f7fd9", "#5b95e8"),
  part("kernel", "kernel", "on a CPU in a system call or a page fault", "#1d2f66", "#2b4796"),
  part("cpu", "CPU", "on a CPU; whether in user code or in the kernel was not recorded", "#6da9f2", "#86baf7"),
  part("runnable", "waiting for a CPU", "ready to run, but other threads have the CPUs", "#c26a00", "#d07a14"),
  part("throttled", "CPU quota", "stopped, since the cgroup used up its CPU quota", "#f2b632", "#f5c452"),
  part("disk", "disk", "blocked on storage", "#6a3fb5", "#7e57cc"),
  part("network", "network", "blocked on a network peer", "#2f9f7d", "#37b08c"),
  part("lock", "lock", "blocked on a lock", "#b3194f", "#cc2f66"),
  part("timer", "timer", "asleep until a time", "#d9cf6b", "#e3da82"),
  part("ipc", "other program", "blocked on another program of this host", "#7d4f22", "#96622f"),
  part("fault", "page fault", "blocked in a page fault", "#f29b80", "#f5ab93"),
  part("child", "child process", "blocked until a child process ends", "#2f7d3a", "#3f9150"),
  part("other", "other wait", "blocked on something else that is known", "#aab48f", "#b8c29d"),
  part("idle", "idle", "waiting for work, outside of any request", "#5f6672", "#59616e"),
  part("off_thread", "off thread", "no thread worked on it: queued, or awaited", "#b7c3d8", "#a9b6cc"),
  part("unknown", "unknown", "nothing was recorded", "#858b94", "#747b86"),
];

export const PART_COUNT = PARTS.length;

const numbers = new Map(PARTS.map((p, i) => [p.key, i]));

/** The place of a part in the list, -1 if there is none of that key. */
export const partNumber = (key: string): number => numbers.get(key) ?? -1;

/** Whether time of the part was spent on a CPU. */
export const isOnCpu = (number: number): boolean => number <= 2;

/** Nanoseconds of each part, in the order of the list. */
export type Split = ArrayLike<number>;

/** A split of members PART_ns, as answers have it. */
export const readSplit = (time: Record<string, number | string> | undefined, prefix = ""): number[] =>
  PARTS.map((p) => Number(time?.[`${prefix}${p.key}_ns`] ?? 0));

export const splitTotal = (split: Split): number => {
  let total = 0;
  for (let i = 0; i < split.length; i++) total += split[i];
  return total;
};

/** The part with the most time, -1 if there is no time. */
export const largestPart = (split: Split): number => {
  let largest = -1;
  for (let i = 0; i < split.length; i++) if (split[i] > (largest < 0 ? 0 : split[largest])) largest = i;
  return largest;
};
