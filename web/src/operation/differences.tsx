// SPDX-License-Identifier: Apache-2.0
// What is different in the box: one sentence, then each difference by what it explains.
import { addressOf } from "../lib/address";
import { count, difference, lostText, many, short, unbroken } from "../lib/format";
import { type CompareAnswer, type Difference, type Others, othersInAddress, type Selection, toDuration, toNs } from "./data";
import { causesFirst, colourOf, noteOf, sentence, sideText, type Target, telling, titleOf } from "./tell";

interface Props {
  readonly target: Target;
  readonly answer: CompareAnswer;
  readonly selection: Selection;
  readonly others: Others;
}

const rangeOf = (selection: Selection) => ({
  from: toNs(selection.fromMs), to: toNs(selection.toMs),
  least: selection.leastNs ? toDuration(selection.leastNs) : undefined,
  most: selection.mostNs ? toDuration(selection.mostNs) : undefined,
});

/** Where a click on a difference leads: the tree of where time goes, or the traces that have it. */
const addressOfDifference = (d: Difference, target: Target, selection: Selection, others: Others): string => {
  const { from, to, least, most } = rangeOf(selection);
  const common = { service: target.service, operation: target.name, kind: target.kind, from, to };
  if (d.kind === "attribute") {
    const words = [`service:${quoted(target.service)}`, `operation:${quoted(target.name)}`, `${quoted(d.key)}=${quoted(d.value)}`];
    if (selection.leastNs) words.push(`duration>=${toDuration(selection.leastNs)}`);
    return addressOf(["search"], { q: words.join(" "), from, to, sort: "duration" });
  }
  if (d.kind === "call") return addressOf(["o", d.key, d.value], { from, to });
  return addressOf(["where"], { ...common, least, most, compare: "1", ...othersInAddress(others), look: d.kind === "part" ? d.value : d.key, at: d.kind === "place" ? d.value : undefined,
    of: d.kind === "own" ? d.value : undefined });
};

export const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : JSON.stringify(text));

const ROWS_SHOWN = 40;

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

export const Differences = ({ target, answer, selection, others }: Props) => {
  const told = telling(answer.differences, target);
  const rows = (selection.base ? causesFirst(told) : told).slice(0, ROWS_SHOWN);
  const most = Math.max(...rows.map((d) => Math.abs(d.explains_ns)), 1);
  const { a, b } = answer;
  return (
    <>
      <p class="sentence"><bdi>{unbroken(sentence(answer, target))}</bdi></p>
      {rows.length > 0 && (
        <>
          <p class="faint">What each explains of the difference; then a request in the selection / one of the others.</p>
          <ol class="differences">
            {rows.map((d) => <Row key={`${d.kind} ${d.key} ${d.value} ${d.service ?? ""}`} d={d} answer={answer} most={most} href={addressOfDifference(d, target, selection, others)} />)}
          </ol>
        </>
      )}
      <p class="faint">
        A sample: {many(a.spans, "request")} in the selection, {count(b.spans)} others; {count(a.measured)} and {count(b.measured)} have a time split,
        {" "}{count(a.detailed)} and {count(b.detailed)} tell where they waited.
        {a.spans > 0 && !a.detailed && " Their waits are not stored: open one of the longest, and read its waits from the recording on its critical path."}
        {(a.partial || b.partial) && " The search took too long: there may be more."}
        {lostText(a.lost) && ` In the selection: ${lostText(a.lost)}.`}
        {lostText(b.lost) && ` In the others: ${lostText(b.lost)}.`}
      </p>
    </>
  );
};
