// SPDX-License-Identifier: Apache-2.0
// The view of monitors, over the story of hostile.py: a rule is made, becomes red, is muted and deleted.
import { accessibility, textOf } from "./browser.mjs";

const NAME = "baskets <b>are slow";

export const monitors = async ({ packages, page, checks, trouble }) => {
  const access = async (what) => {
    checks.equal(`monitors, ${what}: axe-core finds nothing`, await accessibility(packages, page), []);
    await page.getByRole("button", { name: "Dark" }).click();
    checks.equal(`monitors, ${what}: nor in dark`, await accessibility(packages, page), []);
    await page.getByRole("button", { name: "Light" }).click();
  };
  const row = () => page.locator("table.monitors tbody tr", { hasText: "baskets" });

  await page.goto("/monitors");
  await page.getByText("Nothing is monitored yet").waitFor();
  await access("empty");
  await page.locator("main").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("n");
  await page.getByLabel("Name", { exact: true }).fill(NAME);
  await page.getByLabel("Service").fill("baskets");
  await page.getByLabel("Operation").fill("GET /basket");
  await page.getByLabel("Over").selectOption("1h");
  await page.getByRole("button", { name: "What would the past week say?" }).click();
  await page.locator(".suggestion").waitFor();
  checks.equal("monitors: a threshold is suggested", /Suggested: [\d.]+(us|ms|s)\. .* would (never )?have been red/.test(await textOf(page, ".suggestion")), true);
  await access("suggestion");
  await page.getByLabel("Threshold").fill("fast");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByText("above 'fast' is no time such as 200ms").waitFor();
  trouble.splice(0, trouble.length, ...trouble.filter((text) => !text.includes("400")));
  await page.getByLabel("Threshold").fill("10ms");
  await page.getByLabel("broken").check();
  await page.getByLabel("Threshold").press("Enter");
  await row().waitFor();
  checks.equal("monitors: it is red", await row().locator(".state-word").innerText(), "Alert");
  const { monitors: [one] } = await (await page.request.get("/api/v1/monitors")).json();
  checks.equal("monitors: the value is that of the API", (await row().locator(".against").innerText()).startsWith(`${(one.now / 1e6).toFixed(1)} ms`), true);
  checks.equal("monitors: the strip says so", /^The last day: red for .*, once$/.test(await row().getByRole("img").getAttribute("aria-label")), true);
  await page.locator(".untold").waitFor();
  checks.equal("monitors: what failed is shown", (await textOf(page, ".untold")).includes("broken: baskets <b>are slow became Alert"), true);
  await access("red");
  await page.locator("header .red-link").click();
  await page.goto("/");
  await page.locator(".red-list").waitFor();
  checks.equal("monitors: the overview has a sign", (await textOf(page, ".red-list")).startsWith(`${NAME} p99 of baskets GET /basket is`), true);
  await page.goBack();
  await row().getByRole("button", { name: /^Mute/ }).press("Enter");
  await row().getByText("muted until").waitFor();
  await row().getByRole("button", { name: /^Change/ }).click();
  checks.equal("monitors: the form has the rule", await page.getByLabel("Threshold").inputValue(), "10ms");
  await page.reload();
  checks.equal("monitors: the address opens the form", await page.getByLabel("Threshold").inputValue(), "10ms");
  await page.getByLabel("Threshold").fill("1h");
  await page.getByRole("button", { name: "Change it" }).click();
  await row().locator(".state-word", { hasText: "OK" }).waitFor();
  page.once("dialog", (dialog) => dialog.accept());
  await row().getByRole("button", { name: /^Delete/ }).click();
  await page.getByText("Nothing is monitored yet").waitFor();
};
