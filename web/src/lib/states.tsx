// SPDX-License-Identifier: Apache-2.0
// What a view shows while it has nothing else to show.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Answer, Refusal } from "./api";

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="state loading" role="status">{what} …</p>
);

export const Failed = ({ error }: { readonly error: Refusal }) => (
  <p class="state failed" role="alert">
    {error.status === 0 ? "The server does not answer. It is asked again every two seconds." : error.message}
  </p>
);

/** How often the server is to be asked again, since it did not answer: it grows every two seconds. */
export const useAgain = (error: Refusal | undefined): number => {
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (error?.status !== 0) return undefined;
    const timer = setTimeout(() => setTries((n) => n + 1), 2000);
    return () => clearTimeout(timer);
  }, [error]);
  return tries;
};

export const Empty = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="state empty">
    <h2>{title}</h2>
    {children}
  </div>
);

/** What an answer lacks, on top of it. */
export const Missing = ({ notes }: { readonly notes: readonly string[] }) =>
  notes.length ? <ul class="notes" aria-label="What is missing">{notes.map((note) => <li key={note}>{note}</li>)}</ul> : null;

interface Props<T> {
  readonly answer: Answer<T>;
  readonly what: string; // "Loading the trace"
  readonly children: (value: T) => ComponentChildren;
}

/** The value once it is there; greyed while the server is gone. */
export const Shown = <T,>({ answer, what, children }: Props<T>) => {
  if (answer.value === undefined) {
    return answer.error ? <Failed error={answer.error} /> : <Loading what={what} />;
  }
  return (
    <>
      {answer.error && <Failed error={answer.error} />}
      <div class={answer.error ? "stale" : undefined}>{children(answer.value)}</div>
    </>
  );
};
