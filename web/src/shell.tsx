// SPDX-License-Identifier: Apache-2.0
// What all views share: the head with its links, how the server is, keys, and the token.
import type { ComponentChildren } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { place } from "./lib/address";
import { type Budgeted, leftOut, leftOutNow } from "./lib/budget";
import { ask, needsToken, setToken, useAnswer } from "./lib/api";
import { count, duration, many } from "./lib/format";
import { type Key, shownKeys, useKeys } from "./lib/keys";
import { isDark, toggleTheme } from "./lib/theme";
import { go } from "./lib/address";
import { red, type Red } from "./monitors/data";
import { RedLink } from "./monitors/sign";

/** What the head says of the server; the view of coverage says the rest. */
interface Status {
  readonly state: string;
  readonly store: { readonly spans: number; readonly behind_bytes: number; readonly error?: string; readonly lost_files: number };
  readonly capture?: Budgeted & { readonly lost: number; readonly behind_ns: number };
  readonly map?: { readonly behind_ns: number; readonly damaged: number };
  readonly spans_per_s?: number;
  readonly monitors?: { readonly red: readonly Red[] };
}

const VIEWS: readonly [string, string][] = [["", "Overview"], ["search", "Search"], ["map", "Map"], ["lanes", "Threads"], ["live", "Live"], ["monitors", "Monitors"], ["compare", "Compare"], ["coverage", "Coverage"]];

const trouble = (status: Status): string[] => {
  const lost = status.capture?.lost ?? 0;
  return [
    status.state === "lagging" ? `behind by ${duration(Math.max(status.capture?.behind_ns ?? 0, status.map?.behind_ns ?? 0))}` : "",
    status.state === "full" ? "the disk is full: no spans are taken" : "",
    status.state.includes("failed") ? `${status.state}: ${status.store.error ?? ""}` : "",
    lost ? `${many(lost, "record")} lost` : "",
    status.capture?.lowered ? `${status.capture.in_turns ? "most " : ""}requests of services without a tracer are missing now: the budget is too small` : "",
    status.store.lost_files ? `${many(status.store.lost_files, "file")} of spans cannot be read` : "",
  ].filter(Boolean);
};

const Health = () => {
  const answer = useAnswer((abort) => ask<Status>("/api/v1/status", abort), "status", 5000);
  useEffect(() => {
    red.value = answer.value?.monitors?.red ?? [];
    leftOut.value = leftOutNow(answer.value?.capture);
  }, [answer.value]);
  if (!answer.value) return <span class="health">{answer.error ? "no answer" : ""}</span>;
  const notes = answer.error ? ["the server does not answer"] : trouble(answer.value);
  const { spans_per_s: perSecond, store } = answer.value;
  return (
    <span class={notes.length ? "health bad" : "health"} role="status" title={notes.join("; ")}>
      <span class="dot" />
      {notes.length ? <a href="/coverage">{notes[0]}{notes.length > 1 && `, and ${notes.length - 1} more`}</a> : perSecond === undefined ? `${count(store.spans)} spans` : `${count(perSecond)} spans/s`}
    </span>
  );
};

const Keys = ({ close }: { readonly close: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const seen = new Set<string>();
  return (
    <dialog ref={dialog} class="keys" onClose={close} aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {shownKeys.value.flat().filter((key) => !seen.has(key.shown) && seen.add(key.shown)).map((key) => (
          <div key={key.shown}><dt><kbd>{key.shown}</kbd></dt><dd>{key.what}</dd></div>
        ))}
      </dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  );
};

const TokenForm = () => {
  const value = useSignal("");
  return (
    <form class="state" onSubmit={(event) => { event.preventDefault(); setToken(value.value.trim()); }}>
      <h2>This server asks for its token</h2>
      <p>It is in the file that was given with --token-file. The browser forgets it with this tab.</p>
      <label>Token <input type="password" autocomplete="off" value={value} onInput={(event) => { value.value = event.currentTarget.value; }} /></label>{" "}
      <button>Ask again</button>
    </form>
  );
};

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const help = useSignal(false);
  const keys: readonly Key[] = [
    { keys: ["?"], shown: "?", what: "show or hide the keys", run: () => { help.value = !help.value; } },
    { keys: ["g"], shown: "g", what: "go to the overview", run: () => go("/") },
    { keys: ["/"], shown: "/", what: "search or find", run: () => {
      const field = document.querySelector<HTMLInputElement>("input[type=search]");
      if (field) field.focus();
      else go("/search");
    } },
  ];
  useKeys(keys);
  const here = place.value.path[0] ?? "";
  return (
    <>
      <header>
        <a class="brand" href="/">fathom</a>
        <nav aria-label="Views">
          {VIEWS.map(([word, name]) => (
            <a key={word} href={`/${word}`} aria-current={word === here ? "page" : undefined}>{name}</a>
          ))}
        </nav>
        <RedLink />
        <Health />
        <button class="quiet" onClick={() => { help.value = true; }} aria-label="Keys" title="Keys (?)">?</button>
        <button class="quiet" onClick={toggleTheme}>{isDark.value ? "Light" : "Dark"}</button>
      </header>
      <main id="main">{needsToken.value ? <TokenForm /> : children}</main>
      {help.value && <Keys close={() => { help.value = false; }} />}
    </>
  );
};
