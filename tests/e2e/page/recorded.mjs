// SPDX-License-Identifier: Apache-2.0
// Reads the page as a person would, over a recording: recorded.mjs PACKAGES BASE SERVICE FATHOM RECORDING
import { execFileSync } from "node:child_process";
import { accessibility, Checks, openBrowser, shownDuration, textOf } from "./browser.mjs";

const FIRST_LOAD_BYTES = 150 * 1024;
const [packages, base, service, fathom, recording] = process.argv.slice(2);
const checks = new Checks();
const { browser, page, trouble, bytesSoFar } = await openBrowser(packages, base);

/** An answer, with times since 1970 as texts: they have more digits than a number. */
const api = async (path) => JSON.parse((await (await page.request.get(path)).text()).replace(/(_ns":)(\d{16,})/g, '$1"$2"'));

/** What a command says of the same recording. */
const told = (command, ...options) => JSON.parse(execFileSync(fathom, [command, recording, ...options, "--json"], { maxBuffer: 1 << 28 }).toString());

const lengthOf = (span) => Number(BigInt(span.end_unix_ns) - BigInt(span.begin_unix_ns));

/** axe-core, in both modes. */
const checkAccess = async (view) => {
  checks.equal(`${view}: axe-core finds nothing`, await accessibility(packages, page), []);
  await page.getByRole("button", { name: "Dark" }).click();
  checks.equal(`${view}: nor in dark`, await accessibility(packages, page), []);
  await page.getByRole("button", { name: "Light" }).click();
};

const overview = async () => {
  await page.goto("/?last=1h");
  await page.locator("table.operations tbody tr").first().waitFor();
  checks.equal(`the first load takes less than ${FIRST_LOAD_BYTES} bytes`, bytesSoFar() < FIRST_LOAD_BYTES, true);
  console.log(`# first load: ${bytesSoFar()} bytes, with the answers of the API`);
  const operationsOf = async (range) => (await api(`/api/v1/operations?${new URLSearchParams({ service, ...range })}`)).operations;
  const operations = await operationsOf({ from: "3600s" });
  const { operation: name, kind } = operations.sort((a, b) => b.count * b.mean_ns - a.count * a.mean_ns)[0];
  const row = page.locator(`tr[data-service=${JSON.stringify(service)}][data-operation=${JSON.stringify(name)}]`).first();
  const range = await row.evaluate(({ dataset: { from, to } }) => ({ from, to }));
  const busiest = (await operationsOf(range)).find((o) => o.operation === name && o.kind === kind);
  checks.equal("overview: p99 of an operation", (await row.locator(".p99").innerText()).split("\n")[0], shownDuration(busiest.p99_ns));
  // of this service: the host has others, which may begin and end meanwhile
  checks.equal("overview: every operation has a row", await page.locator(`table.operations tbody tr[data-service=${JSON.stringify(service)}]`).count(),
    operations.length);
  const parts = await row.locator(".bar").first().locator(".bar-part").evaluateAll((list) => list.map((part) => part.dataset.part));
  checks.equal("overview: the bar has the parts of the split", parts,
    ["user", "kernel", "cpu", "runnable", "throttled", "disk", "network", "lock", "timer", "ipc", "fault", "child", "other", "idle", "off_thread", "unknown"]
      .filter((part) => busiest.time[`${part}_ns`] > 0));
  await checkAccess("overview");
  await row.locator(".name a").click();
  return busiest;
};

const operation = async ({ operation: name, kind }) => {
  await page.locator(".sentence").waitFor();
  if (new URL(page.url()).searchParams.has("sel")) await page.getByRole("button", { name: "the slowest instead" }).click(); // it was worse than before
  checks.equal("operation: its name", (await textOf(page, "h1")).startsWith(name), true);
  const { total } = await api(`/api/v1/heatmap?${new URLSearchParams({ service, operation: name, kind, from: "3600s" })}`);
  checks.equal("operation: numbers", [await textOf(page, "[data-fact=count]"), await textOf(page, "[data-fact=p99]")],
    [String(total.count).replace(/\B(?=(\d{3})+$)/g, " "), shownDuration(total.p99_ns)]);
  checks.equal("operation: a sentence says what is different", /for each request|no longer than/.test(await textOf(page, ".sentence")), true);
  await page.locator(".differences li").first().waitFor();
  await checkAccess("operation");
  const map = await page.locator(".heat").boundingBox();
  await page.mouse.move(map.x + 100, map.y + 20);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width - 5, map.y + map.height - 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForURL(/sel=/);
  await page.getByText("the slowest instead").waitFor();
  checks.equal("operation: a box is told in words", /^Requests .* to /.test(await textOf(page, ".panel h2")), true);
  await page.goBack();
  await page.getByText("The slowest ").waitFor();
  checks.equal("operation: back takes the box away", new URL(page.url()).searchParams.has("sel"), false);
  await page.locator('.differences li[data-kind="part"] a').first().click();
};

const where = async () => {
  await page.locator(".icicle .box").first().waitFor();
  checks.equal("where: kinds of time have boxes", await page.locator(".icicle .box[data-part]").count() > 0, true);
  checks.equal("where: the longest places are listed", await page.locator(".longest tbody tr").count() > 0, true);
  const widths = await page.locator('.icicle .box[aria-level="2"]').evaluateAll((list) => list.map((box) => parseFloat(box.style.width)));
  const all = widths.reduce((sum, width) => sum + width, 0);
  checks.equal("where: the boxes below have the width of the one above", all > 97 && all < 100.5, true);
  await checkAccess("where");
};

/** The view of an operation says what `fathom report` says. */
const numbers = async ({ operation: name, kind }) => {
  const row = told("report", "--service", service, "--by", "name").rows.find((r) => r.key === name);
  await page.goto(`/o/${encodeURIComponent(service)}/${encodeURIComponent(name)}?${new URLSearchParams({ kind, last: "1h" })}`);
  await page.locator("[data-fact=count]").waitFor();
  checks.equal("operation: as many as fathom report counts", await textOf(page, "[data-fact=count]"), String(row.count).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  const of = (await api(`/api/v1/operations?${new URLSearchParams({ service, from: "3600s" })}`)).operations.find((o) => o.operation === name && o.kind === kind);
  const means = Object.fromEntries(Object.entries(row.time).filter(([, ns]) => ns > 0).map(([part, ns]) => [part, Math.floor(ns / row.count)]));
  checks.equal("operation: its mean time in each part is that of fathom report",
    [of.mean_ns, Object.fromEntries(Object.entries(of.time).filter(([, ns]) => ns > 0))], [Math.floor(row.total_ns / row.count), means]);
  // the store rounds a quantile up by 1.6 % at most, the report by a tenth of a percent
  const near = (a, b) => Math.abs(a / b - 1) < 0.02;
  checks.equal("operation: its quantiles are those of fathom report", ["p50_ns", "p95_ns", "p99_ns"].filter((key) => !near(of[key], row[key])), []);
};

/** The details of a span say what `fathom trace` says. */
const sameSpan = async (id, chosen) => {
  const span = told("trace", id).traces.flatMap((t) => t.spans).find((s) => s.span_id === chosen.span_id);
  checks.equal("trace: the duration is that of fathom trace", await textOf(page, ".facts dd"), shownDuration(span.end_ns - span.begin_ns));
  const wanted = Object.values(span.time).filter((ns) => ns > 0).sort((a, b) => b - a).map(shownDuration);
  checks.equal("trace: so are the parts of its split", await page.locator(".details .parts tr").evaluateAll((rows) => rows.map((row) => row.querySelector("td.number").textContent)), wanted);
};

const trace = async ({ operation: name }) => {
  const { traces } = await api(`/api/v1/search?${new URLSearchParams({ service, operation: name, from: "3600s", sort: "duration", limit: 1 })}`);
  const { spans } = await api(`/api/v1/traces/${traces[0].trace_id}`);
  await page.goto(`/t/${traces[0].trace_id}`);
  await page.locator("[role=treeitem]").first().waitFor();
  const times = (key) => spans.map((s) => BigInt(s[key])).sort((a, b) => (a < b ? -1 : 1));
  const took = Number(times("end_unix_ns").at(-1) - times("begin_unix_ns")[0]);
  checks.equal("trace: its duration", await textOf(page, ".trace-head .big"), shownDuration(took));
  const application = spans.filter((s) => (s.attributes["fathom.kind"] ?? "context") === "context");
  checks.equal("trace: its spans", (await textOf(page, ".trace-head p")).includes(`${application.length} span`), true);
  const selected = () => page.locator("[role=treeitem][aria-selected=true]").getAttribute("id");
  const first = await selected();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/span=/);
  checks.equal("trace: a key goes to the next span", (await selected()) !== first, true);
  const address = page.url();
  const chosen = spans.find((s) => s.span_id === new URL(address).searchParams.get("span"));
  checks.equal("trace: details of the span", await textOf(page, ".facts dd"), shownDuration(lengthOf(chosen)));
  const parts = Object.entries(chosen.attributes).filter(([key]) => key.startsWith("fathom.time."));
  checks.equal("trace: its split is in the details", await page.locator(".details .parts tr").count(), parts.length);
  await sameSpan(traces[0].trace_id, chosen);
  await page.keyboard.press("w");
  await page.waitForURL(/view=/);
  await page.reload();
  await page.locator("[role=treeitem][aria-selected=true]").waitFor();
  checks.equal("trace: the address opens at the same span", new URL(page.url()).searchParams.get("span"), chosen.span_id);
  await page.keyboard.press("/");
  await page.keyboard.type("no-such-word-in-it");
  await page.locator(".trace .tools [role=status]", { hasText: /^0 spans$/ }).waitFor();
  await page.locator(".trace input[type=search]").fill(name);
  await page.locator(".trace .tools [role=status]", { hasText: /^[1-9]/ }).waitFor();
  checks.equal("trace: find counts", /^[1-9]\d* spans?$/.test(await textOf(page, ".trace .tools [role=status]")), true);
  await checkAccess("trace");
  await page.getByRole("button", { name: "Sums" }).click();
  await page.getByRole("button", { name: "Kind of time" }).click();
  checks.equal("trace: sums by kind of time", await page.locator(".statistics tbody tr").count() > 0, true);
};

const path = async () => {
  const { spans, critical } = await api(`/api/v1/traces/${new URL(page.url()).pathname.split("/").at(-1)}`);
  const root = spans.find((s) => s.span_id === critical.span_id);
  const sum = critical.steps.reduce((ns, step) => ns + lengthOf(step), 0);
  checks.equal("path: its steps sum to the duration", sum, lengthOf(root));
  // waits are stored of slow requests and of samples: this may be another one
  checks.equal("path: it is told by waits only if there are some", critical.known_by === "spans" || spans.some((s) => s.attributes["fathom.kind"] === "wait"), true);
  await page.getByRole("button", { name: "Critical path" }).click();
  await page.locator(".path-steps tbody tr").first().waitFor();
  checks.equal("path: steps say what was waited for", /waited: |ran in |ran on a CPU|was ready|its waits are not stored|in \d+ pieces/.test(await page.locator(".path-steps").innerText()), true);
  checks.equal("path: a sentence says what has the most of it", /% of the critical path is /.test(await textOf(page, ".trace-head .sentence")), true);
  await checkAccess("path");
};

const threads = async () => {
  await page.getByRole("button", { name: "Threads" }).click();
  await page.locator(".lane-names li").first().waitFor();
  const { spans, resources } = await api(`/api/v1/traces/${new URL(page.url()).pathname.split("/").at(-1)}`);
  const shown = spans.filter((s) => ["context", "wait", undefined].includes(s.attributes["fathom.kind"]));
  const known = shown.filter((s) => s.attributes["fathom.tid"] ?? s.attributes["thread.id"]);
  const tids = new Set(known.map((s) => `${resources[s.resource].attributes["process.pid"]} ${s.attributes["fathom.tid"] ?? s.attributes["thread.id"]}`));
  checks.equal("threads: each that is known has a lane", await page.locator(".lane-names li").count(), tids.size);
  await checkAccess("threads");
  await page.getByRole("link", { name: "all threads of this time" }).click();
  await page.getByRole("heading", { name: /^Threads/ }).waitFor();
  await page.locator(".lane-names li").first().waitFor();
  checks.equal("lanes: at least the threads of the trace", await page.locator(".lane-names li").count() >= tids.size, true);
  await page.keyboard.press("w");
  await page.waitForURL(/view=/);
  await checkAccess("lanes");
  await page.keyboard.press("c");
  await page.locator(".lane-names li", { hasText: "CPU" }).first().waitFor();
  checks.equal("cpus: each has a lane that says how busy it was", (await page.locator(".lane-names li").allInnerTexts()).every((text) => /^CPU \d+\s+[\d.]+ % busy/.test(text)), true);
  await checkAccess("cpus");
};

/** A wait says what ended it. */
const wakers = async () => {
  const { traces } = await api(`/api/v1/search?${new URLSearchParams({ service, from: "3600s", sort: "duration", limit: 200 })}`);
  for (const { trace_id: id } of traces) {
    const { spans } = await api(`/api/v1/traces/${id}`);
    const woken = spans.find((s) => s.attributes["waker.tid"]);
    if (!woken) continue;
    await page.goto(`/t/${id}?span=${woken.span_id}`);
    await page.locator(".details .facts").getByText("Woken by").waitFor();
    checks.equal("trace: a wait says what ended it", (await page.locator(".row.selected .waker").innerText()), `woken by ${woken.attributes.waker.replace(/\/(\d+)$/, " $1")}`);
    return;
  }
  checks.equal("trace: no wait says what ended it", traces.length, "a wait that does");
};

const compare = async ({ operation: name }) => {
  const { traces } = await api(`/api/v1/search?${new URLSearchParams({ service, operation: name, from: "3600s", sort: "duration", limit: 1 })}`);
  await page.goto(`/t/${traces[0].trace_id}`);
  await page.locator(".tools").getByRole("link", { name: "Compare" }).click();
  await page.locator(".traces a").first().click();
  await page.locator(".trees .icicle").nth(1).waitFor();
  const { a, b } = Object.fromEntries(new URL(page.url()).searchParams);
  const answer = await api(`/api/v1/compare?${new URLSearchParams({ trace: a, base_trace: b })}`);
  checks.equal("compare: the durations", (await page.locator(".facts dd").allInnerTexts()).map((text) => text.split(", ")[1]),
    [shownDuration(answer.a.mean_ns), shownDuration(answer.b.mean_ns)]);
  await checkAccess("compare");
};

const coverage = async () => {
  await page.goto("/coverage");
  await page.getByText("What fathom itself takes").waitFor();
  const { processes, capture } = await api("/api/v1/status");
  checks.equal("coverage: every process of fathom has a row", await page.locator("section.coverage table").last().locator("tbody tr").count(), processes.length);
  checks.equal("coverage: what was lost is said", await page.getByText("Nothing was lost since the start").count(), capture.lost ? 0 : 1);
  await checkAccess("coverage");
};

const search = async () => {
  await page.goto("/search?last=1h");
  await page.locator("table.found tbody tr").first().waitFor();
  await page.locator(".filter-line input").fill("rubbish");
  await page.keyboard.press("Enter");
  await page.getByText("is no filter").waitFor();
  await page.locator(".filter-line input").fill(`service:${service} duration>1us`);
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=service/);
  await page.locator("table.found tbody tr").first().waitFor();
  const { traces } = await api(`/api/v1/search?${new URLSearchParams({ service, min_duration: "1us", from: "3600s", sort: "duration", limit: 50 })}`);
  await page.getByText(new RegExp(`^${traces.length} traces?`)).waitFor();
  // what was found before is shown until the answer is there
  await page.locator("table.found tbody tr").first().filter({ hasText: shownDuration(Number(traces[0].value)) }).waitFor();
  checks.equal("search: the longest is first", await textOf(page, "table.found tbody td"), shownDuration(Number(traces[0].value)));
  await checkAccess("search");
};

/** A request that began before the recording did: what is missing stands on top. */
const losses = async () => {
  const { running_ns: running, addresses } = JSON.parse(execFileSync(fathom, ["status", "-o", recording, "--json"]).toString());
  const ms = Date.now(), id = "e".repeat(32), begin = `${ms - Math.ceil(running / 1e6) - 5000}000000`, end = `${ms - 4000}000000`;
  const span = { traceId: id, spanId: "e".repeat(16), name: "began early", startTimeUnixNano: begin, endTimeUnixNano: end };
  await fetch(`http://${addresses["otlp-http"]}/v1/traces`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  });
  for (const until = Date.now() + 60000; (await page.request.get(`/api/v1/traces/${id}`)).status() !== 200 && Date.now() < until;) await page.waitForTimeout(200);
  const notes = () => page.getByRole("list", { name: "What is missing" }).locator("li").allInnerTexts();
  const unknown = /^for \d.* s of its time it is not known what was recorded$/;
  await page.goto(`/t/${id}`);
  await page.locator("[role=treeitem]").first().waitFor();
  checks.equal("losses: a trace says of which part of its time nothing is known", (await notes()).filter((note) => unknown.test(note)).length, 1);
  await page.goto(`/lanes?from=${begin}&to=${end}`);
  await page.locator(".lane-names li").first().waitFor();
  checks.equal("losses: so do threads", (await notes()).filter((note) => unknown.test(note)).length, 1);
  await checkAccess("losses");
};

try {
  const busiest = await overview();
  await operation(busiest);
  await where();
  await numbers(busiest);
  await trace(busiest);
  await path();
  await threads();
  await wakers();
  await compare(busiest);
  await coverage();
  await search();
  await losses();
  await page.locator("main").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  checks.equal("? lists the keys", (await page.getByRole("dialog").innerText()).includes("go to the overview"), true);
} catch (error) {
  checks.equal(`at ${page.url()}`, String(error), "");
}
checks.equal("no error in the console, no request that fails, none to another host", trouble, []);
await browser.close();
checks.end();
