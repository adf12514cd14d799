// SPDX-License-Identifier: Apache-2.0
// What early.ts asked for, until the page takes it. Nothing is taken twice.

interface Opened {
  readonly path: string;
  readonly worker: Worker;
  readonly said: readonly unknown[]; // by the worker
}

interface Early {
  readonly answers?: Map<string, Promise<Response>>;
  opened?: Opened | undefined;
}

const page = globalThis as { fathomEarly?: Early };

export const takeLater = (early: Early): void => {
  page.fathomEarly = early;
  for (const answer of early.answers?.values() ?? []) answer.catch(() => undefined); // whoever takes it is told
};

const FRESH_MS = 10000; // since the page began to load: an older answer tells an older time

/** The answer of a path that was asked for early. */
export const takeAnswer = (path: string): Promise<Response> | undefined => {
  const answer = page.fathomEarly?.answers?.get(path);
  page.fathomEarly?.answers?.delete(path);
  return performance.now() < FRESH_MS ? answer : undefined;
};

/** The worker that was asked early for the spans of a path. One of another path ends. */
export const takeOpened = (path: string): Opened | undefined => {
  const opened = page.fathomEarly?.opened;
  if (page.fathomEarly) page.fathomEarly.opened = undefined;
  if (opened?.path === path) return opened;
  opened?.worker.terminate();
  return undefined;
};
