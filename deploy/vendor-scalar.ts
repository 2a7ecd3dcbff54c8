/**
 * Writes the bundle of Scalar that the gateway serves: `node deploy/vendor-scalar.ts 1.76.0`. The package itself is no
 * dependency, because it brings 284 packages and 311 MB for one file (docs/adr/0141-documentation-site.md).
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { ROOT } from "./dev/paths.ts";

const PACKAGE = "@scalar/api-reference";
const FILE = "package/dist/browser/standalone.js";

const [version = ""] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  throw new Error("give the version: node deploy/vendor-scalar.ts 1.76.0");
}
const folder = join(ROOT, "gateway/docs/vendor");
const work = mkdtempSync(join(tmpdir(), "vendor-scalar-"));
try {
  // npm compares the package with the checksum of the registry.
  const packed = execFileSync("npm", ["pack", "--json", `${PACKAGE}@${version}`], { cwd: work });
  const [{ filename = "", integrity = "" } = {}] = JSON.parse(packed.toString()) as {
    filename?: string;
    integrity?: string;
  }[];
  execFileSync("tar", ["-xzf", filename, FILE], { cwd: work });
  // Without its source map, which is not served.
  const text = readFileSync(join(work, FILE), "utf8").replace(
    /\n\/\/# sourceMappingURL=.*\n?$/,
    "\n",
  );
  const compressed = brotliCompressSync(text, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
    },
  });
  const sha256 = createHash("sha256").update(text).digest("hex");
  writeFileSync(join(folder, "scalar.js.br"), compressed);
  const record = { package: PACKAGE, version, integrity, file: FILE, sha256, license: "MIT" };
  writeFileSync(join(folder, "scalar.json"), `${JSON.stringify(record, null, 2)}\n`);
  process.stdout.write(
    `${PACKAGE} ${version}: ${text.length} characters, ${compressed.length} bytes compressed\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}
