// SPDX-License-Identifier: Apache-2.0
// Two traces, or two sets of requests: what differs, the most first, and both trees side by side.
import { useState } from "preact/hooks";
import { addressOf, go, place, setQuery } from "../lib/address";
import { useAnswer } from "../lib/api";
import { clock, count, difference, duration, many, percent, short, unbroken } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { Empty, Shown } from "../lib/states";
import { Legend } from "../parts/bar";
import { baseOf, type CompareAnswer, type Difference } from "../operation/data";
import { colourOf, noteOf, sentence, sideText, type Target, telling, titleOf } from "../operation/tell";
import { Icicle } from "../where/icicle";
import { type Node, partsIn } from "../where/tree";
import { type Compared, load, loadOthers, pick, type Question, readQuestion, swapped } from "./data";

const ROWS_SHOWN = 60;
const OTHERS_SHOWN = 9;

const BIN = 7; // pixels

/** How many requests have how much of it; both sides of a row have the same axis. */
const Distribution = ({ d, side, name }: { readonly d: Difference; readonly side: "a" | "b"; readonly name: string }) => {
  const ends = [...d.a.bins, ...d.b.bins].map(([end]) => Math.round(Math.log2(end)));
  const [first, last] = [Math.min(...ends), Math.max(...ends)];
  const most = Math.max(...d[side].bins.map(([, spans]) => spans), 1);
  if (d.a.count <= 1 && d.b.count <= 1) return null; // two traces: the bar says all
  if (!d[side].bins.length) return null;
  const text = d[side].bins.map(([end, spans]) => `${duration(end / 2)} to ${duration(end)}: ${count(spans)}`).join("; ");
  return (
    <svg class="distribution" width={(last - first + 1) * BIN} height={16} role="img" aria-label={`${name}: ${text}`}>
      <title>{text}</title>
      {d[side].bins.map(([end, spans]) => (
        <rect key={end} x={(Math.round(Math.log2(end)) - first) * BIN} y={16 - Math.max(1, (spans / most) * 16)} width={BIN - 1} height={Math.max(1, (spans / most) * 16)} />
      ))}
    </svg>
  );
};

/** What one side has of it as a bar, with the same scale in all rows. */
const Side = ({ d, side, answer, most }: { readonly d: Difference; readonly side: "a" | "b"; readonly answer: CompareAnswer; readonly most: number }) => {
  const base = baseOf(answer[side], d.kind);
  const width = d.kind === "attribute" ? (base ? d[side].count / base : 0) : Math.min(1, d[side].mean_ns / most);
  const spans = d.kind === "attribute" ? "" : `${count(d[side].count)} of ${count(base)} have it`;
  return (
    <td class="side" title={spans}>
      <span class="side-bar"><span style={{ width: `${width * 100}%`, background: colourOf(d) }} /></span>
      <span class="side-text">{sideText(d, side, answer)} <Distribution d={d} side={side} name={`${side.toUpperCase()}, ${titleOf(d).slice(0, 100)}`} /></span>
    </td>
  );
};

const Table = ({ answer, target }: { readonly answer: CompareAnswer; readonly target: Target | undefined }) => {
  const rows = telling(answer.differences, target).slice(0, ROWS_SHOWN);
  const most = Math.max(...rows.map((d) => Math.max(d.a.mean_ns, d.b.mean_ns)), 1);
  if (!rows.length) return <p class="faint">Nothing tells them apart.</p>;
  return (
    <table class="compared">
      <thead><tr><th>What differs</th><th class="number">Explains</th><th>A: a request has</th><th>B: a request has</th></tr></thead>
      <tbody>
        {rows.map((d) => (
          <tr key={`${d.kind} ${d.key} ${d.value} ${d.service ?? ""}`} data-kind={d.kind} class={d.explains_ns < 0 ? "less" : undefined}>
            <td><bdi>{short(titleOf(d), 110)}</bdi> <span class="faint"><bdi>{short(noteOf(d), 60)}</bdi></span></td>
            <td class="number"><strong>{difference(d.explains_ns)}</strong></td>
            <Side d={d} side="a" answer={answer} most={most} />
            <Side d={d} side="b" answer={answer} most={most} />
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const pathOf = (name: string): number[] => (place.value.query.get(name) ?? "").split(".").filter(Boolean).map(Number);

const Trees = ({ compared }: { readonly compared: Compared }) => {
  const [a, b] = compared.trees;
  const byDifference = place.value.query.get("colour") === "difference";
  const mean = (node: Node | undefined, i: number) => (node?.width_ns ?? 0) / (compared.spans[i] || 1);
  const most = Math.max(mean(a, 0), mean(b, 1), 1);
  const tree = (node: Node | undefined, other: Node | undefined, i: 0 | 1, name: string) => (
    <div class="tree">
      <h3>{name}: {node ? duration(mean(node, i)) : "nothing"}</h3>
      {node && (
        <div style={{ width: `${Math.max(15, (mean(node, i) / most) * 100)}%` }}>
          <Icicle name={`Tree ${name}`} root={node} path={pathOf(`node_${name.toLowerCase()}`)} normal={byDifference ? other : undefined}
            open={(to) => setQuery({ [`node_${name.toLowerCase()}`]: to.join(".") }, false)} spans={compared.spans[i]} normalSpans={compared.spans[1 - i]} />
        </div>
      )}
    </div>
  );
  return (
    <>
      <div class="tools trees-head">
        <h2>Both trees, at one scale</h2>
        <label title="Red is longer than in the other tree, green is shorter; a dashed box exists in one of them"><input type="checkbox" checked={byDifference}
          onChange={() => setQuery({ colour: byDifference ? null : "difference" })} /> colour what differs</label>
      </div>
      <div class="trees">
        {tree(a, b, 0, "A")}
        {tree(b, a, 1, "B")}
      </div>
      {!byDifference && <Legend splits={[a, b].flatMap((node) => (node ? [partsIn(node)] : []))} />}
    </>
  );
};

const Sides = ({ question, compared }: { readonly question: Question; readonly compared: Compared }) => {
  const { a, b } = compared.answer;
  const one = (name: string, id: string, side: CompareAnswer["a"]) => (
    <div><dt>{name}</dt><dd>{id ? <a href={addressOf(["t", id])}><code>{id.slice(0, 16)}</code></a> : many(side.spans, "request")}, {duration(side.mean_ns)}{id ? "" : " each"}
      {side.measured < side.spans && <span class="faint">, {percent(side.measured / (side.spans || 1))} with a time split</span>}</dd></div>
  );
  const ids = question.kind === "traces" ? [question.a, question.b] : ["", ""];
  return <dl class="facts wide">{one("A", ids[0], a)}{one("B", ids[1], b)}</dl>;
};

const TraceForm = ({ a }: { readonly a: string }) => {
  const [first, setFirst] = useState(a);
  const [second, setSecond] = useState("");
  return (
    <form class="tools" onSubmit={(event) => { event.preventDefault(); if (first.trim()) go(addressOf(["compare"], { a: first.trim(), b: second.trim() })); }}>
      <label>Trace A <input type="text" spellcheck={false} value={first} onInput={(event) => setFirst(event.currentTarget.value)} /></label>
      <label>Trace B <input type="text" spellcheck={false} value={second} onInput={(event) => setSecond(event.currentTarget.value)} /></label>
      <button>Compare</button>
    </form>
  );
};

/** Traces of the same operation, of which one is chosen as B. */
const Others = ({ a }: { readonly a: string }) => {
  const answer = useAnswer((abort) => loadOthers(a, abort), `others of ${a}`);
  return (
    <Shown answer={answer} what="Looking for traces of the same operation">
      {({ root, found }) => (
        <>
          <h2>Compare with another {root ? <bdi>{short(root.name, 80)}</bdi> : "trace"} of the last day</h2>
          {found.length ? (
            <ol class="traces">
              {pick(found, OTHERS_SHOWN).map((trace) => (
                <li key={trace.id}><a href={addressOf(["compare"], { a, b: trace.id })}>{duration(trace.ns)} <span class="faint">{clock(trace.beginMs, true)}, {many(trace.spans, "span")}</span></a></li>
              ))}
            </ol>
          ) : <p class="faint">There is no other.</p>}
          <p class="faint">They go from the shortest to the longest of the newest {count(found.length)}.</p>
        </>
      )}
    </Shown>
  );
};

const Result = ({ question, compared }: { readonly question: Question; readonly compared: Compared }) => {
  const root = compared.trees[0];
  const target = root && { service: root.service ?? "", name: root.name, kind: "" };
  if (!compared.answer.a.spans && !compared.answer.b.spans) {
    return <Empty title="No request is in either set"><p>Choose a longer time, or other requests.</p></Empty>;
  }
  return (
    <>
      <Sides question={question} compared={compared} />
      <p class="sentence"><bdi>{unbroken(sentence(compared.answer, target))}</bdi></p>
      <Table answer={compared.answer} target={target} />
      <Trees compared={compared} />
    </>
  );
};

export const Compare = () => {
  const { query } = place.value;
  const range = rangeOf(query, "1h");
  const question = readQuestion(query, range);
  const isReady = question.kind === "traces" || question.kind === "sets";
  const answer = useAnswer(isReady ? (abort) => load(question, abort) as Promise<Compared> : undefined, `compare ${JSON.stringify(question)}`);
  useKeys([{ keys: ["x"], shown: "x", what: "swap both sides", run: () => setQuery(swapped(place.value.query, question), false) }]);
  const { kind } = question;
  return (
    <section class="compare">
      <div class="tools">
        <h1>{kind === "sets" ? <>Two sets of <a href={addressOf(["o", question.service, question.operation])}><bdi>{short(question.operation, 80)}</bdi></a> <span class="service"><bdi>{short(question.service, 60)}</bdi></span></> : "Two traces"}</h1>
        {isReady && <button onClick={() => setQuery(swapped(place.value.query, question), false)} title="Swap both sides (x)">Swap A and B</button>}
        {kind === "sets" && <RangePicker usual="1h" />}
      </div>
      {kind === "nothing" && (
        <Empty title="Nothing to compare yet">
          <p>An operation compares its slow requests with the others, and a trace has a button that compares it. Or give the ids of two traces:</p>
          <TraceForm a="" />
        </Empty>
      )}
      {kind === "one" && <><TraceForm key={question.a} a={question.a} /><Others a={question.a} /></>}
      {isReady && <Shown answer={answer} what="Comparing">{(compared) => <Result question={question} compared={compared} />}</Shown>}
    </section>
  );
};
