// SPDX-License-Identifier: Apache-2.0
// The page with nothing to show, with hostile spans, and with a server that goes: hostile.mjs PACKAGES BASE
// The test that runs it acts when it reads a line that begins with "!", and answers with a line.
import { createInterface } from "node:readline";
import { accessibility, Checks, openBrowser, textOf } from "./browser.mjs";
import { monitors } from "./monitors.mjs";
import { picturesOf } from "./pictures.mjs";

const [packages, base] = process.argv.slice(2);
const checks = new Checks();
const { browser, page, trouble } = await openBrowser(packages, base);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something, and waits until it is done. */
const act = async (what) => {
  console.log(`!${what}`);
  return (await lines.next()).value;
};

const rows = () => page.locator("[role=treeitem]");
const names = async () => rows().allInnerTexts();

const sets = "service=none&operation=none";

/** Pictures of each view with nothing to show, with errors, and with the extreme; nothing is checked. */
const pictures = async (out) => {
  await picturesOf(page, out, [
    ["empty-overview", "/", ".empty"], ["empty-operation", "/o/none/none", ".empty"], ["empty-where", `/where?${sets}`, ".empty"],
    ["empty-search", "/search", ".empty"], ["empty-live", "/live", ".empty"], ["empty-map", "/map", ".empty"],
    ["empty-compare", "/compare", ".empty"], ["empty-compare-sets", `/compare?${sets}`, ".empty"], ["empty-lanes", "/lanes", "section.state, .state"],
    ["empty-monitors", "/monitors", ".monitors-view"], ["empty-coverage", "/coverage", "section.coverage"],
    ["error-trace", "/t/1", ".empty"], ["error-view", "/no/such/view", "main h1, main h2"], ["error-search", "/search?q=rubbish", "[role=alert]"],
    ["error-compare", "/compare?a=1&b=2", "[role=alert], .empty"],
  ]);
  const traces = JSON.parse(await act("send"));
  await act("story");
  await act("chain");
  await picturesOf(page, out, [
    ["extreme-overview", "/?last=1h", "table.operations tbody tr"], ["extreme-search", "/search?last=1h", "table.found tbody tr"],
    ["extreme-names", `/t/${traces.names}`, "[role=treeitem]"], ["extreme-siblings", `/t/${traces.siblings}`, "[role=treeitem]"],
    ["extreme-deep", `/t/${traces.deep}?span=${traces.deepest}`, "[role=treeitem][aria-selected=true]"],
    ["extreme-times", `/t/${traces.times}`, "[role=treeitem]"], ["extreme-large", `/t/${traces.large}`, "[role=treeitem]"],
    ["extreme-map", "/map?last=1h", ".map-drawing, .empty"],
  ]);
  await page.goto("/?last=1h");
  await page.locator("table.operations tbody tr").first().waitFor();
  await act("stop");
  await page.locator(".stale").first().waitFor();
  await page.screenshot({ path: `${out}/error-gone-dark-2560.png` });
  await act("start");
  await page.goto(await act("token"));
  await page.getByText("This server asks for its token").waitFor();
  await page.screenshot({ path: `${out}/error-token-light-2560.png` });
};

const empty = async () => {
  await page.goto("/");
  await page.getByText("No request ended in the").waitFor();
  checks.equal("empty: it says how to begin", await page.getByText("OTEL_EXPORTER_OTLP_ENDPOINT").isVisible(), true);
  checks.equal("empty: axe-core finds nothing", await accessibility(packages, page), []);
  await page.goto("/t/00000000000000000000000000000001");
  await page.getByText("There is no such trace").waitFor();
  await page.goto("/no/such/view");
  await page.getByText("There is no such view").waitFor();
  for (const address of ["/o/none/none", "/where?service=none&operation=none", "/search", "/search?q=service:none", "/live", "/map", "/compare",
    "/compare?service=none&operation=none"]) {
    await page.goto(address);
    await page.locator(".empty").waitFor();
  }
  await page.goto("/lanes");
  await page.getByText("No thread had a span then").waitFor();
  await page.goto("/coverage");
  await page.getByText("Nobody sent a span yet").waitFor();
  checks.equal("empty: nothing was lost", await page.getByText("Nothing was lost since the start").isVisible(), true);
  await page.goto("/compare?a=1&b=2");
  await page.getByText("no span has this trace id").waitFor();
};

const hostile = async (traces) => {
  await page.goto("/?name=hostile");
  await page.locator("table.operations tbody tr").first().waitFor();
  checks.equal("the answer that came with the page is taken", await page.evaluate(() => [performance.getEntriesByType("resource").some(({ name }) => name.includes("/overview")),
    document.getElementById("answer") === null]), [false, true]);
  checks.equal("a name ends no block of the page", (await page.locator("table.operations .name").allInnerTexts()).filter((text) => /^(<\/script>|a\s?b<\/SCRIPT ><!--<script>)/.test(text)).length, 2);
  checks.equal("nothing of the overview ran", await page.evaluate(() => "pwned" in window), false);
  checks.equal("names are text: no element is made of them", await page.locator("main img, main script, main iframe").count(), 0);
  await page.goto(`/t/${traces.names}`);
  await rows().first().waitFor();
  const shown = await names();
  checks.equal("markup is shown as it is", shown.some((text) => text.includes("<img src=x onerror=")), true);
  checks.equal("a long name does not make the page wider", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  checks.equal("nothing of it ran", await page.evaluate(() => "pwned" in window), false);
  await page.goto(`/t/${traces.circle}`);
  await rows().first().waitFor();
  checks.equal("a circle of parents is shown once", (await names()).filter((text) => /^[▾▸]?\s*(one|two)/.test(text)).length, 2);
  await page.goto(`/t/${traces.siblings}`);
  await rows().first().waitFor();
  checks.equal("5000 like siblings are one row", (await names()).filter((text) => text.includes("×5 000") || text.includes("×5\u202f000")).length, 1);
  await page.goto(`/t/${traces.deep}?span=${traces.deepest}`);
  await page.locator("[role=treeitem][aria-selected=true]").waitFor();
  checks.equal("2000 levels: the span of the address is seen", await page.locator("[role=treeitem][aria-selected=true]").getAttribute("aria-level"), "2000");
  await page.goto(`/t/${traces.times}`);
  await rows().first().waitFor();
  checks.equal("a day: the head says so", await textOf(page, ".trace-head .big"), "24 h 00 m");
  checks.equal("what is missing stands on top", await page.locator(".trace-head .notes li").allInnerTexts().then((list) => [
    list.some((text) => text.includes("a parent that is not here")), list.some((text) => text.includes("no span has a time split"))]), [true, true]);
  checks.equal("trace: axe-core finds nothing", await accessibility(packages, page), []);
};

/** Two clicks, on what the page puts first, lead to the cause and the object. */
const story = async () => {
  await act("story");
  await page.goto("/");
  await page.locator("tr.worse").first().waitFor();
  checks.equal("story: what became worse is first", await textOf(page, "tbody tr .name a"), "GET /basket baskets");
  checks.equal("story: the headline says so", (await textOf(page, ".headline")).startsWith("1 operation is worse"), true);
  await page.locator("tbody tr .name a").first().click();
  await page.locator(".sentence").waitFor();
  checks.equal("story: the sentence has cause and object", /lock, in futex on \/srv\/basket\.db; .*tenant = big/.test(await textOf(page, ".sentence")), true);
  console.log(`# ${await textOf(page, ".sentence")}`);
  await page.locator(".differences li a").first().click();
  await page.locator('.icicle .box[data-part="lock"]').first().waitFor();
  checks.equal("story: where has the place", (await page.locator(".icicle").innerText()).includes("futex on /srv/basket.db"), true);
};

/** The shares of the boxes right below the topmost one, in percent. */
const sharesBelow = async (tree) => tree.locator('.box[aria-level="2"]').evaluateAll((list) => list.map((box) => parseFloat(box.style.width)));

/** A client waits for a server, which waits for a CPU: the time is the server's, in each view. */
const chain = async () => {
  const [slow, fast] = (await act("chain")).split(" ");
  await page.goto("/o/front/GET%20%2Fimage?last=5m");
  await page.locator(".sentence").waitFor();
  checks.equal("chain: the sentence names the deepest cause", /waiting for a CPU in decode of thumbnailer/.test(await textOf(page, ".sentence")), true);
  console.log(`# ${await textOf(page, ".sentence")}`);
  checks.equal("chain: the time of the whole request, with the service that it called",
    /waiting for a CPU .* user code .* network/.test(await textOf(page, ".charts .chart-title:has-text('services that it called')")), true);
  await page.getByRole("link", { name: "Both side by side" }).click();
  await page.locator(".trees .icicle").nth(1).waitFor();
  checks.equal("compare: the first difference", await textOf(page, ".compared tbody td"), "waiting for a CPU kind of time");
  const shares = await sharesBelow(page.locator(".trees .tree").first());
  checks.equal("compare: what lies below a box has all of its width", [shares.length > 1, Math.round(shares.reduce((sum, share) => sum + share, 0))], [true, 100]);
  checks.equal("compare: axe-core finds nothing", await accessibility(packages, page), []);
  await page.goto(`/compare?a=${slow}`);
  await page.locator(".traces a").first().click();
  await page.waitForURL(/b=/);
  await page.goto(`/compare?a=${slow}&b=${fast}`);
  await page.locator(".sentence").waitFor();
  checks.equal("compare: two traces", /\(92\.0 ms against 12\.0 ms\); 100 % of it is waiting for a CPU in decode/.test((await textOf(page, ".sentence")).replace(/\u00a0/g, " ")), true);
  await page.keyboard.press("x");
  await page.locator(".sentence", { hasText: "no longer than" }).waitFor();
  checks.equal("compare: a key swaps the sides", new URL(page.url()).searchParams.get("a"), fast);
};

const lanes = async () => {
  await page.goto("/lanes?from=5m&to=1s");
  await page.locator(".lane-names li").first().waitFor();
  checks.equal("lanes: of the threads that spans tell", await page.locator(".lane-names li").count(), 2);
  await page.keyboard.press("w");
  await page.waitForURL(/view=/);
  await page.keyboard.press("0");
  await page.waitForURL((url) => !url.searchParams.has("view"));
  await page.locator(".lane-names button").first().click();
  await page.locator(".details").getByRole("link", { name: "open it" }).waitFor();
  checks.equal("lanes: axe-core finds nothing", await accessibility(packages, page), []);
};

/** Where there are too many waits they are drawn together, until a closer look asks for those that are seen. */
const closer = async () => {
  const [from, to] = (await act("waits")).split(" ");
  await page.goto(`/lanes?from=${from}&to=${to}`);
  const together = page.getByText("are too many to be told apart");
  await together.waitFor();
  checks.equal("closer: the thread has a lane", await page.locator(".lane-names li").count(), 1);
  const asked = page.waitForRequest((request) => request.url().includes("/lanes/columns") && !request.url().includes(`from=${from}&to=${to}`));
  for (let i = 0; i < 5; i++) await page.keyboard.press("w");
  const parameters = new URL((await asked).url()).searchParams;
  const length = (query) => Number(BigInt(query.get("to")) - BigInt(query.get("from")));
  checks.equal("closer: a shorter time is asked for", length(parameters) < Number(BigInt(to) - BigInt(from)) / 2, true);
  await together.waitFor({ state: "detached" });
  checks.equal("closer: the lane is still there", await page.locator(".lane-names li").count(), 1);
  checks.equal("closer: axe-core finds nothing", await accessibility(packages, page), []);
  await page.keyboard.press("0");
  await together.waitFor();
};

const map = async () => {
  await page.goto("/map?last=5m");
  await page.locator(".calls tbody tr", { hasText: "front" }).waitFor();
  checks.equal("map: the row of a call", (await textOf(page, ".calls tbody tr:has-text('front')")).startsWith("front thumbnailer"), true);
  checks.equal("map: what is not sure is dashed", await page.locator("path.call.unsure").count(), 1);
  checks.equal("map: axe-core finds nothing", await accessibility(packages, page), []);
  await page.locator(".map-drawing a", { hasText: "thumbnailer" }).click();
  await page.waitForURL(/focus=thumbnailer/);
  checks.equal("map: a click shows a service and its neighbours", await page.locator(".service-box").count(), 2);
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => !url.searchParams.has("focus"));
};

const large = async (id) => {
  const begin = Date.now();
  await page.goto(`/t/${id}`);
  await rows().first().waitFor();
  console.log(`# 20000 spans: ${Date.now() - begin} ms until rows are seen`);
  checks.equal("only the rows that are seen exist", await rows().count() < 100, true);
};

const live = async () => {
  await page.goto("/live");
  await page.getByText("Waiting for spans").waitFor();
  let sent = 0;
  for (const end = Date.now() + 120000; !(await page.locator("table.found tbody tr").count()) && Date.now() < end; sent++) await act("live");
  checks.equal("live: a span is shown", (await textOf(page, "table.found tbody tr td:nth-child(2)")).startsWith("told live"), true);
  checks.equal("live: axe-core finds nothing", await accessibility(packages, page), []);
};

/** What was there stays while the server is gone, and comes back by itself. */
const gone = async () => {
  await page.goto("/");
  await page.locator("table.operations tbody tr").first().waitFor();
  await act("stop");
  await page.locator(".stale table.operations").waitFor();
  checks.equal("gone: it says so", await page.getByText("The server does not answer. It is asked again").isVisible(), true);
  await act("start");
  await page.locator(".stale").waitFor({ state: "detached" });
  checks.equal("it comes back by itself", await page.locator("table.operations tbody tr").count() > 0, true);
};

const guarded = async () => {
  await page.goto(await act("token"));
  await page.getByText("This server asks for its token").waitFor();
  await page.getByLabel("Token").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("This server asks for its token").waitFor();
  await page.getByLabel("Token").fill("open-sesame");
  await page.keyboard.press("Enter");
  await page.getByText("No request ended in the").waitFor();
  checks.equal("token: with it, the page works", await page.locator("header .health").innerText(), "0 spans");
};

const all = async () => {
  await empty();
  const traces = JSON.parse(await act("send"));
  await hostile(traces);
  await story();
  await chain();
  await lanes();
  await closer();
  await map();
  await monitors({ packages, page, checks, trouble });
  await large(traces.large);
  await live();
  checks.equal("no error in the console, no request that fails, none to another host", trouble.filter((text) => !text.includes("404")), []);
  await gone();
  await guarded();
};

try {
  await (process.env.FATHOM_SCREENSHOTS ? pictures(process.env.FATHOM_SCREENSHOTS) : all());
} catch (error) {
  checks.equal(`at ${page.url()}`, String(error), "");
}
await browser.close();
checks.end();
process.exit();
