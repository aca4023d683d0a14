// Makes the folder that the server hands out: target/site.
//
//   pkg/matinee.<hash>.{js,wasm,css}   what pages load; the name changes with the content, so browsers keep it for good
//   hash.txt                           tells the server those hashes, in the lines that Leptos reads
//   everything of public/              under its own name
//
// Beside each text-like file lie .br and .gz, made here once at the highest quality instead of at each request.
// The folder is built under another name and swapped in at the end: a running server never sees half of it.

import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "esbuild";

const [bindgen, site] = process.argv.slice(2);
if (!bindgen || !site) {
  console.error("usage: node style/build.mjs BINDGEN_FOLDER SITE_FOLDER");
  process.exit(2);
}

const NAME = "matinee";
const making = `${site}.making`;
const replaced = `${site}.replaced`;
const pkg = join(making, "pkg");

// Browsers with WASM reference types, CSS nesting lowered for those that came just before it.
const target = ["chrome111", "firefox114", "safari16.4"];
// Images and fonts are compressed already.
const compressible = new Set([".css", ".html", ".ico", ".js", ".json", ".svg", ".txt", ".wasm", ".webmanifest", ".xml"]);

/** `url(/posters/x.svg)` is an address on the site, not a file to draw in. */
const siteAddresses = {
  name: "site addresses",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\// }, ({ path, kind }) => (kind === "entry-point" ? undefined : { path, external: true })),
};

/** One file without imports: bundling also draws in the snippets that Rust crates bring along. */
async function bundle(entry) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    target,
    plugins: [siteAddresses],
    legalComments: "none",
    logLevel: "warning",
    write: false,
  });
  return Buffer.from(result.outputFiles[0].contents);
}

async function filesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const nested = entries.map((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
  return (await Promise.all(nested)).flat();
}

async function compress(path) {
  const plain = await readFile(path);
  const brotli = promisify(brotliCompress)(plain, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
  });
  const gzipped = promisify(gzip)(plain, { level: 9 });
  const variants = [[".br", await brotli], [".gz", await gzipped]];
  for (const [ending, bytes] of variants) {
    // A tiny file can grow; the server then sends it as it is.
    if (bytes.length < plain.length) await writeFile(path + ending, bytes);
  }
}

const exists = (path) => stat(path).then(() => true, () => false);

await rm(making, { recursive: true, force: true });
await mkdir(pkg, { recursive: true });
if (await exists("public")) await cp("public", making, { recursive: true });

const assets = {
  js: await bundle(join(bindgen, `${NAME}.js`)),
  wasm: await readFile(join(bindgen, `${NAME}.opt.wasm`)),
  css: await bundle("style/main.css"),
};
let hashes = "";
for (const [kind, bytes] of Object.entries(assets)) {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  await writeFile(join(pkg, `${NAME}.${hash}.${kind}`), bytes);
  hashes += `${kind}: ${hash}\n`;
}

const files = (await filesBelow(making)).filter((path) => compressible.has(extname(path)));
await Promise.all(files.map(compress));
// Written last and not compressed: it is for the server, not for browsers.
await writeFile(join(making, "hash.txt"), hashes);

await rm(replaced, { recursive: true, force: true });
if (await exists(site)) await rename(site, replaced);
await rename(making, site);
await rm(replaced, { recursive: true, force: true });

let total = 0;
for (const file of (await readdir(join(site, "pkg"))).filter((file) => file.endsWith(".br"))) {
  const { size } = await stat(join(site, "pkg", file));
  if (!file.endsWith(".css.br")) total += size;
  console.log(`${String(size).padStart(8)} bytes  ${file}`);
}
console.log(`${String(total).padStart(8)} bytes  of WASM and JavaScript to download (brotli)`);
