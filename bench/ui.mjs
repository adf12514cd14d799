// SPDX-License-Identifier: Apache-2.0
// Measures the page in Chromium: ui.mjs PACKAGES WHAT BASE ... prints one line of JSON.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const [packages, what, base, ...rest] = process.argv.slice(2);
const { chromium } = createRequire(path.resolve(packages, "node_modules/x.js"))("playwright-core");
const PATIENCE = 120000;
const SLOWED = 4; // times: the CPU of a phone, or of a busy laptop

const open = async (options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, baseURL: base, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  return { context, page, devtools: await context.newCDPSession(page) };
};

/** Notes in the page when an element first stood there in a frame: milliseconds since the begin of the navigation. */
const noteFirst = (page, selector) => page.addInitScript((wanted) => {
  const look = () => {
    if (!document.querySelector(wanted)) return void requestAnimationFrame(look);
    requestAnimationFrame(() => { window.benchShown = performance.now(); }); // the frame after it was drawn
  };
  requestAnimationFrame(look);
}, selector);

const shownAfter = async (page) => {
  // by the page itself: its policy lets nobody wait for a text of JavaScript
  const ms = await page.evaluate(() => new Promise((resolve) => {
    const look = () => (window.benchShown ? resolve(window.benchShown) : setTimeout(look, 10));
    look();
  }));
  return ms / 1000;
};

/** The first load with an empty cache and a slowed CPU, and its bytes as they come over the wire. */
const load = async (rounds) => {
  const result = { seconds: [], files: 0, all: 0 };
  for (let i = 0; i < rounds; i++) {
    const { context, page, devtools } = await open();
    const urls = new Map();
    let files = 0, all = 0;
    await devtools.send("Network.enable");
    await devtools.send("Network.setCacheDisabled", { cacheDisabled: true });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWED });
    devtools.on("Network.requestWillBeSent", ({ requestId, request }) => urls.set(requestId, request.url));
    devtools.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      all += encodedDataLength;
      if (!new URL(urls.get(requestId) ?? base).pathname.startsWith("/api/")) files += encodedDataLength;
    });
    await noteFirst(page, "table.operations tbody tr");
    await page.goto("/?last=1h");
    result.seconds.push(await shownAfter(page));
    result.files = Math.max(result.files, files);
    result.all = Math.max(result.all, all);
    await context.close();
  }
  return result;
};

/** Gaps of requestAnimationFrame while something is done, in milliseconds. */
const framesOf = async (page, act) => {
  await page.evaluate(() => {
    window.benchGaps = [];
    let last = performance.now();
    const tick = (now) => {
      window.benchGaps.push(now - last);
      last = now;
      window.benchTick = requestAnimationFrame(tick);
    };
    window.benchTick = requestAnimationFrame(tick);
  });
  await act();
  const gaps = (await page.evaluate(() => {
    cancelAnimationFrame(window.benchTick);
    return window.benchGaps;
  })).slice(2);
  return { perSecond: 1000 / (gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length), longest: Math.max(...gaps) };
};

const wheel = async (page, x, y, times) => {
  for (let i = 0; i < times; i++) {
    await page.mouse.wheel(x, (Math.floor(i / 15) % 2 ? -1 : 1) * y);
    await page.waitForTimeout(16);
  }
};

/** Private memory of the process that has the page, in bytes. */
const memoryOf = async () => {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const privateOf = (pid) => {
    try {
      return [...readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce((sum, m) => sum + 1024 * Number(m[1]), 0);
    } catch {
      return 0; // it ended meanwhile
    }
  };
  return Math.max(...processInfo.filter((p) => p.type === "renderer").map((p) => privateOf(p.id)));
};

/** A large trace: its first rows, scrolling, zooming, finding, memory. */
const trace = async (rounds, id) => {
  const result = { seconds: [], scroll: [], zoom: [], find: [], bytes: [], lanes: [] };
  for (let i = 0; i < rounds; i++) {
    const { context, page } = await open();
    await noteFirst(page, "[role=treeitem]");
    await page.goto(`/t/${id}`);
    result.seconds.push(await shownAfter(page));
    const box = await page.locator("[role=tree]").first().boundingBox();
    await page.mouse.move(box.x + box.width - 300, box.y + 200);
    result.scroll.push(await framesOf(page, () => wheel(page, 0, 400, 90)));
    await page.keyboard.down("Control");
    result.zoom.push(await framesOf(page, () => wheel(page, 0, 60, 90)));
    await page.keyboard.up("Control");
    await page.evaluate(() => {
      const input = document.querySelector(".trace input[type=search]");
      window.benchFound = new Promise((resolve) => {
        const begin = performance.now();
        const look = () => (/\d/.test(document.querySelector(".trace .tools [role=status]")?.textContent ?? "") ? requestAnimationFrame(() => resolve(performance.now() - begin)) : requestAnimationFrame(look));
        input.value = "name-7";
        input.dispatchEvent(new Event("input", { bubbles: true }));
        look();
      });
    });
    result.find.push((await page.evaluate("window.benchFound")) / 1000);
    result.bytes.push(await memoryOf());
    await page.goto(`/t/${id}?tab=threads`);
    await page.locator(".lane-names li").first().waitFor();
    const lanes = await page.locator(".lanes canvas").first().boundingBox();
    await page.mouse.move(lanes.x + lanes.width / 2, Math.min(700, lanes.y + 200));
    await page.keyboard.down("Control");
    result.lanes.push(await framesOf(page, () => wheel(page, 0, 60, 90)));
    await page.keyboard.up("Control");
    await context.close();
  }
  return result;
};

/** Keys are pressed, as fast as somebody who holds them. */
const press = async (page, keys) => {
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.waitForTimeout(16);
  }
};

const ASKED_AGAIN_MS = 1000; // what is seen is asked for again by then

/** Threads of a time: their first lanes, scrolling, zooming, moving with W A S D, memory. */
const lanes = async (rounds, address) => {
  const result = { seconds: [], scroll: [], zoom: [], keys: [], bytes: [] };
  for (let i = 0; i < rounds; i++) {
    const { context, page } = await open();
    await noteFirst(page, ".lane-names li");
    await page.goto(address);
    result.seconds.push(await shownAfter(page));
    const canvas = await page.locator(".lanes canvas").first().boundingBox();
    await page.mouse.move(canvas.x + canvas.width / 2, Math.min(700, canvas.y + 200));
    result.scroll.push(await framesOf(page, () => wheel(page, 0, 400, 90)));
    await page.keyboard.down("Control");
    result.zoom.push(await framesOf(page, () => wheel(page, 0, 60, 90)));
    await page.keyboard.up("Control");
    result.keys.push(await framesOf(page, async () => {
      await press(page, "wwwwwwwwwwww");
      await page.waitForTimeout(ASKED_AGAIN_MS);
      await press(page, "ddddddddddddaaaaaaaaaaaa");
      await page.waitForTimeout(ASKED_AGAIN_MS);
      await press(page, "ssssssssssss");
    }));
    result.bytes.push(await memoryOf());
    await context.close();
  }
  return result;
};

/** A box is drawn over the heat map: until the first difference stands there. */
const compare = async (rounds, address) => {
  const seconds = [];
  const { context, page } = await open();
  await page.goto(address);
  await page.locator(".differences li").first().waitFor();
  for (let i = 0; i < rounds; i++) {
    const map = await page.locator(".heat").boundingBox();
    await page.mouse.move(map.x + 100 + 9 * i, map.y + 30);
    await page.mouse.down();
    await page.mouse.move(map.x + map.width - 60, map.y + map.height / 2 + 7 * i, { steps: 4 });
    await page.evaluate(() => {
      const old = document.querySelector(".panel h2")?.textContent;
      window.benchTold = new Promise((resolve) => {
        addEventListener("mouseup", () => {
          const begin = performance.now();
          const look = () => (document.querySelector(".panel h2")?.textContent !== old && document.querySelector(".differences li")
            ? requestAnimationFrame(() => resolve(performance.now() - begin)) : requestAnimationFrame(look));
          requestAnimationFrame(look);
        }, { once: true, capture: true });
      });
    });
    await page.mouse.up();
    seconds.push((await page.evaluate("window.benchTold")) / 1000);
  }
  await context.close();
  return { seconds };
};

/** A program ends a span for each line that it gets, and says which: until its row stands in /live. */
const live = async (rounds, program) => {
  const seconds = [];
  const { page } = await open();
  const shop = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: shop.stdout })[Symbol.asyncIterator]();
  await page.goto("/live");
  for (let i = 0; i < rounds + 1; i++) {
    shop.stdin.write(`${i % 20}\n`);
    const id = (await lines.next()).value.split("-")[1];
    const begin = performance.now();
    await page.locator(`table.found a[href*="${id}"]`).first().waitFor({ state: "attached" });
    if (i) seconds.push((performance.now() - begin) / 1000); // the first waits for the stream
  }
  shop.stdin.end();
  return { seconds };
};

const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

/** The files of a page of Jaeger; what it asks goes to the server at `base`. */
const serveFiles = (folder) => new Promise((resolve) => {
  const server = createServer((asked, answer) => {
    const { pathname } = new URL(asked.url, "http://x");
    if (pathname.startsWith("/api/")) {
      asked.pipe(request(base + asked.url, { method: asked.method, headers: asked.headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
      }));
      return;
    }
    const file = path.join(folder, pathname.startsWith("/static/") ? path.normalize(pathname) : "index.html");
    try {
      const bytes = readFileSync(file);
      answer.writeHead(200, { "content-type": KINDS[path.extname(file)] ?? "application/octet-stream" }).end(bytes);
    } catch {
      answer.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1", () => resolve(server));
});

/** The same trace in Jaeger UI: its first rows, scrolling, memory. */
const jaeger = async (rounds, folder, id) => {
  const result = { seconds: [], scroll: [], bytes: [] };
  const server = await serveFiles(folder);
  for (let i = 0; i < rounds; i++) {
    const { context, page } = await open({ baseURL: `http://127.0.0.1:${server.address().port}` });
    await noteFirst(page, ".span-row");
    await page.goto(`/trace/${id}`);
    result.seconds.push(await shownAfter(page));
    await page.mouse.move(900, 600);
    result.scroll.push(await framesOf(page, () => wheel(page, 0, 400, 90)));
    result.bytes.push(await memoryOf());
    await context.close();
  }
  server.close();
  return result;
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const rounds = Number(rest[0]);
  console.log(JSON.stringify(await { load, trace, lanes, jaeger, compare, live }[what](rounds, ...rest.slice(1))));
} finally {
  await browser.close();
}
