// SPDX-License-Identifier: Apache-2.0
// Runs before the rest of the page's script: the worker of a trace is as slow to begin as the page is to be drawn.
import { place } from "./lib/address";
import { openLater } from "./lib/early";
import { headersOf, TOKEN, tracePath } from "./lib/paths";

declare const WORKER: string; // the address of the worker's script

const { path: [first, second], query } = place.value;

if (first === "t" && second) {
  const path = tracePath(second, query.get("kernel") === "all");
  const headers = headersOf(sessionStorage.getItem(TOKEN));
  const answer = fetch(path, { headers }); // while the worker begins
  const worker = new Worker(WORKER, { type: "module" });
  const said: unknown[] = [];
  worker.onmessage = ({ data }) => { said.push(data); };
  const give = async () => {
    const response = await answer;
    const body = response.ok ? await response.arrayBuffer() : undefined;
    worker.postMessage({ ask: "trace", path, headers, body }, body ? [body] : []);
  };
  give().catch(() => worker.postMessage({ ask: "trace", path, headers })); // which tells why there is no answer
  openLater({ path, worker, said });
}
