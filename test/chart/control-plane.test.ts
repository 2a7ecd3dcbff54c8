import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { CHART } from "../../deploy/chart/layout.ts";
import { ROOT } from "../../deploy/dev/paths.ts";
import { eventually } from "../support/poll.ts";
import { skipSince } from "../support/skip.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  apply,
  clusterMissing,
  crd,
  expectAsBefore,
  objectsIn,
  readyWorkloads,
  refusedIn,
  run,
  runBeside,
  type Said,
} from "./control-plane.ts";
import { ALL_VALUES, chartSuite, currentHelm, FOREIGN, render } from "./helm.ts";
import type { KubeObject } from "./kube-types.ts";

const RELEASE = "sms";

chartSuite("the chart on a real control plane", (helm) => {
  const namespace = `sms-chart-${helm.version.replace(/\W/g, "-")}`;
  let folder: string;
  let before_: { own: string[]; cluster: string[] };

  before(function () {
    if (clusterMissing !== undefined) skipSince(this, clusterMissing);
    this.timeout(600_000);
    folder = temporaryFolder("chart");
    apply(namespaceObjects(namespace));
    before_ = { own: objectsIn(namespace), cluster: objectsIn(undefined) };
  });

  after(() => {
    if (clusterMissing !== undefined) return;
    run("kubectl", ["delete", "namespace", namespace, "--wait=false"]);
    run("kubectl", ["delete", "pv", "-l", `for=${namespace}`]);
  });

  for (const values of ALL_VALUES) {
    it(`${values}: the API server takes every object, and warns of none`, () => {
      const objects = render(values)
        .filter(({ apiVersion }) => !FOREIGN.test(apiVersion))
        .map((object) => forDryRun(object, namespace));
      const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
      const { stderr } = run("kubectl", ["apply", "--dry-run=server", "-f", "-"], list);
      expect(stderr).to.equal("");
    });
  }

  it("the version before installs under restricted Pod Security and a quota", async function () {
    const previous = previousChart(folder);
    if (previous === undefined) skipSince(this, "the history has no version before");
    expectQuiet(release("install", previous, namespace));
    await expectAllReady(namespace);
  });

  it("this version installs, or upgrades that one, and nothing warns", async () => {
    const maps = () => objectsIn(namespace).filter((name) => /^configmap\/sms-/.test(name));
    const before = maps();
    const said = release("upgrade", CHART, namespace, "--install");
    expectQuiet(said);
    // Pods of the version before read them until they are replaced.
    expect(maps()).to.include.members(before.filter((name) => !/-(migration|test)$/.test(name)));
    // The notes: how to reach it, how to test it, and what is not safe.
    expect(said.stdout).to.contain(`kubectl -n ${namespace} port-forward svc/sms-gateway`);
    expect(said.stdout).to.contain(`helm -n ${namespace} test sms`);
    expect(said.stdout).to.contain("Calls between services are in clear text");
    await expectAllReady(namespace);
    expect(refusedIn(namespace)).to.deep.equal([]);
  });

  it("helm test succeeds when its pod does, and leaves nothing but that pod, for its log", async () => {
    const made = objectsIn(namespace);
    const test = runBeside(currentHelm(), ["test", RELEASE, "-n", namespace, "--timeout", "2m"]);
    await Promise.all([test, endPod(namespace, "sms-test-round-trip")]);
    const { stdout, stderr } = await test;
    expect(stderr).to.equal("");
    expect(stdout).to.match(/Phase:\s+Succeeded/);
    const left = () => objectsIn(namespace).filter((name) => !made.includes(name));
    const pod = "pod/sms-test-round-trip";
    const isAlone = () => left().join() === pod;
    await eventually(isAlone, { timeoutMs: 30_000, everyMs: 500, what: "a test that cleans up" });
    run("kubectl", ["delete", pod, "-n", namespace]);
  });

  it("a workload keeps its replicas when autoscaling is switched on, and in the upgrade after that", async () => {
    const path = '{.items[?(@.metadata.name=="sms-wallet")].spec.replicas}';
    expect(fieldOf(namespace, path)).to.equal("3");
    const on = ["--set", "wallet.autoscaling.enabled=true"];
    for (const more of [[], ["--set", "wallet.settings.WALLET_FLUSHES_MAX=9"]]) {
      expectQuiet(release("upgrade", CHART, namespace, ...on, ...more));
      expect(fieldOf(namespace, path)).to.equal("3");
    }
    await expectAllReady(namespace);
  });

  it("a change of the carrier's volume claims is rejected before anything runs, with the fix", () => {
    const change = ["--set", "carrier.persistence.size=2Gi"];
    const first = `kubectl -n ${namespace} delete sts sms-carrier --cascade=orphan`;
    expect(() => release("upgrade", CHART, namespace, ...change)).to.throw(first);
  });

  it("upgrades with other settings, and rolls back", async () => {
    const images = () => fieldOf(namespace, "{..image}");
    const first = images();
    const changed = ["--set", "image.tag=0.0.9", "--set", "wallet.settings.WALLET_FLUSHES_MAX=9"];
    expectQuiet(release("upgrade", nextChart(folder), namespace, ...changed));
    expect(new Set(images().split(" "))).to.deep.equal(new Set(["sms-messaging-service:0.0.9"]));
    const back = ["rollback", RELEASE, "-n", namespace, "--wait", "--timeout", "5m"];
    expectQuiet(run(currentHelm(), back));
    expect(new Set(images().split(" "))).to.deep.equal(new Set(first.split(" ")));
    await expectAllReady(namespace);
    expect(refusedIn(namespace)).to.deep.equal([]);
  });

  it("uninstalls and leaves nothing behind, in the namespace or in the cluster", async () => {
    expectQuiet(
      run(currentHelm(), ["uninstall", RELEASE, "-n", namespace, "--wait", "--timeout", "5m"]),
    );
    // The README's command for hook objects, which belong to no release.
    const hooks = ["-l", "app.kubernetes.io/component in (test, migration)"];
    run("kubectl", ["delete", "pod,job,sa,secret,netpol", "-n", namespace, ...hooks]);
    await expectAsBefore(namespace, before_);
  });

  it("the plain Job of GitOps passes the same steps", async () => {
    const gitops = ["--set", "migration.useHelmHooks=false", "--set", "test.enabled=false"];
    expectQuiet(release("install", CHART, namespace, ...gitops));
    const jobs = () => run("kubectl", ["get", "job", "-n", namespace, "-o", "name"]).stdout;
    const first = jobs();
    expect(first).to.match(/^job.batch\/sms-migration-\S+\n$/);
    expectQuiet(release("upgrade", CHART, namespace, ...gitops, "--set", "image.tag=0.0.9"));
    expect(jobs()).to.match(/^job.batch\/sms-migration-\S+\n$/);
    expect(jobs()).to.not.equal(first);
    expectQuiet(run(currentHelm(), ["uninstall", RELEASE, "-n", namespace, "--wait"]));
    await expectAsBefore(namespace, before_);
  });
});

/**
 * Notes of Helm 4's client at level "info" (klog's `I`): it throttles its requests or restarts a watch.
 * Warnings of the API server come as `W` or as plain text.
 */
const CLIENT_NOTE = /^I\d{4} \S+ +\d+ (request|reflector)\.go:\d+\] /;

/** Helm's own words go to standard output; anything else is a warning. */
function expectQuiet({ stdout, stderr }: Said): void {
  const said = stderr.split("\n").filter((line) => line !== "" && !CLIENT_NOTE.test(line));
  expect(said).to.deep.equal([]);
  expect(stdout.split("\n").filter((line) => /warn/i.test(line))).to.deep.equal([]);
}

/** Helm waits until new pods serve; that old ones have gone comes a moment later. */
async function expectAllReady(namespace: string): Promise<void> {
  const what = "workloads whose replicas are all ready";
  const all = run("kubectl", ["get", "deploy,sts", "-n", namespace, "-o", "name"]).stdout;
  const count = all.split("\n").filter(Boolean).length;
  const areAll = () => count > 0 && readyWorkloads(namespace).length === count;
  await eventually(areAll, { timeoutMs: 60_000, everyMs: 500, what });
}

/** The production preset, with the optional components that the chart's version has. */
function release(verb: string, chart: string, namespace: string, ...more: string[]): Said {
  const wait = ["-n", namespace, "--wait", "--timeout", "5m"];
  const known = readFileSync(join(chart, "values.yaml"), "utf8");
  const optional = ["operatorConsole", "toolbox"].filter((key) => known.includes(`\n${key}:\n`));
  const on = optional.flatMap((key) => ["--set", `${key}.enabled=true`]);
  const values = ["-f", join(chart, "values-production.yaml"), ...on];
  return run(currentHelm(), [verb, RELEASE, chart, ...wait, ...values, ...more]);
}

/** In the test's namespace; a bare pod is admitted only when what it names is there, which a dry run does not make. */
function forDryRun(object: KubeObject, namespace: string): KubeObject {
  const metadata = { ...object.metadata, namespace };
  if (object.kind !== "Pod" || object.spec === undefined) return { ...object, metadata };
  const { priorityClassName: _, runtimeClassName: __, ...spec } = object.spec;
  return { ...object, metadata, spec: { ...spec, serviceAccountName: "default" } };
}

/** Lets a pod that no node really runs come to a good end. */
async function endPod(namespace: string, name: string): Promise<void> {
  const patch = JSON.stringify({ status: { phase: "Succeeded" } });
  const args = ["patch", "pod", name, "-n", namespace, "--subresource=status", "-p", patch];
  const isPatched = () => {
    const phase = run("kubectl", ["get", "pod", name, "-n", namespace, "-o", "name"]);
    return phase.stdout !== "" && run("kubectl", args).stdout !== "";
  };
  await eventually(isPatched, { timeoutMs: 60_000, everyMs: 200, what: "the test's pod" });
}

function fieldOf(namespace: string, path: string): string {
  const args = ["get", "deploy,sts", "-n", namespace, "-o", `jsonpath=${path}`];
  return run("kubectl", args).stdout.trim();
}

/** The chart under the next number. */
function nextChart(folder: string): string {
  const chart = join(folder, "next");
  cpSync(CHART, chart, { recursive: true });
  const file = join(chart, "Chart.yaml");
  const text = readFileSync(file, "utf8").replace(/^version: .*$/m, "version: 9.9.9");
  writeFileSync(file, text);
  return chart;
}

/** The chart as it was under the version before, from the history; nothing where there is none. */
function previousChart(folder: string): string | undefined {
  const git = (...args: string[]) => spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  const versionAt = (commit: string) =>
    /^version: (.*)$/m.exec(git("show", `${commit}:helm/sms/Chart.yaml`).stdout)?.[1];
  const now = /^version: (.*)$/m.exec(readFileSync(join(CHART, "Chart.yaml"), "utf8"))?.[1];
  const commits = git("log", "--format=%H", "--", "helm/sms").stdout.split("\n").filter(Boolean);
  const commit = commits.find((one) => ![undefined, now].includes(versionAt(one)));
  if (commit === undefined) return undefined;
  const chart = join(folder, "previous");
  mkdirSync(chart);
  const archive = execFileSync("git", ["archive", commit, "helm/sms"], {
    cwd: ROOT,
    maxBuffer: 64_000_000,
  });
  execFileSync("tar", ["-x", "-C", chart], { input: archive });
  return join(chart, "helm/sms");
}

/** A namespace with everything that may stand in the way, volumes, and kinds of operators. */
function namespaceObjects(namespace: string): string {
  // Three for each installation, because a used one is not wiped.
  const volumes = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((count) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `${namespace}-${count}`, labels: { for: namespace } },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Gi" },
      nfs: { server: "nowhere.invalid", path: "/" },
    },
  }));
  const objects = [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: {
        name: namespace,
        labels: Object.fromEntries(
          ["enforce", "warn", "audit"].map((what) => [
            `pod-security.kubernetes.io/${what}`,
            "restricted",
          ]),
        ),
      },
    },
    {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "quota", namespace },
      spec: {
        hard: {
          ...{ "requests.cpu": "40", "requests.memory": "60Gi", pods: "80" },
          ...{ "limits.cpu": "100", "limits.memory": "60Gi", persistentvolumeclaims: "3" },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: "limits", namespace },
      spec: {
        limits: [
          {
            type: "Container",
            default: { cpu: "2", memory: "512Mi" },
            defaultRequest: { cpu: "100m", memory: "128Mi" },
            min: { cpu: "50m", memory: "64Mi" },
            max: { cpu: "4", memory: "4Gi" },
          },
        ],
      },
    },
    ...volumes,
    crd("monitoring.coreos.com", "v1", "ServiceMonitor"),
    crd("monitoring.coreos.com", "v1", "PrometheusRule"),
  ];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
}
