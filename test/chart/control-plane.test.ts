import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { CHART } from "../../deploy/chart/layout.ts";
import { ALL_VALUES, FOREIGN, render } from "./helm.ts";
import type { KubeObject } from "./kube-types.ts";

/** The kubeconfig of a cluster that may be filled and emptied; its nodes may be simulated. */
const CLUSTER = process.env.KUBE_TEST_KUBECONFIG;
const HELM = process.env.HELM ?? "helm";
const NAMESPACE = "sms-chart-test";
const RELEASE = "sms";

const NAMESPACE_OBJECTS = `
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: ${NAMESPACE}}
spec:
  hard: {requests.cpu: "40", requests.memory: 60Gi, limits.memory: 60Gi, pods: "80"}
---
apiVersion: v1
kind: Secret
metadata: {name: sms-credentials, namespace: ${NAMESPACE}}
stringData: {uri: x, nats-url: x, redis-url: x, keys: x, key: x, token: x}
`;

const PLAIN = ["serviceMonitor", "prometheusRule", "dashboards"].flatMap((name) => [
  "--set",
  `monitoring.${name}.enabled=false`,
]);

/** Volumes are not simulated: claims stay pending, and with them the carrier. */
const VALUES = ["-f", join(CHART, "values-production.yaml"), ...PLAIN];
const NO_VOLUMES = ["--set", "carrier.persistence.enabled=false"];

describe("the chart on a real control plane", function () {
  this.timeout(600_000);
  let next: string;

  before(function () {
    if (CLUSTER === undefined) {
      process.stderr.write("skipped, since $KUBE_TEST_KUBECONFIG names no cluster\n");
      return this.skip();
    }
    next = nextVersion();
    run("kubectl", ["apply", "-f", "-"], NAMESPACE_OBJECTS);
  });

  after(() => {
    if (CLUSTER === undefined) return;
    run("kubectl", ["delete", "namespace", NAMESPACE, "--wait=false"]);
    rmSync(next, { recursive: true });
  });

  for (const values of ALL_VALUES) {
    it(`${values}: the API server takes every object, and warns of none`, () => {
      const objects = render(values)
        .filter(({ apiVersion }) => !FOREIGN.test(apiVersion))
        .map(forDryRun);
      const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
      const { stderr } = run("kubectl", ["apply", "--dry-run=server", "-f", "-"], list);
      expect(warningsIn(stderr)).to.deep.equal([]);
    });
  }

  it("installs where Pod Security is restricted and a quota stands, and nothing warns", () => {
    const { stderr } = helm("install", CHART);
    expect(warningsIn(stderr)).to.deep.equal([]);
    expect(readyWorkloads()).to.have.length(8);
  });

  it("upgrades to a version with another number, and back, without a field that cannot change", () => {
    expect(warningsIn(helm("upgrade", next).stderr)).to.deep.equal([]);
    run(HELM, ["rollback", RELEASE, "1", "-n", NAMESPACE, "--wait", "--timeout", "5m"]);
    expect(readyWorkloads()).to.have.length(8);
  });

  it("uninstalls and leaves nothing behind", () => {
    run(HELM, ["uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout", "5m"]);
    const kinds = "all,cm,secret,sa,pvc,networkpolicy,pdb,ingress,job,hpa,role,rolebinding";
    const args = ["get", kinds, "-n", NAMESPACE, "-l", `app.kubernetes.io/instance=${RELEASE}`];
    const left = run("kubectl", [...args, "-o", "name"])
      .stdout.split("\n")
      .filter(Boolean);
    // Replica sets and pods go a moment after what owns them.
    expect(left.filter((name) => !/^(pod|replicaset)/.test(name))).to.deep.equal([]);
  });
});

/** In the test's namespace; a bare pod is admitted only when what it names is there, which a dry run does not make. */
function forDryRun(object: KubeObject): KubeObject {
  const metadata = { ...object.metadata, namespace: NAMESPACE };
  if (object.kind !== "Pod" || object.spec === undefined) return { ...object, metadata };
  const { priorityClassName: _, ...spec } = object.spec;
  return { ...object, metadata, spec: { ...spec, serviceAccountName: "default" } };
}

function helm(verb: "install" | "upgrade", chart: string) {
  const wait = ["-n", NAMESPACE, "--wait", "--timeout", "5m"];
  return run(HELM, [verb, RELEASE, chart, ...wait, ...VALUES, ...NO_VOLUMES]);
}

function run(program: string, args: readonly string[], input?: string) {
  const done = spawnSync(program, [...args], {
    encoding: "utf8",
    env: { ...process.env, KUBECONFIG: CLUSTER },
    ...(input === undefined ? {} : { input }),
  });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}\n${done.stderr}`);
  return done;
}

function warningsIn(text: string): string[] {
  return text.split("\n").filter((line) => /warn|^W\d{4}/i.test(line));
}

/** Workloads all of whose replicas are there and ready. */
function readyWorkloads(): string[] {
  const { stdout } = run("kubectl", ["get", "deploy,sts", "-n", NAMESPACE, "-o", "json"]);
  const { items } = JSON.parse(stdout) as {
    items: {
      metadata: { name: string };
      spec: { replicas: number };
      status: { readyReplicas?: number };
    }[];
  };
  return items
    .filter(({ spec, status }) => spec.replicas > 0 && status.readyReplicas === spec.replicas)
    .map(({ metadata }) => metadata.name);
}

/** The chart under the next number. */
function nextVersion(): string {
  const folder = mkdtempSync(join(tmpdir(), "chart-"));
  cpSync(CHART, folder, { recursive: true });
  const file = join(folder, "Chart.yaml");
  const text = readFileSync(file, "utf8").replace(/^version: .*$/m, "version: 9.9.9");
  writeFileSync(file, text);
  return folder;
}
