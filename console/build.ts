/**
 * Builds the console into `console/dist`: one script and one style sheet, each with a hash of its content in its name.
 * The image runs it, and `make install` with `--if-changed`.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DIST = fileURLToPath(new URL("dist/", import.meta.url));

if (process.argv.includes("--if-changed") && isBuilt()) process.exit(0);
const { build } = await import("esbuild");

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST, { recursive: true });
const { metafile } = await build({
  absWorkingDir: HERE,
  entryPoints: ["main.tsx", "style.css"],
  entryNames: "assets/[name]-[hash]",
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome120", "firefox121", "safari17"],
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  logLevel: "warning",
});
const names = Object.keys(metafile.outputs).map((path) => `assets/${basename(path)}`);
const find = (ending: string) => {
  const name = names.find((one) => one.endsWith(ending));
  if (name === undefined) throw new Error(`the build has no ${ending} file`);
  return `/console/${name}`;
};
const page = readFileSync(new URL("index.html", import.meta.url), "utf8")
  .replace("{{script}}", find(".js"))
  .replace("{{style}}", find(".css"));
writeFileSync(`${DIST}/index.html`, page);

/** Whether no source is newer than the built page. */
function isBuilt(): boolean {
  const page = join(DIST, "index.html");
  if (!existsSync(page)) return false;
  const builtMs = statSync(page).mtimeMs;
  const sources = readdirSync(HERE, { recursive: true, encoding: "utf8" });
  return sources
    .filter((path) => !path.startsWith("dist"))
    .every((path) => statSync(join(HERE, path)).mtimeMs <= builtMs);
}
