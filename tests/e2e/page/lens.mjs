// SPDX-License-Identifier: Apache-2.0
// Searches, opens a trace and looks at dependencies in Zipkin's Lens: lens.mjs PACKAGES BASE TRACE
// TRACE is the one in error, of those that lens.py sends.
import { Checks, openBrowser, textOf } from "./browser.mjs";

const PATIENCE_MS = 60000; // the machine may be busy
const [packages, base, trace] = process.argv.slice(2);
const checks = new Checks();
const { browser, page, trouble } = await openBrowser(packages, base);

const one = (id) => page.getByTestId(id);
const run = () => page.getByRole("button", { name: "Run Query" }).click();
const shown = async () => (await page.locator("tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim()).filter(Boolean);

/** Adds a condition, once its suggestions are those. */
const condition = async (key, suggested, value) => {
  await one("criterion-input").fill(`${key}=`);
  for (const text of suggested) await page.getByText(text, { exact: true }).first().waitFor();
  await one("criterion-input").fill(`${key}=${value}`);
  await one("criterion-input").press("Enter");
};

const search = async () => {
  await page.goto("/zipkin/");
  await run();
  await page.getByText("shop: get /cart").first().waitFor();
  checks.equal("a search shows the newest traces, as many as it asks for", (await shown()).length, 10);
  await page.goto("/zipkin/");
  await one("add-button").click();
  await condition("serviceName", ["shop", "stock"], "stock");
  await condition("spanName", ["get /stock", "select"], "get /stock");
  await condition("remoteServiceName", ["database"], "database");
  await condition("tagQuery", [], "error");
  await run();
  await page.getByText("shop: get /cart").first().waitFor();
  const rows = await shown();
  checks.equal("a search with conditions finds the trace in error", [rows.length, /4 13\.000ms/.test(rows[0])], [1, true]);
  await page.getByRole("link", { name: "Show" }).or(page.getByRole("button", { name: "Show" })).first().click();
  await page.waitForURL(`**/zipkin/traces/${trace}`);
};

const opened = async () => {
  await page.getByText("stock: get /stock").first().waitFor();
  const text = await textOf(page, "body");
  checks.equal("a trace is shown", ["Duration 13ms", "Services 3", "Total Spans 3", `Trace ID ${trace}`, "cache miss", "http.path /cart"].filter((part) => !text.includes(part)), []);
  await page.getByText("stock: get /stock").first().click();
  await page.getByText("sold out").first().waitFor();
  const detail = await textOf(page, "body");
  checks.equal("the halves of a span are one", ["Client Start Address 10.0.0.1 (shop)", "Server Start Address 10.0.0.1 (stock)"].filter((part) => !detail.includes(part)), []);
};

const byId = async () => {
  await page.goto("/zipkin/");
  const field = page.locator("header input:not([type=file])");
  await field.fill(trace.replace(/^0+/, "").toUpperCase());
  await field.press("Enter");
  await page.getByText("stock: get /stock").first().waitFor();
  checks.equal("a trace is found by its id without leading zeros, in capitals", (await textOf(page, "body")).includes(`Trace ID ${trace}`), true);
};

const dependencies = async () => {
  await page.getByText("Dependencies").first().click();
  await one("search-button").click();
  await one("dependencies-graph").waitFor();
  await one("dependencies-graph").locator("input").first().click();
  await page.getByRole("option").first().waitFor();
  checks.equal("dependencies are those of the spans", (await page.getByRole("option").allInnerTexts()).sort(), ["database", "shop", "stock"]);
};

/** A place within the page that is opened by its address. */
const reload = async () => {
  await page.goto("/");
  await page.waitForURL("**/zipkin/");
  await page.goto("/zipkin/dependency");
  await one("search-button").waitFor();
  checks.equal("nothing failed, and nothing else was asked", trouble, []);
  await page.goto("/zipkin/traces/77");
  await page.getByText("No trace found").first().waitFor();
  checks.equal("a trace that is not there is said so", trouble.splice(0).filter((line) => !/status of 404/.test(line)), []);
};

page.setDefaultTimeout(PATIENCE_MS);
for (const step of [search, opened, byId, dependencies, reload])
  await step().catch((error) => checks.equal(`${step.name}: ${String(error).split("\n")[0]}`, false, true));
await browser.close();
checks.end();
