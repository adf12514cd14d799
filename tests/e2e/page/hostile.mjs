// SPDX-License-Identifier: Apache-2.0
// The page with nothing to show, with hostile spans, and with a server that goes: hostile.mjs PACKAGES BASE
// The test that runs it acts when it reads a line that begins with "!", and answers with a line.
import { createInterface } from "node:readline";
import { accessibility, Checks, openBrowser, textOf } from "./browser.mjs";

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

const empty = async () => {
  await page.goto("/");
  await page.getByText("No request ended in the").waitFor();
  checks.equal("empty: it says how to begin", await page.getByText("OTEL_EXPORTER_OTLP_ENDPOINT").isVisible(), true);
  checks.equal("empty: axe-core finds nothing", await accessibility(packages, page), []);
  await page.goto("/t/00000000000000000000000000000001");
  await page.getByText("There is no such trace").waitFor();
  await page.goto("/no/such/view");
  await page.getByText("There is no such view").waitFor();
  for (const address of ["/o/none/none", "/where?service=none&operation=none", "/search", "/search?q=service:none", "/live"]) {
    await page.goto(address);
    await page.locator(".empty").waitFor();
  }
};

const hostile = async (traces) => {
  await page.goto("/");
  await page.locator("table.operations tbody tr").first().waitFor();
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

try {
  await empty();
  const traces = JSON.parse(await act("send"));
  await hostile(traces);
  await story();
  await large(traces.large);
  await live();
  checks.equal("no error in the console, no request that fails, none to another host", trouble.filter((text) => !text.includes("404")), []);
  await gone();
  await guarded();
} catch (error) {
  checks.equal(`at ${page.url()}`, String(error), "");
}
await browser.close();
checks.end();
process.exit();
