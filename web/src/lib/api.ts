// SPDX-License-Identifier: Apache-2.0
// Asks the server, and keeps what it said while the next answer is awaited.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { answerInPage, awaitAnswerInPage } from "./early";
import { parseExact } from "./json";
import { headersOf, TOKEN } from "./paths";

export { query } from "./paths";

export const needsToken = signal(false);

export const token = (): string => sessionStorage.getItem(TOKEN) ?? "";

export const setToken = (value: string): void => {
  sessionStorage.setItem(TOKEN, value);
  needsToken.value = false;
};

export const headers = (): Record<string, string> => headersOf(token());

/** Why the server gave no answer. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export const reason = (status: number, body: string): Refusal => {
  let said = body.trim().slice(0, 300);
  try {
    said = (JSON.parse(body) as { error?: string }).error ?? said;
  } catch {
    // it is no JSON, but a line of text
  }
  return new Refusal(status, said || `the server answered ${status}`);
};

/** Undefined: it did not come with the page, or was cut off: then the page asks. */
const readAnswer = <T>(body: string | undefined): T | undefined => {
  try {
    return body === undefined ? undefined : (parseExact(body) as T);
  } catch {
    return undefined;
  }
};

/** The answer of a path that came with the page. */
export const askPage = <T>(path: string): T | undefined => readAnswer<T>(answerInPage(path));

export const ask = async <T>(path: string, abort?: AbortSignal): Promise<T> => {
  const early = readAnswer<T>(await awaitAnswerInPage(path));
  if (early !== undefined) return early;
  let response: Response;
  try {
    response = await fetch(path, { headers: headers(), signal: abort ?? null });
  } catch (error) {
    if (abort?.aborted) throw error;
    throw new Refusal(0, "the server does not answer");
  }
  const body = await response.text();
  if (response.status === 401) needsToken.value = true;
  if (!response.ok) throw reason(response.status, body);
  return parseExact(body) as T;
};

export interface Answer<T> {
  readonly value: T | undefined; // the last one, also while there is an error
  readonly error: Refusal | undefined;
  readonly loading: boolean;
}

const EMPTY: Answer<never> = { value: undefined, error: undefined, loading: true };

/**
 * The answer of a path, or undefined for none; asked again after `everyMs` while the page is seen,
 * and after a failure. An answer to another path goes at once. `known` gives one that is there already.
 */
export const useAnswer = <T>(load: ((abort: AbortSignal) => Promise<T>) | undefined, key: string, everyMs = 0, known?: () => T | undefined): Answer<T> => {
  const answer = useSignal<Answer<T>>(EMPTY);
  const last = useRef("");
  const isKnown = useRef(false);
  const latest = useRef(load); // the key stays where only the time goes on
  latest.current = load;
  if (last.current !== key) {
    last.current = key;
    const value = known?.();
    isKnown.current = value !== undefined;
    answer.value = value === undefined ? EMPTY : { value, error: undefined, loading: false };
  }
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const run = async () => {
      if (!latest.current || abort.signal.aborted) return;
      let failed = false;
      try {
        const value = await latest.current(abort.signal);
        if (!abort.signal.aborted) answer.value = { value, error: undefined, loading: false };
      } catch (error) {
        if (abort.signal.aborted) return;
        failed = true;
        const refusal = error instanceof Refusal ? error : new Refusal(0, String(error));
        answer.value = { value: answer.value.value, error: refusal, loading: false };
        if (refusal.status >= 400 && refusal.status < 500) return;
      }
      const pause = failed ? Math.max(everyMs, 2000) : everyMs;
      if (pause && !abort.signal.aborted) timer = window.setTimeout(tick, pause);
    };
    const tick = () => {
      if (document.hidden) document.addEventListener("visibilitychange", run, { once: true });
      else void run();
    };
    if (isKnown.current) timer = window.setTimeout(tick, everyMs);
    else void run();
    isKnown.current = false;
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", run);
    };
  }, [key, everyMs, needsToken.value]);
  return answer.value;
};
