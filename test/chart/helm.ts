/**
 * Runs Helm for the tests: the one on PATH, or those that `$HELM` names with commas between. Each
 * suite runs once with every one of them, so `HELM=helm3,helm4` proves the chart on both.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { CHART } from "../../deploy/chart/layout.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { KubeObject } from "./kube-types.ts";

/** A Helm to test with, and why it cannot be used where it cannot. */
export type Helm = { readonly program: string; readonly version: string; readonly fault?: string };

/** All that the tests run with; one at least, though it may be missing. */
export const HELMS: readonly Helm[] = (process.env.HELM ?? "helm").split(",").map(lookAt);

let current = HELMS[0] as Helm;

/** The Helm of the suite that runs. */
export function currentHelm(): string {
  return current.program;
}

/** Does something with another Helm of the run than the suite's own. */
export function withHelm<T>(program: string, work: () => T): T {
  const kept = current;
  current = HELMS.find((helm) => helm.program === program) ?? kept;
  try {
    return work();
  } finally {
    current = kept;
  }
}

function lookAt(program: string): Helm {
  const run = spawnSync(program, ["version", "--template", "{{.Version}}"], { encoding: "utf8" });
  if (run.error !== undefined) {
    const fault = "Helm 3.18 or newer is neither on PATH nor named by $HELM";
    return { program, version: "missing", fault };
  }
  const version = run.stdout.trim();
  if (/^v(3|4)/.test(version)) return { program, version };
  return { program, version, fault: `${program} is ${version}, not 3 or 4` };
}

/** A suite that renders the chart; skipped with the reason printed where Helm is missing. */
export function chartSuite(name: string, define: (helm: Helm) => void): void {
  for (const helm of HELMS) {
    describe(`${name} (Helm ${helm.version})`, function () {
      this.timeout(240_000);
      before(function () {
        current = helm;
        if (helm.fault === undefined) return;
        process.stderr.write(`${name}: skipped, since ${helm.fault}\n`);
        this.skip();
      });
      define(helm);
    });
  }
}

/** How one render differs from the plain one. */
export type RenderOptions = {
  readonly set?: readonly string[];
  readonly release?: string;
  readonly kubeVersion?: string;
  readonly chart?: string;
};

/** Files under the chart whose values the tests render. */
export const PRESETS = ["values-dev.yaml", "values-production.yaml", "values-10k.yaml"];
const CI_VALUES: readonly string[] = readdirSync(join(CHART, "ci"))
  .filter((name) => name.endsWith("-values.yaml"))
  .map((name) => `ci/${name}`)
  .sort();
export const ALL_VALUES: readonly string[] = [...PRESETS, ...CI_VALUES];
export const MINIMAL = "ci/minimal-values.yaml";

function argumentsOf(valuesFile: string | undefined, options: RenderOptions): string[] {
  const { set = [], release = "sms", kubeVersion = "1.32.0", chart = CHART } = options;
  return [
    ...["template", release, chart, "--namespace", "messaging", "--kube-version", kubeVersion],
    ...["--api-versions", "monitoring.coreos.com/v1", "--api-versions", "keda.sh/v1alpha1"],
    ...(valuesFile === undefined ? [] : ["-f", join(CHART, valuesFile)]),
    ...set.flatMap((pair) => ["--set", pair]),
  ];
}

/** The render's text; throws with Helm's words when it fails. */
export function renderText(valuesFile: string | undefined, options: RenderOptions = {}): string {
  return execFileSync(current.program, argumentsOf(valuesFile, options), {
    encoding: "utf8",
    maxBuffer: 64_000_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Helm's error when rendering fails; throws when it succeeds. */
export function refusal(valuesFile: string | undefined, options: RenderOptions = {}): string {
  const run = spawnSync(current.program, argumentsOf(valuesFile, options), { encoding: "utf8" });
  if (run.status === 0) throw new Error("the render went through");
  return run.stderr;
}

/** The NOTES of an installation. `helm template` omits them, so they are rendered as an object's text. */
export function notes(valuesFile: string, options: RenderOptions = {}): string {
  const folder = temporaryFolder("chart");
  try {
    cpSync(CHART, folder, { recursive: true });
    renameSync(join(folder, "templates/NOTES.txt"), join(folder, "notes.txt"));
    const object = 'kind: Notes\ntext: {{ tpl (.Files.Get "notes.txt") . | quote }}\n';
    writeFileSync(join(folder, "templates/notes.yaml"), object);
    const objects = parseObjects(renderText(valuesFile, { ...options, chart: folder }));
    const found = objects.find(({ kind }) => kind === "Notes") as { text?: string } | undefined;
    return found?.text ?? "";
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const rendered = new Map<string, readonly KubeObject[]>();

const texts = new Map<string, string>();

/** The render's text; the same render is done once. */
export function renderOnce(valuesFile: string | undefined, options: RenderOptions = {}): string {
  const key = JSON.stringify([current.program, valuesFile, options]);
  const text = texts.get(key) ?? renderText(valuesFile, options);
  texts.set(key, text);
  return text;
}

/** The render's objects; the same render is done once. */
export function render(
  valuesFile: string | undefined,
  options: RenderOptions = {},
): readonly KubeObject[] {
  const key = JSON.stringify([current.program, valuesFile, options]);
  const known = rendered.get(key);
  if (known !== undefined) return known;
  const objects = parseObjects(renderOnce(valuesFile, options));
  rendered.set(key, objects);
  return objects;
}

/** The objects of a stream of YAML documents. */
export function parseObjects(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** Kinds of operators, which the Kubernetes API does not describe. */
export const FOREIGN =
  /^(monitoring\.coreos\.com|keda\.sh|cert-manager\.io|gateway\.networking\.k8s\.io)\//;
