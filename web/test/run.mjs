// SPDX-License-Identifier: Apache-2.0
// Checks types, then bundles each *.test.ts of this folder and runs it: run.mjs WORK
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const work = path.resolve(process.argv[2]);
const here = path.dirname(fileURLToPath(import.meta.url));
const packages = path.join(work, "node_modules");
const run = (command, ...words) => spawnSync(command, words, { stdio: "inherit" }).status ?? 1;

// the packages lie elsewhere than the sources, so that no build writes beside these
const config = path.join(work, "tsconfig.json");
writeFileSync(config, JSON.stringify({
  extends: path.join(here, "../tsconfig.json"),
  compilerOptions: { baseUrl: work, paths: { "*": ["node_modules/*"] } },
  include: [path.join(here, "../src")],
}));
const types = run(process.execPath, path.join(packages, "typescript/bin/tsc"), "-p", config);

const { build } = createRequire(path.join(packages, "x.js"))("esbuild");
const out = path.join(work, "tests");
mkdirSync(out, { recursive: true });
const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: tests.map((name) => path.join(here, name)), outdir: out, outExtension: { ".js": ".mjs" },
  bundle: true, platform: "node", format: "esm", nodePaths: [packages],
});
const status = run(process.execPath, "--test", "--test-reporter=tap", ...tests.map((name) => path.join(out, name.replace(/ts$/, "mjs"))));
process.exitCode = types || status ? 1 : 0;
