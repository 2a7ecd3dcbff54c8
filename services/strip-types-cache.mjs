/**
 * `node --import ./services/lean-start.mjs services/main.ts <name>…`: the same process in a fifth less memory.
 * In JavaScript, because it comes before anything that could run TypeScript. Without it all works as well.
 *
 * - Node strips types with a WebAssembly program that takes 16 MB and stays. `node services/strip-types-cache.mjs`
 *   strips every file beforehand; a process that preloads this one reads what was kept for a file's
 *   very text, and where nothing was, Node strips as ever. (NODE_COMPILE_CACHE would keep the text as well, but
 *   each process holds all it read from there, 6 MB, until it ends.)
 * - An ES module that imports `node:http` makes it answer all its names, and three of them load the whole of
 *   Node's fetch and WebSocket: 3 MB, used by nothing here. The global names still load them for whoever asks.
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
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const KEPT = join(ROOT, ".local", "stripped");

/** What is kept for a text is found by the text itself, so it is never that of another version. */
function keptName(text) {
  return `${createHash("sha256").update(process.version).update(text).digest("hex")}.js`;
}

if (import.meta.main) keepAll();
else preload();

function preload() {
  const http = createRequire(import.meta.url)("node:http");
  for (const name of ["WebSocket", "CloseEvent", "MessageEvent"]) {
    Object.defineProperty(http, name, { value: undefined, enumerable: true });
  }
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
      try {
        const text = readFileSync(fileURLToPath(url));
        const source = readFileSync(join(KEPT, keptName(text)));
        return { format: "module", source, shortCircuit: true };
      } catch {
        // Not kept, or not readable: Node strips it, or says what is wrong.
        return next(url, context);
      }
    },
  });
}

/** Strips what a process may load; forgets what was kept for texts that are no more. */
function keepAll() {
  mkdirSync(KEPT, { recursive: true });
  const before = new Set(readdirSync(KEPT));
  const wanted = new Set();
  for (const file of globSync("{services,gateway,deploy}/**/*.ts", { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const name = keptName(text);
    wanted.add(name);
    if (before.has(name)) continue;
    // Written aside: stacks of one clone may start at the same time.
    const aside = join(KEPT, randomUUID());
    writeFileSync(aside, stripTypeScriptTypes(text));
    renameSync(aside, join(KEPT, name));
  }
  // Not what another one has just written aside.
  const gone = [...before].filter((name) => name.endsWith(".js") && !wanted.has(name));
  for (const name of gone) rmSync(join(KEPT, name), { force: true });
}
