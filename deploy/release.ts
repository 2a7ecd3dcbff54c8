/**
 * `make release VERSION=x.y.z` prepares a release: it checks the working tree, the version and the
 * changelog, writes the version to its files, dates the changelog's section, and renders the
 * files that are generated from the version. It neither commits nor tags; the last lines say how.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "./chart/generated.ts";
import { CHART } from "./chart/layout.ts";
import { ROOT } from "./dev/paths.ts";

type Replacement = {
  readonly file: string;
  /** Matches every place of the version; `$1` is the text before it. */
  readonly pattern: RegExp;
};

/** The places that contain the release's own version. */
export const VERSION_PLACES: readonly Replacement[] = [
  { file: "package.json", pattern: /^( {2}"version": ")[^"]+/gm },
  {
    file: "package-lock.json",
    pattern: /("name": "sms-messaging-service",\s+"version": ")[^"]+/g,
  },
  { file: "clients/typescript/package.json", pattern: /^( {2}"version": ")[^"]+/gm },
  {
    file: "clients/typescript/package-lock.json",
    pattern: /("name": "sms-messaging-client",\s+"version": ")[^"]+/g,
  },
  { file: "clients/python/pyproject.toml", pattern: /^(version = ")[^"]+/gm },
  { file: "helm/sms/Chart.yaml", pattern: /^((?:version: |appVersion: "))[^"\n]+/gm },
  { file: "gateway/docs/openapi.ts", pattern: /^( {6}version: ")[^"]+/gm },
  { file: "deploy/Dockerfile", pattern: /(--build-arg VERSION=)\d\S*/g },
  { file: "deploy/chart/readme.ts", pattern: /(sms-messaging-service:)\d[\d.]*/g },
];

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Whether `next` is a version greater than `current`, both as `x.y.z`. */
export function isGreater(next: string, current: string): boolean {
  const [a, b] = [next, current].map((version) => version.split(".").map(Number));
  for (const [at, part] of (a ?? []).entries()) {
    const other = b?.[at] ?? 0;
    if (part !== other) return part > other;
  }
  return false;
}

/** The changelog with `## Unreleased` as a dated section below a new, empty one. */
export function dateChangelog(text: string, version: string, date: string): string {
  const section = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text)?.[1]?.trim() ?? "";
  if (section === "") throw new Error("CHANGELOG.md has nothing under “## Unreleased”");
  return text.replace("## Unreleased\n", () => `## Unreleased\n\n## ${version} - ${date}\n`);
}

/** `text` with the version at every place; an error when it has none. */
export function replaceVersion(text: string, { file, pattern }: Replacement, version: string) {
  if (text.search(pattern) < 0) throw new Error(`${file} has no place for a version`);
  return text.replace(pattern, (_match, before: string) => before + version);
}

if (import.meta.main) {
  try {
    release(process.argv[2] ?? "", process.argv[3] ?? new Date().toISOString().slice(0, 10));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

function release(version: string, date: string): void {
  const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
  const write = (file: string, text: string) => writeFileSync(join(ROOT, file), text);
  const { version: current } = JSON.parse(read("package.json")) as { version: string };
  if (!VERSION.test(version)) throw new Error("usage: make release VERSION=x.y.z");
  if (!isGreater(version, current)) throw new Error(`${version} is not greater than ${current}`);
  const changed = git("status", "--porcelain");
  if (changed !== "") throw new Error(`commit or stash these changes first:\n${changed}`);
  for (const [file, heading] of [
    ["helm/sms/CHANGELOG.md", `## ${version}`],
    ["helm/sms/UPGRADING.md", `## To ${version}`],
  ] as const) {
    if (!read(file).split("\n").includes(heading)) throw new Error(`${file} lacks “${heading}”`);
  }
  // Everything is checked and computed before the first file is written.
  const texts = VERSION_PLACES.map((place) => ({
    file: place.file,
    text: replaceVersion(read(place.file), place, version),
  }));
  texts.push({ file: "CHANGELOG.md", text: dateChangelog(read("CHANGELOG.md"), version, date) });
  for (const { file, text } of texts) write(file, text);
  // The README is generated from a module that this run has loaded with the former version.
  execFileSync(process.execPath, [join(ROOT, "deploy/chart/generate.ts")], { cwd: ROOT });
  execFileSync("sh", [join(ROOT, "deploy/dev/check-generated.sh")], { stdio: "inherit" });
  publishProtocol();
  const isRendered = renderManifests();
  const files = [
    ...texts.map(({ file }) => file),
    ...Object.keys(generatedFiles()).map((name) => join("helm/sms", name)),
  ];
  process.stdout.write(`${version} is written to ${files.join(", ")}.\n`);
  if (!isRendered) {
    process.stdout.write(
      "deploy/manifests is not rendered: Helm is neither on PATH nor named by HELM. Run\n" +
        "  HELM=helm node_modules/.bin/node deploy/chart/manifests.ts\n",
    );
  }
  process.stdout.write(
    `Check with make check test, then:\n  git commit -am "Release ${version}"\n  git tag v${version}\n`,
  );
}

/** Keeps the protocol as released: `buf breaking` holds later changes against it. */
function publishProtocol(): void {
  const buf = join(ROOT, "node_modules/.bin/buf");
  const options = { cwd: join(ROOT, "proto"), stdio: "inherit" } as const;
  execFileSync(buf, ["breaking", "--against", "published.binpb"], options);
  execFileSync(buf, ["build", "--exclude-source-info", "-o", "published.binpb"], options);
}

/** Renders the manifests with Helm; false when there is none. */
function renderManifests(): boolean {
  const helm = process.env.HELM?.split(",")[0] ?? "helm";
  try {
    execFileSync(helm, ["version"], { cwd: CHART, stdio: "ignore" });
  } catch {
    return false;
  }
  const env = { ...process.env, HELM: helm };
  const script = join(ROOT, "deploy/chart/manifests.ts");
  execFileSync(process.execPath, [script], { cwd: ROOT, env, stdio: "inherit" });
  return true;
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}
