// SPDX-License-Identifier: Apache-2.0
// Runs in hotInner, which handleRequest calls, for so many milliseconds.
function hotInner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s; }
function handleRequest(n) { return hotInner(n) + 1; }
const end = process.cpuUsage().user + process.argv[2] * 1000;
let sum = 0;
while (process.cpuUsage().user < end) sum += handleRequest(20000);
