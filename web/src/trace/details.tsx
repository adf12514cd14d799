// SPDX-License-Identifier: Apache-2.0
// What is known of one span.
import { useEffect, useState } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { count, duration, moment, percent, short } from "../lib/format";
import { SplitBar } from "../parts/bar";
import { PARTS, partNumber, splitTotal } from "../parts/list";
import { idOf, KERNEL_KINDS, KINDS, nameOf, serviceOf, splitOf, type Trace, traceIdOf } from "./model";
import { kernelCount } from "./rows";
import type { Session } from "./session";
import type { Detail } from "./worker";

const VALUE_SHOWN = 500;

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const Value = ({ value }: { readonly value: unknown }) => {
  const text = textOf(value);
  const [all, setAll] = useState(false);
  if (text.length <= VALUE_SHOWN || all) return <bdi>{text}</bdi>;
  return <><bdi>{short(text, VALUE_SHOWN)}</bdi> <button class="link" onClick={() => setAll(true)}>all {count(text.length)} letters</button></>;
};

const Attributes = ({ title, values }: { readonly title: string; readonly values: Record<string, unknown> }) => {
  const list = Object.entries(values).filter(([key]) => !key.startsWith("fathom.time.") && key !== "fathom.kernel");
  if (!list.length) return null;
  return (
    <>
      <h3>{title}</h3>
      <dl class="attributes">
        {list.map(([key, value]) => <div key={key}><dt><bdi>{short(key)}</bdi></dt><dd><Value value={value} /></dd></div>)}
      </dl>
    </>
  );
};

interface KernelRow {
  readonly kind: string;
  readonly name: string;
  readonly count: number;
  readonly total_ns: number;
}

/** What the threads of the span did in the kernel, as sums: they are there even without kernel spans. */
const Kernel = ({ rows }: { readonly rows: readonly KernelRow[] }) => (
  <table class="small">
    <thead><tr><th>In the kernel</th><th class="number">Times</th><th class="number">Time</th></tr></thead>
    <tbody>
      {rows.map((row) => (
        <tr key={`${row.kind} ${row.name}`}>
          <td><bdi>{row.name}</bdi> <span class="faint">{row.kind}</span></td>
          <td class="number">{count(row.count)}</td><td class="number">{duration(row.total_ns)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const SplitTable = ({ trace, span }: { readonly trace: Trace; readonly span: number }) => {
  const split = splitOf(trace, span);
  const total = splitTotal(split);
  if (!total) return <p class="faint">No time split: the program of this span was not recorded, or publishes no context.</p>;
  const parts = PARTS.map((part, i) => ({ part, ns: split[i] })).filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  return (
    <>
      <SplitBar split={split} />
      <table class="small parts">
        <tbody>
          {parts.map(({ part, ns }) => (
            <tr key={part.key} title={part.what}>
              <td><span class="swatch" style={{ background: `var(--part-${part.key})` }} />{part.name}</td>
              <td class="number">{duration(ns)}</td><td class="number">{percent(ns / total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
};

const More = ({ trace, detail }: { readonly trace: Trace; readonly detail: Detail }) => {
  const { attributes } = detail;
  const { status_message: message, events = [], links = [] } = detail.more ?? {};
  const rows = attributes["fathom.kernel"];
  const originNs = BigInt(trace.beginUnixNs);
  return (
    <>
      {message && <p class="bad"><bdi>{short(message, 1000)}</bdi></p>}
      {Array.isArray(rows) && <Kernel rows={rows as KernelRow[]} />}
      {events.length > 0 && (
        <>
          <h3>Events</h3>
          <ol class="events">
            {events.slice(0, 200).map((event, i) => (
              <li key={i}><span class="faint">{duration(Number(BigInt(event.time_ns) - originNs))}</span> <bdi>{short(event.name, 300)}</bdi>
                {Object.entries(event.attributes).map(([key, value]) => <div key={key} class="faint"><bdi>{key}: {short(textOf(value), 300)}</bdi></div>)}
              </li>
            ))}
          </ol>
        </>
      )}
      {links.length > 0 && (
        <>
          <h3>Links</h3>
          <ul>{links.map((link, i) => <li key={i}><a href={addressOf(["t", link.trace_id], { span: link.span_id })}>span {link.span_id} of trace {link.trace_id}</a></li>)}</ul>
        </>
      )}
      <Attributes title="Attributes" values={attributes} />
      <Attributes title="Program" values={detail.resource} />
      {detail.scope && <p class="faint">made by <bdi>{short(detail.scope)}</bdi></p>}
    </>
  );
};

interface Props {
  readonly session: Session;
  readonly trace: Trace;
  readonly span: number;
  readonly select: (span: number) => void;
  readonly showKernel?: (span: number) => void; // as rows, where there are rows
}

/** What ended a wait, and how long the thread then waited for a CPU. A thread is a link to its spans. */
const Waker = ({ trace, span, detail }: { readonly trace: Trace; readonly span: number; readonly detail: Detail | undefined }) => {
  const name = <bdi>{short(trace.texts[trace.waker[span]], 60)}</bdi>;
  const tid = detail?.attributes["waker.tid"];
  const lateNs = splitOf(trace, span)[partNumber("runnable")];
  const around = (ns: number) => String(BigInt(trace.beginUnixNs) + BigInt(Math.round(ns)));
  return (
    <>
      {typeof tid === "number"
        ? <a href={addressOf(["search"], { q: `thread.id=${tid}`, from: around(trace.begin[span] - 60e9), to: around(trace.end[span] + 60e9) })}>{name}</a> : name}
      {lateNs > 0 && <span class="faint">, {duration(lateNs)} before it had a CPU</span>}
    </>
  );
};

/** By what it is known that a span belongs to its parent: `edge.evidence` of those that fathom made of requests. */
const EVIDENCE: Readonly<Record<string, string>> = {
  given: "given by the application: the span names its parent", bytes: "both ends of a connection have the same bytes",
  goroutine: "the goroutine that read the request, or one that it made", context: "the task that the runtime published",
  thread: "its thread did one thing at a time", wake: "the work was handed over by a wake-up", connect: "the request made the connection",
  sequence: "the only request that could make this call then", order: "the order of the requests that could make this call",
  timing: "the request with the last input: nothing else says it",
};

const evidenceText = (attributes: Readonly<Record<string, unknown>> | undefined): string => {
  const kind = attributes?.["edge.evidence"];
  const text = EVIDENCE[typeof kind === "string" ? kind : "given"] ?? String(kind);
  const sure = Number(attributes?.["edge.probability"] ?? 1);
  const candidates = Number(attributes?.["edge.candidates"] ?? 1);
  return `${text}${sure < 0.995 ? `, ${percent(sure)} sure` : ""}${candidates > 1 ? `, one of ${count(candidates)} that were open` : ""}`;
};

export const Details = ({ session, trace, span, select, showKernel }: Props) => {
  const [detail, setDetail] = useState<{ span: number; detail: Detail } | undefined>();
  useEffect(() => {
    let current = true;
    void session.detail(span).then((found) => current && setDetail({ span, detail: found }));
    return () => {
      current = false;
    };
  }, [span, session]);
  const parent = trace.parent[span];
  const kernel = kernelCount(trace, span);
  const isKernel = trace.kernel[span] !== 0;
  return (
    <section class="details" aria-label="Details">
      <h2><bdi>{short(nameOf(trace, span) || "(no name)", 300)}</bdi></h2>
      <p>
        {isKernel ? <bdi>{short(serviceOf(trace, span))}</bdi> : (
          <a href={addressOf(["o", serviceOf(trace, span), trace.texts[trace.name[span]]])}><bdi>{short(serviceOf(trace, span))}</bdi>: all like this</a>
        )}
        {isKernel && <span class="kind">{KERNEL_KINDS[trace.kernel[span]]}</span>}
        {!isKernel && trace.kind[span] > 1 && <span class="kind">{KINDS[trace.kind[span]]}</span>}
      </p>
      <dl class="facts">
        <div><dt>Duration</dt><dd>{duration(trace.end[span] - trace.begin[span])}</dd></div>
        <div><dt>Own time</dt><dd title="in which no child ran">{duration(trace.ownNs[span])}</dd></div>
        <div><dt>Begins</dt><dd>{duration(trace.begin[span])} after the trace, {moment(Number(trace.beginUnixNs) / 1e6 + trace.begin[span] / 1e6)}</dd></div>
        <div><dt>Span</dt><dd><code>{idOf(trace, span)}</code></dd></div>
        {trace.time && <div><dt>Trace</dt><dd><a href={addressOf(["t", traceIdOf(trace, span)], { span: idOf(trace, span) })}>open it</a></dd></div>}
        {trace.waker[span] > 0 && <div><dt>Woken by</dt><dd><Waker trace={trace} span={span} detail={detail?.span === span ? detail.detail : undefined} /></dd></div>}
        {parent >= 0 && (
          <div><dt>Parent</dt><dd><button class="link" onClick={() => select(parent)}><bdi>{short(nameOf(trace, parent), 60)}</bdi></button> <span class="faint">{isKernel ? "same thread" : <bdi>{evidenceText(detail?.span === span ? detail.detail.attributes : undefined)}</bdi>}</span></dd></div>
        )}
      </dl>
      <SplitTable trace={trace} span={span} />
      {kernel > 0 && showKernel && <p><button onClick={() => showKernel(span)}>Show what it did in the kernel ({count(kernel)})</button></p>}
      {!kernel && showKernel && !trace.hasAllKernel && !isKernel && place.value.query.get("kernel") !== "all" && detail?.detail.attributes["fathom.kernel"] !== undefined && (
        <p><button onClick={() => setQuery({ kernel: "all", span: idOf(trace, span) }, false)}>Read its calls and waits from the recording</button></p>
      )}
      {detail?.span === span && <More trace={trace} detail={detail.detail} />}
    </section>
  );
};

