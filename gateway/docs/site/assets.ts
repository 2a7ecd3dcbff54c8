/**
 * Style sheet, scripts and icon of the pages. The name of each has a hash of its content, so browsers keep it for a
 * year. Scalar shows the reference; MiniSearch is the search.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

const FOLDER = join(import.meta.dirname, "../assets");
/** Scalar's bundle for browsers, compressed; `deploy/vendor-scalar.ts` writes it. */
const SCALAR = join(import.meta.dirname, "../vendor/scalar.js.br");

export type Asset = {
  readonly type: string;
  readonly body: Buffer;
  /** The body compressed ahead, where that takes seconds. */
  readonly brotli?: Buffer;
  /** The path with the hash. */
  readonly path: string;
};

export type Assets = {
  readonly all: readonly Asset[];
  /** The path of an asset, by its name without the hash. Throws if there is none of that name. */
  pathOf(name: string): string;
};

const SCRIPT = "text/javascript; charset=utf-8";

export function readAssets(): Assets {
  const own = (name: string) => readFileSync(join(FOLDER, name));
  const scalar = readFileSync(SCALAR);
  const miniSearch = readFileSync(fileURLToPath(import.meta.resolve("minisearch")));
  const byName = new Map([
    asset("frame.css", "text/css; charset=utf-8", own("frame.css")),
    asset("content.css", "text/css; charset=utf-8", own("content.css")),
    asset("site.js", SCRIPT, own("site.js")),
    asset("reference.js", SCRIPT, own("reference.js")),
    asset("icon.svg", "image/svg+xml", own("icon.svg")),
    asset("minisearch.js", SCRIPT, miniSearch),
    asset("scalar.js", SCRIPT, brotliDecompressSync(scalar), scalar),
  ]);
  return {
    all: [...byName.values()],
    pathOf(name) {
      const found = byName.get(name);
      if (found === undefined) throw new Error(`there is no asset ${name}`);
      return found.path;
    },
  };
}

function asset(name: string, type: string, body: Buffer, brotli?: Buffer): [string, Asset] {
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
  const path = `/assets/${name.replace(/(\.\w+)$/, `.${hash}$1`)}`;
  return [name, { type, body, path, ...(brotli === undefined ? {} : { brotli }) }];
}
