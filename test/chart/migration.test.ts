import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { CHART } from "../../deploy/chart/layout.ts";
import { valuePaths } from "../../deploy/chart/values-tree.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { ALL_VALUES, chartSuite, MINIMAL, render } from "./helm.ts";
import { immutableFields } from "./immutable-fields.ts";
import type { KubeObject } from "./kube-types.ts";
import {
  COMPONENT,
  isHook,
  label,
  ofKind,
  settingsOf,
  type Workload,
  workloadsOf,
} from "./workloads.ts";

const weightOf = ({ metadata }: KubeObject) =>
  Number(metadata.annotations?.["helm.sh/hook-weight"] ?? 0);

chartSuite("the migration", () => {
  it("keeps what a running Job needs when Helm stops waiting for it", () => {
    // `hook-succeeded` deletes objects of lower weight also when the Job's own wait ends in a time-out.
    for (const object of render(MINIMAL).filter(isHook)) {
      const policy = object.metadata.annotations?.["helm.sh/hook-delete-policy"];
      expect(policy, label(object)).to.equal("before-hook-creation");
    }
  });

  it("is a hook before install and upgrade, bounded in attempts and time, and cleans up", () => {
    const [job] = ofKind(render(MINIMAL), "Job");
    expect(job?.metadata.annotations).to.include({
      "helm.sh/hook": "pre-install,pre-upgrade",
      "helm.sh/hook-delete-policy": "before-hook-creation",
    });
    const { activeDeadlineSeconds, backoffLimit, ttlSecondsAfterFinished } = job?.spec ?? {};
    expect(backoffLimit).to.be.within(1, 10);
    expect(activeDeadlineSeconds).to.be.within(60, 3600);
    expect(ttlSecondsAfterFinished).to.be.greaterThan(60);
  });

  it("has less time than the documents have Helm wait", () => {
    const [job] = ofKind(render(MINIMAL), "Job");
    for (const name of ["README.md", "UPGRADING.md"]) {
      const text = readFileSync(join(CHART, name), "utf8");
      const waits = [...text.matchAll(/--timeout (\d+)m/g)].map(([, minutes]) => Number(minutes));
      expect(waits, name).to.not.be.empty;
      const least = Math.min(...waits) * 60;
      expect(least, name).to.be.greaterThan(job?.spec?.activeDeadlineSeconds ?? 0);
    }
  });

  it("logs at the level that is set for it", () => {
    const objects = render(MINIMAL, { set: ["migration.logLevel=debug"] });
    expect(settingsOf(objects, "migration").LOG_LEVEL).to.equal("debug");
    expect(settingsOf(objects, "wallet").LOG_LEVEL).to.equal("info");
  });

  it("under GitOps is a plain Job whose name changes with what it would run", () => {
    const nameOf = (set: string[]) => {
      const objects = render("ci/gitops-values.yaml", { set });
      expect(objects.filter(isHook)).to.deep.equal([]);
      return ofKind(objects, "Job")[0]?.metadata.name;
    };
    const names = [[], ["image.tag=9.9.9"], ["migration.logLevel=debug"]].map(nameOf);
    expect(names[0]).to.match(
      new RegExp(`^sms-migration-${chartVersion().replaceAll(".", "-")}-[0-9a-f]{8}$`),
    );
    expect(new Set(names).size).to.equal(3);
    expect(nameOf([])).to.equal(names[0]);
  });

  it("every object that the hook reads is a hook of lower weight, or external", () => {
    for (const values of ALL_VALUES) {
      const objects = render(values);
      for (const job of workloadsOf(objects)) {
        const { object } = job;
        if (!isHook(object) || object.kind !== "Job") continue;
        for (const name of readBy(job)) {
          const read = objects.filter((one) => label(one) === name);
          const hook = read.find(isHook);
          if (read.length === 0) expect(name).to.match(/^Secret\//);
          else
            expect(hook === undefined ? 1 : weightOf(hook), name).to.be.lessThan(weightOf(object));
        }
      }
    }
  });

  it("without hooks, objects that the Job reads have its annotations, so they share a sync wave", () => {
    const wave = { "argocd.argoproj.io/sync-wave": "-5" };
    expectTogether(render("ci/gitops-values.yaml"), wave);
    const set = ["migration.useHelmHooks=false", "migration.annotations.wave=early"];
    const objects = render("ci/inline-credentials-values.yaml", { set });
    expectTogether(objects, { wave: "early" });
    const own = ofKind(objects, "Secret").find(({ metadata }) => metadata.annotations);
    expect(Object.keys(own?.stringData ?? {})).to.have.members(["mongodb-uri", "nats-url"]);
  });

  it("a plain Job stays when it is done, because GitOps tools would report it missing", () => {
    const [job] = ofKind(render("ci/gitops-values.yaml"), "Job");
    expect(job?.spec).to.not.have.property("ttlSecondsAfterFinished");
  });

  it("a new chart version changes no field that Kubernetes refuses to change", () => {
    const folder = temporaryFolder("chart");
    try {
      cpSync(CHART, folder, { recursive: true });
      const file = join(folder, "Chart.yaml");
      const next = readFileSync(file, "utf8")
        .replace(/^version: .*$/m, "version: 9.9.9")
        .replace(/^appVersion: .*$/m, 'appVersion: "9.9.9"');
      writeFileSync(file, next);
      for (const values of ["values-production.yaml", "ci/inline-credentials-values.yaml"]) {
        const after = immutableFields(render(values, { chart: folder }));
        expect(after).to.deep.equal(immutableFields(render(values)));
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("those fields and all values equal the last release's, or the version announces the break", () => {
    const file = join(import.meta.dirname, "./released-fields.json");
    const released = JSON.parse(readFileSync(file, "utf8")) as Released;
    const now = valuePaths(readFileSync(join(CHART, "values.yaml"), "utf8"));
    const gone = released.values.filter((path) => !now.includes(path));
    const fields = immutableFields(render(MINIMAL));
    if (isBreaking(released.version, chartVersion())) return;
    expect(gone, "a value went: keep it as refused, or raise the version").to.deep.equal([]);
    // New objects change none that exist.
    const kept = Object.keys(released.fields).map((name) => [name, fields[name]]);
    expect(Object.fromEntries(kept)).to.deep.equal(released.fields);
  });

  it("below 1.0 the minor version is the one that may break", () => {
    expect(isBreaking("0.1.0", "0.1.1")).to.equal(false);
    expect(isBreaking("0.1.0", "0.2.0")).to.equal(true);
    expect(isBreaking("1.4.0", "1.5.0")).to.equal(false);
    expect(isBreaking("1.4.0", "2.0.0")).to.equal(true);
  });
});

/** The objects that a workload's pod cannot start without, by label. */
function readBy({ pod, containers }: Workload): string[] {
  return [
    `ServiceAccount/${pod.serviceAccountName}`,
    ...containers.flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.flatMap(({ configMapRef, secretRef }) => [
        ...(configMapRef ? [`ConfigMap/${configMapRef.name}`] : []),
        ...(secretRef ? [`Secret/${secretRef.name}`] : []),
      ]),
      ...env.flatMap(({ valueFrom }) =>
        valueFrom?.secretKeyRef ? [`Secret/${valueFrom.secretKeyRef.name}`] : [],
      ),
    ]),
    ...(pod.volumes ?? []).flatMap(({ secret }) => (secret ? [`Secret/${secret.secretName}`] : [])),
  ];
}

/** The Job, all that it reads of this render, and its network policy have these annotations. */
function expectTogether(objects: readonly KubeObject[], annotations: Record<string, string>): void {
  const [job] = workloadsOf(objects).filter(({ kind }) => kind === "Job");
  if (job === undefined) throw new Error("no Job was rendered");
  const read = readBy(job);
  const needed = objects.filter(
    (one) =>
      one === job.object ||
      read.includes(label(one)) ||
      one.spec?.podSelector?.matchLabels[COMPONENT] === job.component,
  );
  const kinds = needed.map(({ kind }) => kind);
  expect(kinds).to.include.members(["Job", "ServiceAccount", "NetworkPolicy"]);
  for (const one of needed) expect(one.metadata.annotations, label(one)).to.include(annotations);
}

type Released = {
  readonly version: string;
  readonly values: readonly string[];
  readonly fields: Readonly<Record<string, unknown>>;
};

function chartVersion(): string {
  return /^version: (.*)$/m.exec(readFileSync(join(CHART, "Chart.yaml"), "utf8"))?.[1] ?? "";
}

/** Whether going from one version to another announces a break (Semantic Versioning 2.0, 4 and 8). */
function isBreaking(from: string, to: string): boolean {
  const [a, b] = [from, to].map((one) => one.split(".").map(Number));
  if (a?.[0] === 0 && b?.[0] === 0) return (b[1] ?? 0) > (a[1] ?? 0);
  return (b?.[0] ?? 0) > (a?.[0] ?? 0);
}
