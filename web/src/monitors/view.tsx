// SPDX-License-Identifier: Apache-2.0
// The monitors: what is red, its value against its threshold, and the last day.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { ask, Refusal, useAnswer } from "../lib/api";
import { clock, count, duration, many, short } from "../lib/format";
import { unixMs } from "../lib/json";
import { useKeys } from "../lib/keys";
import { Empty, Shown } from "../lib/states";
import { type Monitor, type Monitors as Answer, STATE_WORDS, headline, pathOf, send, shownValue, sorted } from "./data";
import { Form } from "./form";
import { Strip } from "./strip";

const addressOfRule = ({ rule }: Monitor): string | undefined =>
  rule.service && rule.operation ? addressOf(["o", rule.service, rule.operation], rule.kind ? { kind: rule.kind } : {}) : undefined;

const What = ({ monitor }: { readonly monitor: Monitor }) => {
  const { rule } = monitor;
  const text = `${rule.value} of ${rule.service}${rule.to ? ` to ${rule.to}` : rule.operation ? ` ${rule.operation}` : ""}`;
  const address = addressOfRule(monitor);
  return (
    <div class="faint">
      {address ? <a href={address}><bdi>{short(text)}</bdi></a> : <bdi>{short(text)}</bdi>} over {rule.over ?? "5m"}
    </div>
  );
};

/** A bar up to the value, with a mark where the threshold is. */
const Against = ({ monitor }: { readonly monitor: Monitor }) => {
  const { now, threshold, unit, direction, warn_threshold: warn } = monitor;
  if (now === undefined) return <span class="faint"><bdi>{monitor.why ?? "not evaluated yet"}</bdi></span>;
  const most = Math.max(now, threshold * 1.25) || 1;
  return (
    <>
      <strong>{shownValue(now, unit)}</strong> <span class="faint">red {direction} {shownValue(threshold, unit)}{warn !== undefined && `, amber from ${shownValue(warn, unit)}`}</span>
      <span class="day-bar"><span class={`state-${monitor.state}`} style={{ width: `${(now / most) * 100}%` }} /><i style={{ left: `${(threshold / most) * 100}%` }} /></span>
    </>
  );
};

interface RowProps {
  readonly monitor: Monitor;
  readonly nowMs: number;
  readonly change: (work: () => Promise<unknown>) => void;
}

const Row = ({ monitor, nowMs, change }: RowProps) => {
  const { name, state } = monitor;
  const mute = (value: string) => change(() => send("PUT", pathOf(name), { mute: value }));
  return (
    <tr class={state === "alert" ? "worse" : undefined} data-monitor={name}>
      <td><span class={`state-word state-${state}`}>{STATE_WORDS[state]}</span>
        {unixMs(monitor.since_unix_ns) > 0 && <div class="before">for {duration(Math.max(0, nowMs - unixMs(monitor.since_unix_ns)) * 1e6)}</div>}</td>
      <td class="name"><strong><bdi>{short(name, 63)}</bdi></strong>{monitor.muted && <span class="kind">muted{monitor.muted_until_unix_ns && ` until ${clock(unixMs(monitor.muted_until_unix_ns)).slice(0, 5)}`}</span>}
        <What monitor={monitor} /></td>
      <td class="against"><Against monitor={monitor} /></td>
      <td><Strip history={monitor.history} nowMs={nowMs} /></td>
      <td class="faint">{monitor.notify.length ? <bdi>{monitor.notify.join(", ")}</bdi> : "nobody"}</td>
      <td class="row-buttons">
        <button aria-label={`${monitor.muted ? "Unmute" : "Mute 1 h"}: ${name}`} onClick={() => mute(monitor.muted ? "no" : "1h")}>{monitor.muted ? "Unmute" : "Mute 1 h"}</button>
        {monitor.source === "api" ? (
          <>
            <button aria-label={`Change ${name}`} onClick={() => setQuery({ edit: name, new: null }, false)}>Change</button>
            <button aria-label={`Delete ${name}`} onClick={() => confirm(`Delete the monitor “${name}”?`) && change(() => send("DELETE", pathOf(name), {}))}>Delete</button>
          </>
        ) : <span class="kind">of the file</span>}
      </td>
    </tr>
  );
};

const Untold = ({ answer }: { readonly answer: Answer }) => answer.untold.some((one) => one.attempts || one.given_up) ? (
  <section aria-label="Not told" class="untold">
    <h2 class="bad">Not told</h2>
    <ul class="notes">
      {answer.untold.filter((one) => one.attempts || one.given_up).map((one) => (
        <li key={`${one.monitor} ${one.action} ${one.at_unix_ns}`}>
          <bdi>{one.action}</bdi>: <bdi>{one.monitor}</bdi> became {STATE_WORDS[one.state]} at {clock(unixMs(one.at_unix_ns))}; <bdi>{short(one.why, 200)}</bdi>;{" "}
          {one.given_up ? "given up" : `tried ${one.attempts === 1 ? "once" : `${count(one.attempts)} times`}, again at ${clock(unixMs(one.next_unix_ns ?? 0))}`}
        </li>
      ))}
    </ul>
  </section>
) : null;

const Table = ({ answer, change }: { readonly answer: Answer; readonly change: RowProps["change"] }) => {
  const nowMs = Date.now();
  const list = sorted(answer.monitors);
  return (
    <>
      <h2 class={list.some((m) => m.state === "alert") ? "headline bad" : "headline"}>{headline(list)}</h2>
      <table class="monitors">
        <thead><tr><th>State</th><th>Monitor</th><th>Now</th><th>The last day</th><th>Tells</th><th><span class="unseen">Actions</span></th></tr></thead>
        <tbody>{list.map((monitor) => <Row key={monitor.name} monitor={monitor} nowMs={nowMs} change={change} />)}</tbody>
      </table>
      <p class="faint">{many(list.length, "monitor")}, evaluated each ten seconds.</p>
    </>
  );
};

const Nothing = () => (
  <Empty title="Nothing is monitored yet">
    <p>A monitor watches a number of a service or an operation, and tells somebody when it crosses a threshold. Make one here, or in <code>DIR/monitors.conf</code>, which also has the webhooks and commands:</p>
    <pre>{"[monitor cart is slow]\nservice = shop\noperation = GET /cart\nvalue = p99\nabove = 200ms\nnotify = pager\n\n[webhook pager]\nurl = https://hooks.example.com/1"}</pre>
  </Empty>
);

export const Monitors = () => {
  const { query } = place.value;
  const again = useSignal(0);
  const failed = useSignal("");
  const answer = useAnswer((abort) => ask<Answer>("/api/v1/monitors", abort), `monitors ${again.value}`, 5000);
  const last = useRef<Answer | undefined>(undefined);
  last.current = answer.value ?? last.current; // it stays while it is asked again
  const close = () => setQuery({ new: null, edit: null, service: null, operation: null, kind: null, value: null }, false);
  const change = async (work: () => Promise<unknown>) => {
    failed.value = "";
    try {
      await work();
    } catch (error) {
      failed.value = error instanceof Refusal ? error.message : String(error);
    }
    again.value++;
  };
  useKeys([{ keys: ["n"], shown: "n", what: "new monitor", run: () => setQuery({ new: "1", edit: null }, false) }]);
  const name = query.get("edit");
  return (
    <section class="monitors-view">
      <div class="tools">
        <h1>Monitors</h1>
        {!query.get("new") && <button onClick={() => setQuery({ new: "1", edit: null }, false)}>New monitor</button>}
      </div>
      {failed.value && <p class="state failed" role="alert"><bdi>{failed.value}</bdi></p>}
      <Shown answer={{ ...answer, value: last.current }} what="Asking for the monitors">
        {(value) => {
          const edited = value.monitors.find((monitor) => monitor.name === name && monitor.source === "api");
          return (
            <>
              {value.not_saved && <p class="state failed" role="alert">States cannot be written: {value.not_saved}. A restart may tell once more.</p>}
              {(query.get("new") || edited) && (
                <Form key={name ?? ""} monitor={edited} given={query} actions={value.actions} done={() => { close(); again.value++; }} cancel={close} />
              )}
              {value.monitors.length ? <Table answer={value} change={change} /> : !query.get("new") && <Nothing />}
              <Untold answer={value} />
            </>
          );
        }}
      </Shown>
    </section>
  );
};
