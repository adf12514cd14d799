// SPDX-License-Identifier: Apache-2.0
// What tests of the page share: a browser that notes what must not happen, and checks as TAP.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const PATIENCE = 120000; // milliseconds: the machine may be busy

export const packagesOf = (folder) => createRequire(path.resolve(folder, "node_modules/x.js"));

export class Checks {
  number = 0;
  failed = 0;

  equal(name, got, wanted) {
    const [g, w] = [JSON.stringify(got), JSON.stringify(wanted)];
    this.number++;
    this.failed += g === w ? 0 : 1;
    console.log(`${g === w ? "ok" : "not ok"} ${this.number} - ${name.replace(/#/g, "")}`);
    if (g !== w) console.log(`# got ${g}\n# wanted ${w}`);
  }

  end() {
    console.log(`1..${this.number}`);
    process.exitCode = this.failed ? 1 : 0;
  }
}

/** Chromium with a page at `base`; `trouble` gets errors of the console, failed and foreign requests. */
export const openBrowser = async (packages, base, options = {}) => {
  const { chromium } = packagesOf(packages)("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, baseURL: base, ...options });
  const page = await context.newPage();
  const trouble = [];
  let bytes = 0;
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => message.type() === "error" && trouble.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText ?? "";
    if (why !== "net::ERR_ABORTED") trouble.push(`failed: ${request.url()}: ${why}`); // a view that is left stops asking
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== base) trouble.push(`foreign: ${request.url()}`);
  });
  page.on("response", async (response) => {
    bytes += Number(response.headers()["content-length"] ?? 0);
  });
  return { browser, page, trouble, bytesSoFar: () => bytes };
};

/** Violations that axe-core finds, each as a line. */
export const accessibility = async (packages, page) => {
  const source = readFileSync(packagesOf(packages).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
  return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.failureSummary?.split("\n")[1]?.trim() ?? ""}`).join(" | ")}`);
};

/** A duration as the page must show it: three significant digits. */
export const shownDuration = (ns) => {
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns >= 60e9) return undefined;
  const [factor, unit] = ns < 999.5e3 ? [1e3, "µs"] : ns < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  const value = ns / factor;
  return `${value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
};

export const textOf = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();
