// SPDX-License-Identifier: Apache-2.0
// Where the time of many requests goes, as one tree: the width of a box is its time.
import { useRef } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { ask, query, useAnswer } from "../lib/api";
import { count, difference, duration, lostText, many, percent, short, unbroken } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { Empty, Shown } from "../lib/states";
import { Legend } from "../parts/bar";
import { PARTS, partNumber } from "../parts/list";
import { Icicle } from "./icicle";
import { grownSentence, nameOf } from "./tell";
import { DEPTH_SHOWN, findPath, growth, type Growth, type Leaf, leavesOf, type Node, partsIn, type WhereAnswer } from "./tree";

interface Question {
  readonly service: string;
  readonly operation: string;
  readonly kind: string | undefined;
  readonly from: string;
  readonly to: string | undefined;
}

/** What the requests are compared to; undefined: to the shorter ones of the same time. */
const readBase = (parameters: URLSearchParams): { readonly from: string; readonly to: string; readonly most: string | undefined } | undefined => {
  const from = parameters.get("base_from");
  const to = parameters.get("base_to");
  return from && to ? { from, to, most: parameters.get("base_most") ?? undefined } : undefined;
};

const load = (question: Question, least: string | undefined, most: string | undefined, abort: AbortSignal) =>
  ask<WhereAnswer>(query("where", { ...question, min_duration: least, max_duration: most }), abort);

const LEAVES_SHOWN = 15;
const SHARE_LEAST = 0.001;

interface LeavesProps {
  readonly root: Node;
  readonly spans: number;
  readonly grown: ReadonlyMap<Node, Growth> | undefined;
}

/** The places and parts with the most time, or that grew most, as a list beside the boxes. */
const Leaves = ({ root, spans, grown }: LeavesProps) => {
  const grew = (leaf: Leaf): number => grown?.get(leaf.node)?.grewNs ?? 0;
  const leaves = leavesOf(root).filter((leaf) => leaf.node.width_ns >= SHARE_LEAST * root.width_ns).sort((a, b) => grew(b) - grew(a) || b.node.width_ns - a.node.width_ns).slice(0, LEAVES_SHOWN);
  return (
    <table class="small longest">
      <thead><tr><th>{grown ? "What grew" : "The longest"}</th><th>Kind of time</th>{grown && <th class="number">Grew by</th>}<th class="number">For each request</th><th class="number">Share</th></tr></thead>
      <tbody>
        {leaves.map((leaf) => (
          <tr key={leaf.path.join(".")}>
            <td><button class="link" onClick={() => setQuery({ node: leaf.path.join(".") }, false)}><bdi>{short(nameOf(leaf.node), 100)}</bdi></button>
              {" "}<span class="faint"><bdi>in {short(nameOf(leaf.span), 60)}</bdi></span></td>
            <td><span class="swatch" style={{ background: `var(--part-${leaf.part})` }} />{PARTS[partNumber(leaf.part)]?.name}</td>
            {grown && <td class="number">{difference(grew(leaf))}</td>}
            <td class="number">{duration(leaf.node.width_ns / (spans || 1))}</td>
            <td class="number">{percent(leaf.node.width_ns / root.width_ns)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};

export const Where = () => {
  const { query: parameters } = place.value;
  const range = rangeOf(parameters, "15m");
  const question: Question = {
    service: parameters.get("service") ?? "", operation: parameters.get("operation") ?? "", kind: parameters.get("kind") ?? undefined,
    from: range.from, to: range.to,
  };
  const least = parameters.get("least") ?? undefined;
  const most = parameters.get("most") ?? undefined;
  const base = readBase(parameters);
  const compares = parameters.get("compare") === "1" && (least ?? base) !== undefined;
  const key = JSON.stringify([question, least, most]);
  const answer = useAnswer((abort) => load(question, least, most, abort), `where ${key}`);
  const others = useAnswer(compares ? (abort) => load({ ...question, ...base }, undefined, base ? base.most : least, abort) : undefined,
    `others ${compares} ${key} ${JSON.stringify(base)}`);
  const up = useRef(() => {});
  const open = (to: readonly number[]) => setQuery({ node: to.join(".") }, false);
  useKeys([{ keys: ["Backspace", "u"], shown: "u", what: "one level up", run: () => up.current() }]);
  return (
    <section class="where">
      <div class="tools">
        <h1>Where the time goes: <a href={addressOf(["o", question.service, question.operation], { kind: question.kind, from: range.isLive ? null : range.from, to: range.to })}><bdi>{short(question.operation, 80)}</bdi></a> <span class="service"><bdi>{short(question.service, 60)}</bdi></span></h1>
        <RangePicker usual="15m" />
        {(least ?? base) && <label title="Shows what is longer for a request than for the others"><input type="checkbox" checked={compares} onChange={() => setQuery({ compare: compares ? null : "1" })} /> slow minus normal</label>}
      </div>
      <Shown answer={answer} what="Adding up traces">
        {(found) => {
          const root = found.roots[0];
          if (!root) return <Empty title="No request in this time"><p>Choose a longer time, or other requests.</p></Empty>;
          const node = parameters.get("node");
          const path = node === null ? findPath(root, parameters.get("look") ?? "", parameters.get("at") ?? "", parameters.get("of") ?? "")
            : node.split(".").filter(Boolean).map(Number);
          up.current = () => open(path.slice(0, -1));
          const normal = compares ? others.value?.roots[0] : undefined;
          const normalSpans = others.value?.spans ?? 0;
          const grown = normal && growth(root, normal, found.spans, normalSpans);
          return (
            <>
              {grown && <p class="sentence"><bdi>{unbroken(grownSentence(root, path, grown, node === null ? parameters.get("look") ?? "" : ""))}</bdi></p>}
              <p>{many(found.spans, "request")}{least && ` longer than ${least.replace(/^([\d.]+)us$/, (_, us: string) => duration(Number(us) * 1000))}`}, {duration(root.width_ns / found.spans)} each;
                {" "}{root.detailed ? `places in the kernel are told by ${count(root.detailed)} of them, whose shares stand for all` : "none of them tells a place in the kernel"}
                {found.left_out > 0 && `; ${count(found.left_out)} small boxes are left out`}{found.partial && "; the search took too long, there may be more"}
                {lostText(found.lost) && `; ${lostText(found.lost)}, so some of it may be missing here`}.</p>
              <Icicle root={root} path={path} open={open} normal={normal} spans={found.spans} normalSpans={normalSpans} />
              <Leaves root={root} spans={found.spans} grown={grown} />
              <Legend splits={[partsIn(root)]} />
              <p class="unseen">{DEPTH_SHOWN} levels are shown.</p>
            </>
          );
        }}
      </Shown>
    </section>
  );
};
