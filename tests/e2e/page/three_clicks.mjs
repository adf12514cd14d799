// SPDX-License-Identifier: Apache-2.0
// Follows only what the page puts first, from the overview on, until a sentence names the cause and the object of a
// fault: three_clicks.mjs PACKAGES BASE FAULT
import { Checks, openBrowser, textOf } from "./browser.mjs";

const PATIENCE_MS = 60000; // the machine may be busy
const CLICKS_MOST = 3;
const [packages, base, fault] = process.argv.slice(2);

/** What the sentence must say: the kind of time, and at what. */
const NAMED = {
  lock: [/\block\b/, /futex, woken by worker/],
  fsync: [/\bdisk\b/, /fsync on \/\S*\/videos\/\.journal/],
  peer: [/\bnetwork\b/, /recvfrom on 127\.0\.0\.1:\d+ \(thumbnailer-rights\)/],
  quota: [/CPU quota/, /CPU quota of \/\S*thumbnailer/],
}[fault];

const checks = new Checks();
const { browser, page, trouble } = await openBrowser(packages, base);

/** The first thing of each view, in the order in which they are clicked. */
const FIRST = ["table.operations tbody tr .name a", ".differences li a", '.icicle .box[aria-level="2"]'];

let said = []; // by the page, on the last way

/** Clicks until the sentence is there: the number of clicks, or undefined. */
const follow = async () => {
  said = [];
  await page.goto("/");
  await page.locator(FIRST[0]).first().waitFor();
  for (let clicks = 1; clicks <= CLICKS_MOST; clicks++) {
    const first = page.locator(FIRST[clicks - 1]).first();
    await first.waitFor({ timeout: 30000 });
    said.push(`click ${clicks}: ${(await first.innerText()).replace(/\s+/g, " ").slice(0, 100)}`);
    await first.click();
    await page.locator(".sentence").first().waitFor({ timeout: 30000 });
    const sentence = (await textOf(page, ".sentence")).replace(/\u00a0/g, " ");
    said.push(sentence);
    if (NAMED.every((word) => word.test(sentence))) return clicks;
  }
  return undefined;
};

/** What somebody needs who looks for the reason of a failure: the first rows, and the differences of the first. */
const tellMore = async () => {
  await page.goto("/");
  const rows = page.locator("table.operations tbody tr");
  await rows.first().waitFor();
  for (const row of (await rows.allInnerTexts()).slice(0, 5)) console.log(`# row: ${row.replace(/\s+/g, " ").slice(0, 150)}`);
  await page.locator(FIRST[0]).first().click();
  await page.locator(FIRST[1]).first().waitFor();
  for (const text of (await page.locator(FIRST[1]).allInnerTexts()).slice(0, 10)) console.log(`# difference: ${text.replace(/\s+/g, " ")}`);
};

const until = Date.now() + PATIENCE_MS;
let clicks;
do {
  // the last requests of the fault may not be stored yet
  clicks = await follow().catch((error) => void said.push(String(error).split("\n")[0]));
} while (!clicks && Date.now() < until);
for (const line of said) console.log(`# ${line}`);
if (!clicks) await tellMore();
checks.equal(`${fault}: ${CLICKS_MOST} clicks lead to its cause and object`, clicks !== undefined, true);
if (clicks) console.log(`# ${fault}: found after ${clicks} click${clicks > 1 ? "s" : ""}`);
// a server on a busy machine may refuse an answer now and then: the page asks again
checks.equal(`${fault}: no error in the console`, trouble.filter((line) => !/status of 503/.test(line)), []);
await browser.close();
checks.end();
