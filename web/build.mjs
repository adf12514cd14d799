// SPDX-License-Identifier: Apache-2.0
// Bundles the page: node build.mjs PACKAGES OUT
// PACKAGES is the folder node_modules that has package.json's dependencies. OUT gets index.html, and
// assets/ with files that have a hash of their content in their names, each with a compressed one. A server
// that has OUT open serves the new page at once.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const [packages, out] = process.argv.slice(2);
if (!out) {
  console.error("usage: node build.mjs PACKAGES OUT");
  process.exit(2);
}
const esbuild = createRequire(path.resolve(packages, "x.js"))("esbuild");
const source = path.join(path.dirname(fileURLToPath(import.meta.url)), "src");

const bundle = async (entry, define = {}) => {
  const { outputFiles } = await esbuild.build({
    entryPoints: [path.join(source, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [path.resolve(packages)],
    legalComments: "none",
    define,
  });
  return outputFiles[0].contents;
};

const made = new Set();

const put = (name, content) => {
  for (const [file, bytes] of [[name, content], [`${name}.gz`, gzipSync(content, { level: 9 })]]) {
    writeFileSync(path.join(out, `${file}.new`), bytes);
    renameSync(path.join(out, `${file}.new`), path.join(out, file));
    made.add(path.basename(file));
  }
};

const asset = (name, content) => {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const { name: stem, ext } = path.parse(name);
  const hashed = `${stem}-${hash}${ext}`;
  put(`assets/${hashed}`, content);
  return hashed;
};

mkdirSync(path.join(out, "assets"), { recursive: true });
const worker = asset("worker.js", await bundle("trace/worker.ts"));
const script = asset("main.js", await bundle("main.tsx", { WORKER: JSON.stringify(`/assets/${worker}`) }));
const style = asset("main.css", await bundle("main.css"));
const icon = asset("icon.svg", readFileSync(path.join(source, "icon.svg")));
const index = readFileSync(path.join(source, "index.html"), "utf8");
put("index.html", index.replace("SCRIPT", script).replace("STYLE", style).replace("ICON", icon));
for (const name of readdirSync(path.join(out, "assets"))) if (!made.has(name)) rmSync(path.join(out, "assets", name));
