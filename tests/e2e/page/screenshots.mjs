// SPDX-License-Identifier: Apache-2.0
// Pictures of each view over a recording, in both modes and two widths: screenshots.mjs PACKAGES BASE SERVICE OUT
import { mkdirSync } from "node:fs";
import path from "node:path";
import { openBrowser } from "./browser.mjs";

const [packages, base, service, out] = process.argv.slice(2);
const { browser, page } = await openBrowser(packages, base);
const api = async (name, values) => (await page.request.get(`/api/v1/${name}?${new URLSearchParams(values)}`)).json();

const { operations } = await api("operations", { from: "1h" });
const busiest = operations.filter((o) => o.service === service).sort((a, b) => b.count * b.mean_ns - a.count * a.mean_ns)[0];
const { traces } = await api("search", { service, operation: busiest.operation, from: "1h", sort: "duration", limit: 50 });
const operation = `/o/${encodeURIComponent(service)}/${encodeURIComponent(busiest.operation)}`;
const where = new URLSearchParams({ service, operation: busiest.operation, last: "1h" });

/** The name of a picture, the address, and what is there once it can be taken. */
const VIEWS = [
  ["overview", "/?last=1h", "table.operations tbody tr"],
  ["operation", `${operation}?last=1h`, ".differences li"],
  ["where", `/where?${where}`, ".icicle .box"],
  ["trace", `/t/${traces[0].trace_id}`, "[role=treeitem]"],
  ["trace-sums", `/t/${traces[0].trace_id}?tab=sums`, ".statistics tbody tr"],
  ["trace-path", `/t/${traces[0].trace_id}?tab=path`, ".path-steps tbody tr"],
  ["trace-threads", `/t/${traces[0].trace_id}?tab=threads`, ".lanes"],
  ["search", "/search?last=1h", "table.found tbody tr"],
  ["compare", `/compare?a=${traces[0].trace_id}&b=${traces.at(-1).trace_id}`, ".trees .icicle"],
  ["map", "/map?last=1h", ".map-drawing"],
  ["lanes", `/lanes?from=${BigInt(traces[0].begin_unix_ns) - 200000000n}&to=${BigInt(traces[0].end_unix_ns) + 200000000n}`, ".lane-names li"],
  ["live", "/live", "section.live .found, section.live .empty"],
  ["coverage", "/coverage", "section.coverage h2"],
  ["empty-operation", "/o/none/none", ".empty"],
  ["empty-compare", "/compare", ".empty"],
  ["error-trace", "/t/1", ".empty"],
  ["error-search", "/search?q=rubbish", "[role=alert]"],
];

mkdirSync(out, { recursive: true });
for (const width of [1280, 2560]) {
  await page.setViewportSize({ width, height: width === 1280 ? 800 : 1440 });
  for (const mode of ["light", "dark"]) {
    await page.goto("/");
    await page.evaluate((theme) => localStorage.setItem("fathom.theme", theme), mode);
    for (const [name, address, ready] of VIEWS) {
      await page.goto(address);
      await page.locator(ready).first().waitFor();
      await page.screenshot({ path: path.join(out, `${name}-${mode}-${width}.png`) });
    }
  }
}
console.log(`1..1\nok 1 - pictures are in ${out}`);
await browser.close();
