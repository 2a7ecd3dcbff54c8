/**
 * Saves memory at start (`docs/adr/0091-cache-type-stripped-sources.md`): run a process as
 * `node --import ./services/strip-types-cache.mjs services/main.ts <name>…`. JavaScript, because it runs before
 * anything can run TypeScript. Without it everything works the same.
 *
 * Node strips types with a WebAssembly program of 16 MB that stays in memory. `node services/strip-types-cache.mjs`
 * strips every file beforehand. A process that preloads this file reads the cache by the hash of each source;
 * Node strips a source that is not cached. (NODE_COMPILE_CACHE would cache the text as well, but a process
 * keeps all 6 MB that it read from there until it exits.)
 */
import { createHash, randomUUID } from "node:crypto";
import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CACHE_DIR = join(ROOT, ".local", "stripped");

/** The cache key is a hash of the source and the Node version, so a stale entry is never used. */
function cacheName(text) {
  return `${createHash("sha256").update(process.version).update(text).digest("hex")}.js`;
}

if (import.meta.main) fillCache();
else preload();

function preload() {
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
      try {
        const text = readFileSync(fileURLToPath(url));
        const source = readFileSync(join(CACHE_DIR, cacheName(text)));
        return { format: "module", source, shortCircuit: true };
      } catch {
        // Not cached or not readable: Node strips the file, or reports the error.
        return next(url, context);
      }
    },
  });
}

/** Strips every file that a process may load, and removes cache entries of older sources. */
function fillCache() {
  mkdirSync(CACHE_DIR, { recursive: true });
  const before = new Set(readdirSync(CACHE_DIR));
  const wanted = new Set();
  for (const file of globSync("{services,gateway,deploy}/**/*.ts", { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const name = cacheName(text);
    wanted.add(name);
    if (before.has(name)) continue;
    // Write to a temporary name, then rename: two processes may fill the cache at the same time.
    const temporary = join(CACHE_DIR, randomUUID());
    writeFileSync(temporary, stripTypeScriptTypes(text));
    renameSync(temporary, join(CACHE_DIR, name));
  }
  // Temporary files of other processes do not end with ".js".
  const stale = [...before].filter((name) => name.endsWith(".js") && !wanted.has(name));
  for (const name of stale) rmSync(join(CACHE_DIR, name), { force: true });
}
