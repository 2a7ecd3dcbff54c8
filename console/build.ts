/**
 * Builds the tenants' console into `console/dist/console` and the operators' console into `console/dist/operators`.
 * Each has one script and one style sheet, with a hash of its content in its name. The image runs it, and `make up`
 * and `make install` with `--if-changed`.
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

/** Each console by the name of its path: its script and the title of its page. */
const CONSOLES = [
  { name: "console", script: "main.tsx", title: "Console" },
  { name: "operators", script: "operators/main.tsx", title: "Operators" },
] as const;

if (process.argv.includes("--if-changed") && isBuilt()) process.exit(0);
const { build } = await import("esbuild");

rmSync(DIST, { recursive: true, force: true });
for (const one of CONSOLES) await buildConsole(one);

async function buildConsole({ name, script, title }: (typeof CONSOLES)[number]): Promise<void> {
  mkdirSync(join(DIST, name), { recursive: true });
  const { metafile } = await build({
    absWorkingDir: HERE,
    entryPoints: [script, "style.css"],
    entryNames: "assets/[name]-[hash]",
    outdir: `dist/${name}`,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
    logLevel: "warning",
  });
  const built = Object.keys(metafile.outputs).map((path) => basename(path));
  const find = (ending: string) => {
    const file = built.find((one) => one.endsWith(ending));
    if (file === undefined) throw new Error(`the build of ${name} has no ${ending} file`);
    return `/${name}/assets/${file}`;
  };
  const page = readFileSync(new URL("index.html", import.meta.url), "utf8")
    .replace("{{name}}", name)
    .replaceAll("{{title}}", title)
    .replace("{{script}}", find(".js"))
    .replace("{{style}}", find(".css"));
  writeFileSync(join(DIST, name, "index.html"), page);
}

/** Whether no source is newer than the pages built last. */
function isBuilt(): boolean {
  const pages = CONSOLES.map(({ name }) => join(DIST, name, "index.html"));
  if (!pages.every(existsSync)) return false;
  const builtMs = Math.min(...pages.map((page) => statSync(page).mtimeMs));
  const sources = readdirSync(HERE, { recursive: true, encoding: "utf8" });
  return sources
    .filter((path) => !path.startsWith("dist"))
    .every((path) => statSync(join(HERE, path)).mtimeMs <= builtMs);
}
