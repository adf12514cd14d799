// SPDX-License-Identifier: Apache-2.0
// Makes a rule or changes one, with a threshold that the past week suggests.
import { useSignal } from "@preact/signals";
import { useAnswer, ask, query, Refusal } from "../lib/api";
import { clock, count, duration, many, moment } from "../lib/format";
import { unixMs } from "../lib/json";
import { PARTS } from "../parts/list";
import { type Monitor, type Monitors, type Suggestion, pathOf, send, shownValue } from "./data";

const VALUES = [
  ["p99", "p99: 99 of 100 are faster"], ["p95", "p95"], ["p50", "median"], ["average", "average"],
  ["share errors", "share of errors"], ["rate errors", "errors a second"], ["rate", "requests a second"],
  ...PARTS.filter((part) => part.key !== "unknown" && part.key !== "off_thread")
    .flatMap((part): [string, string][] => [[`p99 ${part.key}`, `p99 of the time in ${part.key}`], [`share ${part.key}`, `share of the time in ${part.key}`]]),
] as const;

const OVER = ["1m", "5m", "15m", "1h", "6h"];

interface Fields {
  name: string;
  service: string;
  operation: string;
  kind: string;
  value: string;
  direction: "above" | "below";
  threshold: string;
  warn: string;
  over: string;
  min_count: string;
  notify: readonly string[];
}

const fieldsOf = (monitor: Monitor | undefined, given: URLSearchParams): Fields => ({
  name: monitor?.name ?? "",
  service: monitor?.rule.service ?? given.get("service") ?? "",
  operation: monitor?.rule.operation ?? given.get("operation") ?? "",
  kind: monitor?.rule.kind ?? given.get("kind") ?? "",
  value: monitor?.rule.value ?? given.get("value") ?? "p99",
  direction: monitor?.direction ?? "above",
  threshold: monitor?.rule[monitor.direction] ?? "",
  warn: monitor?.rule.warn ?? "",
  over: monitor?.rule.over ?? "5m",
  min_count: monitor?.rule.min_count ?? "",
  notify: monitor?.notify ?? [],
});

const bodyOf = (fields: Fields, isNew: boolean) => ({
  ...(isNew ? { name: fields.name.trim() } : {}),
  service: fields.service.trim(), operation: fields.operation.trim(), kind: fields.kind, value: fields.value, over: fields.over,
  above: fields.direction === "above" ? fields.threshold.trim() : "", below: fields.direction === "below" ? fields.threshold.trim() : "",
  warn: fields.warn.trim(), min_count: fields.min_count.trim(), notify: fields.notify,
});

/** The value of each day beside the threshold, and what that would have said. */
const Suggested = ({ said, use }: { readonly said: Suggestion; readonly use: (text: string) => void }) => {
  if (said.suggested === undefined || said.text === undefined) return <p>The past week has too few spans of it: no threshold can be suggested.</p>;
  const most = Math.max(said.suggested, ...said.days.map((day) => day.value)) || 1;
  const { text, tried, unit, median = 0, spread = 0 } = said;
  return (
    <div class="suggestion">
      <p>
        The median of {many(said.days.length, "day")} is {shownValue(median, unit)}, the spread {shownValue(spread, unit)}. Suggested: <strong>{text}</strong>.{" "}
        <button type="button" onClick={() => use(text)}>Use {text}</button>
      </p>
      <ul class="days" aria-label="The value of each day">
        {said.days.map((day) => (
          <li key={day.begin_unix_ns}>
            <span class="day">{moment(unixMs(day.begin_unix_ns)).slice(0, 10)}</span>
            <span class="day-bar"><span style={{ width: `${(day.value / most) * 100}%` }} /><i style={{ left: `${(said.suggested! / most) * 100}%` }} /></span>
            <span class="number">{shownValue(day.value, unit)}</span> <span class="faint">{count(day.count)} spans</span>
          </li>
        ))}
      </ul>
      <p>
        {said.alerts
          ? `With ${shownValue(tried, unit)} it would have been red ${said.alerts === 1 ? "once" : `${count(said.alerts)} times`}, for ${duration(said.alert_ns)} in all:`
          : `With ${shownValue(tried, unit)} it would never have been red.`}
        {said.partial && " Not all days could be read in time."}
      </p>
      {said.list.length > 0 && (
        <ul class="fired">
          {said.list.slice(0, 8).map((one) => (
            <li key={one.begin_unix_ns}>{moment(unixMs(one.begin_unix_ns)).slice(0, 16)} to {clock(unixMs(one.end_unix_ns)).slice(0, 5)}, at worst {shownValue(one.value, unit)}</li>
          ))}
        </ul>
      )}
    </div>
  );
};

interface Props {
  readonly monitor: Monitor | undefined; // to change; undefined: to make one
  readonly given: URLSearchParams;
  readonly actions: Monitors["actions"];
  readonly done: () => void;
  readonly cancel: () => void;
}

export const Form = ({ monitor, given, actions, done, cancel }: Props) => {
  const fields = useSignal<Fields>(fieldsOf(monitor, given));
  const wrong = useSignal("");
  const said = useSignal<Suggestion | "asking" | undefined>(undefined);
  const known = useAnswer((abort) => ask<{ operations: { service: string; operation: string }[] }>(query("operations", { from: "24h" }), abort), "known");
  const { name, service, operation, kind, value, direction, threshold, warn, over, min_count: least, notify } = fields.value;
  const set = (change: Partial<Fields>) => { fields.value = { ...fields.value, ...change }; };
  const operations = known.value?.operations ?? [];
  const services = [...new Set(operations.map((row) => row.service))];
  const refuse = (error: unknown) => { wrong.value = error instanceof Refusal ? error.message : String(error); };

  const suggest = async () => {
    said.value = "asking";
    wrong.value = "";
    try {
      said.value = await ask<Suggestion>(query("suggestion", {
        service: service.trim(), operation: operation.trim(), kind, value, over, min_count: least.trim(), direction,
        ...(threshold.trim() ? { [direction]: threshold.trim() } : {}),
      }));
    } catch (error) {
      said.value = undefined;
      refuse(error);
    }
  };
  const save = async (event: Event) => {
    event.preventDefault();
    wrong.value = "";
    try {
      await send(monitor ? "PUT" : "POST", monitor ? pathOf(monitor.name) : "/api/v1/monitors", bodyOf(fields.value, !monitor));
      done();
    } catch (error) {
      refuse(error);
    }
  };

  return (
    <form class="monitor-form" onSubmit={save} aria-label={monitor ? `Change ${monitor.name}` : "New monitor"}>
      <h2>{monitor ? <>Change <bdi>{monitor.name}</bdi></> : "New monitor"}</h2>
      {!monitor && <label>Name <input required maxLength={63} value={name} onInput={(e) => set({ name: e.currentTarget.value })} /></label>}
      <label>Service <input required list="services" value={service} onInput={(e) => set({ service: e.currentTarget.value })} /></label>
      <datalist id="services">{services.map((one) => <option key={one} value={one} />)}</datalist>
      <label>Operation <input list="operations" placeholder="all of the service" value={operation} onInput={(e) => set({ operation: e.currentTarget.value })} /></label>
      <datalist id="operations">
        {operations.filter((row) => row.service === service).map((row) => <option key={row.operation} value={row.operation} />)}
      </datalist>
      {kind && <label>Kind <select value={kind} onChange={(e) => set({ kind: e.currentTarget.value })}>
        <option value={kind}>{kind}</option><option value="">any</option>
      </select></label>}
      <label>Value <select value={value} onChange={(e) => set({ value: e.currentTarget.value })}>
        {!VALUES.some(([key]) => key === value) && <option value={value}>{value}</option>}
        {VALUES.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
      </select></label>
      <label>Over <select value={over} onChange={(e) => set({ over: e.currentTarget.value })}>
        {!OVER.includes(over) && <option value={over}>{over}</option>}
        {OVER.map((one) => <option key={one} value={one}>{one}</option>)}
      </select></label>
      <span role="group" aria-label="Red">Red <select aria-label="Direction" value={direction} onChange={(e) => set({ direction: e.currentTarget.value as "above" | "below" })}>
        <option value="above">above</option><option value="below">below</option>
      </select>{" "}
      <input required aria-label="Threshold" placeholder="200ms, 2% or 5/s" value={threshold} onInput={(e) => set({ threshold: e.currentTarget.value })} /></span>
      <label>Amber from <input placeholder="none" value={warn} onInput={(e) => set({ warn: e.currentTarget.value })} /></label>
      <label>Spans at least <input inputMode="numeric" placeholder={value.startsWith("rate") ? "0" : "20"} value={least} onInput={(e) => set({ min_count: e.currentTarget.value })} /></label>
      <fieldset>
        <legend>Tell</legend>
        {actions.length ? actions.map((action) => (
          <label key={action.name}><input type="checkbox" checked={notify.includes(action.name)}
            onChange={(e) => set({ notify: e.currentTarget.checked ? [...notify, action.name] : notify.filter((one) => one !== action.name) })} /> <bdi>{action.name}</bdi> <span class="faint">{action.kind}</span></label>
        )) : <span class="faint">Nobody: the file of monitors has no webhook and no command.</span>}
      </fieldset>
      {wrong.value && <p class="state failed" role="alert"><bdi>{wrong.value}</bdi></p>}
      <p class="buttons">
        <button type="submit">{monitor ? "Change it" : "Make it"}</button>{" "}
        <button type="button" disabled={!service.trim()} onClick={suggest}>What would the past week say?</button>{" "}
        <button type="button" class="quiet" onClick={cancel}>Cancel</button>
      </p>
      <div role="status">
        {said.value === "asking" ? <p class="faint">Reading the past week …</p>
          : said.value && <Suggested said={said.value} use={(text) => { set({ threshold: text }); void suggest(); }} />}
      </div>
    </form>
  );
};
