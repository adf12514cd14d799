// SPDX-License-Identifier: Apache-2.0
// What is recorded and kept, what was lost, how late it is, what it costs, and what was not joined.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { useAnswer } from "../lib/api";
import { clock, count, duration, many, moment, percent, rate, short } from "../lib/format";
import { Shown } from "../lib/states";
import { bytes, type Coverage as Data, cpusOf, JOINS, lagsOf, loadCoverage, lossesOf, type Pin, type Sender, spansText, type Status } from "./data";

const SENDERS_SHOWN = 100;
const PINS_SHOWN = 100;

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => <div><dt>{name}</dt><dd>{children}</dd></div>;

const Kept = ({ status }: { readonly status: Status }) => (
  <>
    <h2>What is kept</h2>
    <dl class="facts wide">
      {status.capture && <Fact name="Recorded">{many(status.capture.chunks, "chunk")}, {bytes(status.capture.bytes)}</Fact>}
      {status.map && <Fact name="Looked at">{many(status.map.chunks, "chunk")}: {many(status.map.spans, "span")} of this host</Fact>}
      {status.requests?.followed && <Fact name="Followed">{many(status.requests.stored, "request")} of services, instrumented or not{status.requests.open > 0 && `; ${count(status.requests.open)} were open for so long that they are stored without their end`}</Fact>}
      <Fact name="Received">{many(status.received.spans, "span")} in {many(status.received.requests, "request")}</Fact>
      <Fact name="Stored">{spansText(status)}</Fact>
      {status.store.dropped > 0 && <Fact name="Dropped">{many(status.store.dropped, "span")}, since they were too old or too many</Fact>}
      {lagsOf(status).map(([name, text]) => <Fact key={name} name={name}>{text}</Fact>)}
    </dl>
    {!status.capture && <p class="faint">This server does not record: <code>fathom up</code> does, and then knows where time goes in the kernel.</p>}
  </>
);

const Losses = ({ status }: { readonly status: Status }) => {
  const losses = lossesOf(status);
  const error = status.store.error ?? status.log.error;
  return (
    <>
      <h2 class={losses.length || error ? "bad" : undefined}>{losses.length ? "What was lost since the start" : "Nothing was lost since the start"}</h2>
      {error && <p class="state failed"><bdi>{error}</bdi></p>}
      {losses.length > 0 && <ul class="notes" aria-label="Losses">{losses.map((text) => <li key={text}><bdi>{text}</bdi></li>)}</ul>}
    </>
  );
};

const Overhead = ({ data, before }: { readonly data: Data; readonly before: Data | undefined }) => {
  const processes = data.status.processes ?? [];
  if (!processes.length) return null;
  return (
    <>
      <h2>What fathom itself takes</h2>
      <table class="small">
        <thead><tr><th>Process</th><th>State</th><th class="number">CPU now</th><th class="number">CPU since the start</th><th class="number">Memory</th><th class="number">Starts</th></tr></thead>
        <tbody>
          {processes.map((process) => {
            const cpus = cpusOf(process, data, before);
            return (
              <tr key={process.name} class={process.state === "running" ? undefined : "error"}>
                <td>{process.name}{process.pid !== undefined && <span class="faint"> {process.pid}</span>}</td>
                <td><bdi>{process.state}{process.why ? `: ${short(process.why, 200)}` : ""}</bdi></td>
                <td class="number">{cpus === undefined ? <span class="faint">…</span> : `${percent(cpus)} of a CPU`}</td>
                <td class="number">{process.cpu_ns === undefined ? "" : duration(process.cpu_ns)}</td>
                <td class="number">{process.memory_bytes === undefined ? "" : bytes(process.memory_bytes)}</td>
                <td class={process.starts > 1 ? "number bad" : "number"}>{count(process.starts)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="faint">The kernel programs run in the processes that they record: <code>fathom report --by overhead</code> shows what they take there.</p>
    </>
  );
};

/** Received spans get their time split from the thread that had them. */
const Joins = ({ status }: { readonly status: Status }) => {
  const { join } = status;
  if (!join) return null;
  const all = JOINS.reduce((sum, { key }) => sum + (join[key] ?? 0), 0);
  const rows = JOINS.filter(({ key }) => join[key]);
  return (
    <>
      <h2>Received spans that have a time split</h2>
      {rows.length ? (
        <table class="small joins">
          <thead><tr><th>How their thread is known, or why it is not</th><th class="number">Spans</th><th class="number">Share</th></tr></thead>
          <tbody>
            {rows.map(({ key, text, isJoined }) => (
              <tr key={key} data-join={key}>
                <td><span class={isJoined ? "good" : "bad"}>{isJoined ? "joined" : "not joined"}</span>: {text}</td>
                <td class="number">{count(join[key])}</td><td class="number">{percent(join[key] / all)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : <p class="faint">No span was received from a program that tells its process.</p>}
    </>
  );
};

const Senders = ({ senders, name }: { readonly senders: readonly Sender[]; readonly name: string }) => {
  const found = senders.filter((sender) => !name || [sender.address, sender.program, ...sender.services].join("\n").toLowerCase().includes(name.toLowerCase()));
  return (
    <>
      <h2>Who sends spans</h2>
      {senders.length > 0 && <input type="search" placeholder="Program, service or address" aria-label="Program, service or address" value={name} onInput={(event) => setQuery({ name: event.currentTarget.value })} />}
      {found.length ? (
        <table class="small senders">
          <thead><tr><th>Sender</th><th>Services</th><th>Language</th><th class="number">Spans</th><th class="number">Now</th><th class="number">Rejected</th><th>Last</th></tr></thead>
          <tbody>
            {found.slice(0, SENDERS_SHOWN).map((sender) => (
              <tr key={`${sender.address} ${sender.pid ?? ""} ${sender.program}`}>
                <td><bdi>{short(sender.program || sender.address, 60)}</bdi> <span class="faint">{sender.pid ?? <bdi>{sender.program && sender.address}</bdi>}</span></td>
                <td><bdi>{short(sender.services.join(", "), 200)}{sender.more_services ? ", …" : ""}</bdi></td>
                <td><bdi>{short(sender.language, 20)}</bdi></td>
                <td class="number">{count(sender.spans)}</td><td class="number">{rate(sender.spans_per_s)}</td>
                <td class={sender.spans_rejected || sender.requests_refused ? "number bad" : "number"}>{sender.spans_rejected || sender.requests_refused ? `${many(sender.spans_rejected, "span")}, ${many(sender.requests_refused, "request")}` : <span class="faint">0</span>}</td>
                <td>{clock(Number(sender.last_unix_ns) / 1e6)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : <p class="faint">{senders.length ? `No sender has “${short(name, 60)}”.` : "Nobody sent a span yet. Programs with libfathom need not send: they are recorded."}</p>}
      {found.length > SENDERS_SHOWN && <p class="faint">{count(found.length - SENDERS_SHOWN)} more are not shown.</p>}
    </>
  );
};

const Pins = ({ pins }: { readonly pins: readonly Pin[] }) => (
  <>
    <h2>What is pinned</h2>
    {pins.length ? (
      <table class="small pins">
        <thead><tr><th>From</th><th class="number">Length</th><th>Why</th><th>Trace</th><th class="number">Chunks</th><th class="number">Size</th></tr></thead>
        <tbody>
          {pins.slice(0, PINS_SHOWN).map((pin) => (
            <tr key={pin.name}>
              <td>{moment(Number(pin.from_unix_ns) / 1e6)}</td>
              <td class="number">{duration(Number(BigInt(pin.to_unix_ns) - BigInt(pin.from_unix_ns)))}</td>
              <td>{pin.why === "slow" ? "it was slow" : pin.why === "asked" ? "somebody asked" : pin.why}</td>
              <td>{pin.trace_id ? <a href={addressOf(["t", pin.trace_id])}><code>{pin.trace_id.slice(0, 16)}</code></a> : ""}</td>
              <td class="number">{count(pin.chunks)}</td><td class="number">{bytes(pin.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    ) : <p class="faint">Nothing: of the recording, the newest chunks are kept. A slow trace pins its own, and <code>fathom pin</code> any.</p>}
  </>
);

const STATES: Readonly<Record<string, string>> = { ok: "It records and answers", lagging: "Answers are late", full: "The disk is full: no spans are taken" };

const headOf = (status: Status): string =>
  status.state === "ok" && !lossesOf(status).length ? "All is well" : STATES[status.state] ?? `The state is: ${status.state}`;

export const Coverage = () => {
  const last = useRef<Data | undefined>(undefined);
  const before = useRef<Data | undefined>(undefined);
  const answer = useAnswer(async (abort) => {
    const data = await loadCoverage(abort);
    before.current = last.current;
    last.current = data;
    return data;
  }, "coverage", 3000);
  return (
    <section class="coverage">
      <Shown answer={answer} what="Asking how the server is">
        {(data) => (
          <>
            <h1 class={data.status.state === "ok" ? undefined : "bad"}>{headOf(data.status)}</h1>
            <Losses status={data.status} />
            <Kept status={data.status} />
            <Joins status={data.status} />
            <Senders senders={data.senders} name={place.value.query.get("name") ?? ""} />
            <Pins pins={data.pins} />
            <Overhead data={data} before={before.current} />
          </>
        )}
      </Shown>
    </section>
  );
};
