// SPDX-License-Identifier: Apache-2.0
// What is different in the box: one sentence, then each difference by what it explains.
import { addressOf } from "../lib/address";
import { count, difference, duration, many, percent, short, unbroken } from "../lib/format";
import { PARTS, partNumber } from "../parts/list";
import { baseOf, type CompareAnswer, type Difference, type Selection, toDuration, toNs } from "./data";

export interface Target {
  readonly service: string;
  readonly name: string;
  readonly kind: string;
}

interface Props {
  readonly target: Target;
  readonly answer: CompareAnswer;
  readonly selection: Selection;
}

const partName = (key: string): string => PARTS[partNumber(key)]?.name ?? key;

const share = (n: number, of: number): number => (of ? n / of : 0);

/** What one request of a side has of it: time, or how many requests have it. */
const sideText = (d: Difference, side: "a" | "b", answer: CompareAnswer): string => {
  const base = baseOf(answer[side], d.kind);
  return d.kind === "attribute" ? percent(share(d[side].count, base)) : base ? duration(d[side].mean_ns) : "–";
};

const titleOf = (d: Difference): string => {
  if (d.kind === "part") return partName(d.value);
  if (d.kind === "attribute") return `${d.key} = ${d.value}`;
  return d.kind === "place" ? partName(d.value) : d.value;
};

const noteOf = (d: Difference): string => {
  if (d.kind === "place") return partName(d.key);
  if (d.kind === "call") return `calls ${d.key}`;
  return d.kind === "part" ? "kind of time" : "attribute";
};

const colourOf = (d: Difference): string | undefined => {
  const part = d.kind === "part" ? d.value : d.kind === "place" ? d.key : "";
  return part ? `var(--part-${part})` : undefined;
};

const rangeOf = (selection: Selection) => ({
  from: toNs(selection.fromMs), to: toNs(selection.toMs),
  least: selection.leastNs ? toDuration(selection.leastNs) : undefined,
  most: selection.mostNs ? toDuration(selection.mostNs) : undefined,
});

/** Where a click on a difference leads: the tree of where time goes, or the traces that have it. */
const addressOfDifference = (d: Difference, target: Target, selection: Selection): string => {
  const { from, to, least, most } = rangeOf(selection);
  const common = { service: target.service, operation: target.name, kind: target.kind, from, to };
  if (d.kind === "attribute") {
    const words = [`service:${quoted(target.service)}`, `operation:${quoted(target.name)}`, `${quoted(d.key)}=${quoted(d.value)}`];
    if (selection.leastNs) words.push(`duration>=${toDuration(selection.leastNs)}`);
    return addressOf(["search"], { q: words.join(" "), from, to, sort: "duration" });
  }
  if (d.kind === "call") return addressOf(["o", d.key, d.value], { from, to });
  return addressOf(["where"], { ...common, least, most, look: d.kind === "part" ? d.value : d.key, at: d.kind === "place" ? d.value : undefined });
};

export const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : JSON.stringify(text));

/** The first of each kind that makes the sentence. */
const sentence = ({ a, b, differences }: CompareAnswer): string => {
  const more = a.mean_ns - b.mean_ns;
  if (!a.spans) return "No request is in the selection.";
  if (!b.spans) return "All requests are in the selection: there is nothing to compare with.";
  if (more <= 0) return `They take ${duration(a.mean_ns)}, no longer than the others (${duration(b.mean_ns)}).`;
  const part = differences.find((d) => d.kind === "part" && d.explains_ns > 0);
  const where = differences.find((d) => d.kind === "place" && d.explains_ns > 0 && d.value !== d.key && (!part || d.key === part.value));
  const callee = differences.filter((d) => d.kind === "call" && d.explains_ns > 0.6 * more).pop(); // the one farthest down
  const who = differences.find((d) => d.kind === "attribute" && d.explains_ns > 0.2 * more);
  let text = `${difference(more)} for each request (${duration(a.mean_ns)} against ${duration(b.mean_ns)})`;
  if (part) text += `; ${percent(Math.min(1, part.explains_ns / more))} of it is ${partName(part.value)}`;
  if (where) text += `, in ${where.value}`;
  if (callee) text += `; meanwhile ${short(callee.value, 60)} of ${short(callee.key, 60)} takes ${difference(callee.explains_ns)}`;
  if (who) text += `; ${percent(share(who.a.count, a.spans))} have ${who.key} = ${short(who.value, 60)}, ${percent(share(who.b.count, b.spans))} of the others`;
  return `${text}.`;
};

const ROWS_SHOWN = 40;
const VALUES_SHOWN = 3; // of an attribute: one with many values would hide the rest

/** Without what explains next to nothing, and with a few values of each attribute. */
const telling = (differences: readonly Difference[]): Difference[] => {
  const most = Math.max(...differences.map((d) => Math.abs(d.explains_ns)), 0);
  const values = new Map<string, number>();
  return differences.filter((d) => {
    if (Math.abs(d.explains_ns) < most / 200) return false;
    if (d.kind !== "attribute") return true;
    values.set(d.key, (values.get(d.key) ?? 0) + 1);
    return (values.get(d.key) ?? 0) <= VALUES_SHOWN;
  });
};

const Row = ({ d, answer, most, href }: { readonly d: Difference; readonly answer: CompareAnswer; readonly most: number; readonly href: string }) => (
  <li class={d.explains_ns < 0 ? "less" : undefined} data-kind={d.kind}>
    <a href={href}>
      <span class="difference-bar" style={{ width: `${(Math.abs(d.explains_ns) / most) * 100}%`, background: colourOf(d) }} />
      <span class="difference-text">
        <bdi>{short(titleOf(d), 90)}</bdi> <span class="faint"><bdi>{short(noteOf(d), 50)}</bdi></span>
      </span>
      <span class="difference-numbers">
        <strong>{difference(d.explains_ns)}</strong> <span class="faint">{sideText(d, "a", answer)} / {sideText(d, "b", answer)}</span>
      </span>
    </a>
  </li>
);

export const Differences = ({ target, answer, selection }: Props) => {
  const rows = telling(answer.differences).slice(0, ROWS_SHOWN);
  const most = Math.max(...rows.map((d) => Math.abs(d.explains_ns)), 1);
  const { a, b } = answer;
  return (
    <>
      <p class="sentence"><bdi>{unbroken(sentence(answer))}</bdi></p>
      {rows.length > 0 && (
        <>
          <p class="faint">What each explains of the difference; then a request in the selection / one of the others.</p>
          <ol class="differences">
            {rows.map((d) => <Row key={`${d.kind} ${d.key} ${d.value}`} d={d} answer={answer} most={most} href={addressOfDifference(d, target, selection)} />)}
          </ol>
        </>
      )}
      <p class="faint">
        A sample: {many(a.spans, "request")} in the selection, {count(b.spans)} others; {count(a.measured)} and {count(b.measured)} have a time split,
        {" "}{count(a.detailed)} and {count(b.detailed)} tell where they waited.
        {(a.partial || b.partial) && " The search took too long: there may be more."}
      </p>
    </>
  );
};
