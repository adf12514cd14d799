// SPDX-License-Identifier: Apache-2.0
// What was asked for before the page was drawn: by the server, which puts an answer into the page, and for a trace by its
// worker. Nothing is taken twice.

interface Opened {
  readonly path: string;
  readonly worker: Worker;
  readonly said: readonly unknown[]; // by the worker
}

let opened: Opened | undefined;

export const openLater = (early: Opened): void => {
  opened = early;
};

const blockOf = (path: string): HTMLElement | undefined => {
  const block = document.getElementById("answer");
  return block?.dataset.path === path ? block : undefined;
};

/** The answer of a path that stands in the page; undefined: none does, or it is on its way. */
export const answerInPage = (path: string): string | undefined => {
  const block = document.readyState === "loading" ? undefined : blockOf(path);
  block?.remove();
  return block?.textContent || undefined;
};

/** The same once it is there. */
export const awaitAnswerInPage = async (path: string): Promise<string | undefined> => {
  if (document.readyState === "loading" && blockOf(path)) await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  return answerInPage(path);
};

/** The worker that was asked early for the spans of a path. One of another path ends. */
export const takeOpened = (path: string): Opened | undefined => {
  const early = opened;
  opened = undefined;
  if (early?.path === path) return early;
  early?.worker.terminate();
  return undefined;
};
