// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Bundles src/ into OUT, each file packed with gzip, and lists them in OUT/manifest.txt: path, type, SHA-256, file.
// Equal sources give equal bytes. Usage: node build.mjs PACKAGES OUT
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [packages, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
// Gzipped bytes of what a browser needs first, and of everything.
const MOST_INITIAL = 90 * 1024, MOST = 200 * 1024;

const bundle = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { app: "src/app.tsx", style: "src/style.css" },
  bundle: true, minify: true, write: false, outdir: "/", charset: "utf8", legalComments: "none",
  format: "esm", target: "es2022", jsx: "automatic", jsxImportSource: "preact",
  nodePaths: [join(packages, "node_modules")],
});

// The frame of the console is one file: its script, which contains that of its worker.
async function scriptOf(entry, define = {}) {
  const { outputFiles } = await esbuild.build({ absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, charset: "utf8",
                                                legalComments: "none", format: "iife", target: "es2022", define });
  return outputFiles[0].text;
}
const frame = (await scriptOf("src/console/frame.ts", { WORKER: JSON.stringify(await scriptOf("src/console/worker.ts")) })).replaceAll("</", "<\\/");
const allowed = createHash("sha256").update(frame).digest("base64");
const consolePage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-${allowed}' 'unsafe-eval'; worker-src blob:"><title>Console</title><script>${frame}</script></html>`;

const files = [];
function add(path, type, contents) {
  const packed = gzipSync(contents, { level: 9 });
  const hash = createHash("sha256").update(contents).digest("hex");
  const name = path === "/" ? "index.html.gz" : path.slice(1) + ".gz";
  files.push({ path, type, hash, name, packed });
}

let shell = readFileSync(join(here, "src/index.html"), "utf8");
for (const output of bundle.outputFiles) {
  const [stem, extension] = output.path.slice(1).split(".");
  const hash = createHash("sha256").update(output.contents).digest("hex").slice(0, 12);
  const path = `/${stem}-${hash}.${extension}`;
  shell = shell.replace(`/${stem}.${extension}`, path);
  add(path, extension === "js" ? "text/javascript|charset=utf-8" : "text/css|charset=utf-8", output.contents);
}
const initial = files.reduce((sum, file) => sum + file.packed.length, 0);
add("/", "text/html|charset=utf-8", shell);
add("/console.html", "text/html|charset=utf-8", consolePage);
add("/icon.svg", "image/svg+xml", readFileSync(join(here, "src/icon.svg")));
const all = files.reduce((sum, file) => sum + file.packed.length, 0);
if (initial > MOST_INITIAL || all > MOST) {
  console.error(`the page is too large: ${initial} bytes of ${MOST_INITIAL} at first, ${all} of ${MOST} in all`);
  process.exit(1);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const file of files)
  writeFileSync(join(out, file.name), file.packed);
writeFileSync(join(out, "manifest.txt"),
              files.map(({ path, type, hash, name }) => `${path} ${type} ${hash} ${name}\n`).join(""));
console.log(`the page: ${initial} bytes of scripts and styles, ${all} in all`);
