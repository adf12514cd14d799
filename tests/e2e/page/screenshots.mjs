// SPDX-License-Identifier: Apache-2.0
// Pictures of each view over a recording, in both modes and two widths: screenshots.mjs PACKAGES BASE OUT
// An operation became slow a while ago. The pictures of the operation and of where its time goes are those that two
// clicks lead to, from the overview on.
import { openBrowser } from "./browser.mjs";
import { picturesOf } from "./pictures.mjs";

const [packages, base, out] = process.argv.slice(2);
const { browser, page } = await openBrowser(packages, base);
const api = async (name, values) => (await page.request.get(`/api/v1/${name}?${new URLSearchParams(values)}`)).json();
const linkOf = async (address, selector) => {
  await page.goto(address);
  return page.locator(selector).first().getAttribute("href");
};

const operation = await linkOf("/", "table.operations tbody tr .name a");
const where = await linkOf(operation, ".differences li a");
const [, , service, name] = new URL(operation, base).pathname.split("/").map(decodeURIComponent);
const { traces } = await api("search", { service, operation: name, from: "5m", sort: "duration", limit: 50 });
const [slow, fast] = [traces[0], traces.at(-1)];
const trace = `/t/${slow.trace_id}`;
const around = new URLSearchParams({ from: BigInt(slow.begin_unix_ns) - 200000000n, to: BigInt(slow.end_unix_ns) + 200000000n });

await picturesOf(page, out, [
  ["overview", "/", "table.operations tbody tr"],
  ["operation", operation, ".differences li"],
  ["operation-whole", `/o/${encodeURIComponent(service)}/${encodeURIComponent(name)}?last=1h`, ".differences li, .panel .sentence"],
  ["where", where, ".icicle .box"],
  ["trace", trace, "[role=treeitem]"],
  ["trace-path", `${trace}?tab=path`, ".path-steps tbody tr"],
  ["trace-threads", `${trace}?tab=threads`, ".lanes"],
  ["trace-sums", `${trace}?tab=sums`, ".statistics tbody tr"],
  ["search", "/search?last=1h", "table.found tbody tr"],
  ["search-filtered", `/search?q=${encodeURIComponent(`service:${service} duration>5ms`)}&last=1h`, "table.found tbody tr, .empty"],
  ["compare-traces", `/compare?a=${slow.trace_id}&b=${fast.trace_id}`, ".trees .icicle"],
  ["compare-sets", `/compare?${new URLSearchParams({ service, operation: name, last: "15m", least: "5ms", base_most: "5ms" })}`, ".trees .icicle, .empty"],
  ["map", "/map?last=1h", ".map-drawing"],
  ["lanes", `/lanes?${around}`, ".lane-names li"],
  ["lanes-cpus", `/lanes?by=cpu&${around}`, ".lane-names li"],
  ["live", "/live", "section.live table.found tbody tr, section.live .empty"],
  ["monitors", "/monitors", ".monitors-view"],
  ["monitors-new", `/monitors?${new URLSearchParams({ new: 1, service, operation: name })}`, ".monitors-view form"],
  ["coverage", "/coverage", "section.coverage h2"],
  ["keys", "/", "table.operations tbody tr", (shown) => shown.keyboard.press("?")],
]);
console.log(`1..1\nok 1 - pictures are in ${out}`);
await browser.close();
