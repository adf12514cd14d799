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

/** Bundles; what is imported where it is needed becomes a file of its own. */
const bundle = async (entry, more = {}) => {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [path.join(source, entry)],
    bundle: true,
    write: false,
    metafile: true,
    outdir: path.join(source, "out"),
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [path.resolve(packages)],
    legalComments: "none",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    ...more,
  });
  return { files: outputFiles.map(({ path: file, contents }) => ({ name: path.basename(file), contents })), metafile };
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
/** Bundles one file, and gives its name. */
const one = async (entry, more) => {
  const { files: [{ name, contents }] } = await bundle(entry, more);
  put(`assets/${name}`, contents);
  return name;
};

const worker = { WORKER: JSON.stringify(`/assets/${await one("trace/worker.ts")}`) };
// Views that come later share much with the page's script, and little else. Each imports all of it, so that what it
// has is in one file, and not in one for each set of views that share something.
const whole = {
  name: "whole",
  setup: ({ onLoad }) => onLoad({ filter: /view\.tsx$/ }, ({ path: file }) => ({
    contents: `${file.includes("overview") ? "" : 'import "../main";'}${readFileSync(file, "utf8")}`,
    loader: "tsx",
  })),
};
const page = await bundle("main.tsx", { splitting: true, define: worker, plugins: [whole] });
const [[main]] = Object.entries(page.metafile.outputs).filter(([, { inputs }]) => Object.keys(inputs).some((file) => file.endsWith("main.tsx")));
const script = path.basename(main);
const eager = "//# allFunctionsCalledOnLoad\n"; // browsers compile them while they come, and not each when it is called
for (const { name, contents } of page.files) put(`assets/${name}`, name === script ? `${eager}${Buffer.from(contents)}` : contents);
const icon = asset("icon.svg", readFileSync(path.join(source, "icon.svg")));
const words = { STYLE: await one("main.css"), SCRIPT: script, ICON: icon };
const index = readFileSync(path.join(source, "index.html"), "utf8").replace(/\b(STYLE|SCRIPT|ICON)\b/g, (word) => words[word]);
put("index.html", index);
for (const name of readdirSync(path.join(out, "assets"))) if (!made.has(name)) rmSync(path.join(out, "assets", name));
