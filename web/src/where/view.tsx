// SPDX-License-Identifier: Apache-2.0
// Where the time of many requests goes, as one tree: the width of a box is its time.
import { useRef } from "preact/hooks";
import { addressOf, place, setQuery } from "../lib/address";
import { ask, query, useAnswer } from "../lib/api";
import { count, duration, many, percent, short } from "../lib/format";
import { useKeys } from "../lib/keys";
import { RangePicker, rangeOf } from "../lib/range";
import { Empty, Shown } from "../lib/states";
import { Legend } from "../parts/bar";
import { PARTS, partNumber } from "../parts/list";
import { Icicle, nameOf, partOf } from "./icicle";
import { DEPTH_SHOWN, findPath, nodeAt, type Node, partsIn, type WhereAnswer } from "./tree";

interface Question {
  readonly service: string;
  readonly operation: string;
  readonly kind: string | undefined;
  readonly from: string;
  readonly to: string | undefined;
}

const load = (question: Question, least: string | undefined, most: string | undefined, abort: AbortSignal) =>
  ask<WhereAnswer>(query("where", { ...question, min_duration: least, max_duration: most }), abort);

interface Longest {
  readonly path: readonly number[];
  readonly node: Node;
  readonly part: string;
}

/** The places and parts with the most time, as a list beside the boxes. */
const longestOf = (root: Node): Longest[] => {
  const list: Longest[] = [];
  const walk = (node: Node, path: readonly number[], part: string) => {
    const mine = partOf(node, part);
    if (node.kind === "place" || (node.kind === "part" && !node.children.length)) list.push({ path, node, part: mine });
    node.children.forEach((child, i) => walk(child, [...path, i], mine));
  };
  walk(root, [], "");
  return list.sort((a, b) => b.node.width_ns - a.node.width_ns).slice(0, 15);
};

const LongestList = ({ root, spans }: { readonly root: Node; readonly spans: number }) => (
  <table class="small longest">
    <thead><tr><th>The longest</th><th>Kind of time</th><th class="number">For each request</th><th class="number">Share</th></tr></thead>
    <tbody>
      {longestOf(root).map(({ path, node, part }) => (
        <tr key={path.join(".")}>
          <td><button class="link" onClick={() => setQuery({ node: path.join(".") }, false)}><bdi>{short(nameOf(node), 100)}</bdi></button>
            {" "}<span class="faint"><bdi>in {short(nameOf(nodeAt(root, path.slice(0, node.kind === "place" ? -2 : -1))), 60)}</bdi></span></td>
          <td><span class="swatch" style={{ background: `var(--part-${part})` }} />{PARTS[partNumber(part)]?.name}</td>
          <td class="number">{duration(node.width_ns / (spans || 1))}</td>
          <td class="number">{percent(node.width_ns / root.width_ns)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

export const Where = () => {
  const { query: parameters } = place.value;
  const range = rangeOf(parameters, "15m");
  const question: Question = {
    service: parameters.get("service") ?? "", operation: parameters.get("operation") ?? "", kind: parameters.get("kind") ?? undefined,
    from: range.from, to: range.to,
  };
  const least = parameters.get("least") ?? undefined;
  const most = parameters.get("most") ?? undefined;
  const compares = parameters.get("compare") === "1" && least !== undefined;
  const key = JSON.stringify([question, least, most]);
  const answer = useAnswer((abort) => load(question, least, most, abort), `where ${key}`);
  const others = useAnswer(compares ? (abort) => load(question, undefined, least, abort) : undefined, `others ${compares} ${key}`);
  const up = useRef(() => {});
  const open = (to: readonly number[]) => setQuery({ node: to.join(".") }, false);
  useKeys([{ keys: ["Backspace", "u"], shown: "u", what: "one level up", run: () => up.current() }]);
  return (
    <section class="where">
      <div class="tools">
        <h1>Where the time goes: <a href={addressOf(["o", question.service, question.operation], { kind: question.kind, from: range.isLive ? null : range.from, to: range.to })}><bdi>{short(question.operation, 80)}</bdi></a> <span class="service"><bdi>{short(question.service, 60)}</bdi></span></h1>
        <RangePicker usual="15m" />
        {least && <label title="Colours what is longer for a request than in those that are shorter"><input type="checkbox" checked={compares} onChange={() => setQuery({ compare: compares ? null : "1" })} /> slow minus normal</label>}
      </div>
      <Shown answer={answer} what="Adding up traces">
        {(found) => {
          const root = found.roots[0];
          if (!root) return <Empty title="No request in this time"><p>Choose a longer time, or other requests.</p></Empty>;
          const node = parameters.get("node");
          const path = node === null ? findPath(root, parameters.get("look") ?? "", parameters.get("at") ?? "", parameters.get("of") ?? "")
            : node.split(".").filter(Boolean).map(Number);
          up.current = () => open(path.slice(0, -1));
          return (
            <>
              <p>{many(found.spans, "request")}{least && ` longer than ${least.replace(/^([\d.]+)us$/, (_, us: string) => duration(Number(us) * 1000))}`}, {duration(root.width_ns / found.spans)} each;
                {" "}{root.detailed ? `places in the kernel are told by ${count(root.detailed)} of them, whose shares stand for all` : "none of them tells a place in the kernel"}
                {found.left_out > 0 && `; ${count(found.left_out)} small boxes are left out`}{found.partial && "; the search took too long, there may be more"}.</p>
              <Icicle root={root} path={path} open={open} normal={compares ? others.value?.roots[0] : undefined} spans={found.spans} normalSpans={others.value?.spans ?? 0} />
              <LongestList root={root} spans={found.spans} />
              <Legend splits={[partsIn(root)]} />
              <p class="unseen">{DEPTH_SHOWN} levels are shown.</p>
            </>
          );
        }}
      </Shown>
    </section>
  );
};
