// SPDX-License-Identifier: Apache-2.0
// Runs before the page's script, which takes longer to be read: asks for what the view of the address shows first.
import { takeLater } from "./lib/early";
import { headersOf, LAST, overviewPaths, TOKEN, tracePath } from "./lib/paths";

declare const WORKER: string; // the address of the worker's script

const headers = headersOf(sessionStorage.getItem(TOKEN));
const values = new URLSearchParams(location.search);
const [first, second] = location.pathname.split("/").filter(Boolean);

if (!first && !values.get("from")) {
  const length = (LAST.find(([key]) => key === values.get("last")) ?? LAST[0])[2];
  const { series, now, weekAgo, earlier } = overviewPaths(length);
  takeLater({ answers: new Map([series, now, weekAgo, earlier].map((path) => [path, fetch(path, { headers })])) });
} else if (first === "t" && second) {
  const path = tracePath(decodeURIComponent(second), values.get("kernel") === "all");
  const worker = new Worker(WORKER, { type: "module" });
  const said: unknown[] = [];
  worker.onmessage = ({ data }) => { said.push(data); };
  worker.postMessage({ ask: "trace", path, headers });
  takeLater({ opened: { path, worker, said } });
}
