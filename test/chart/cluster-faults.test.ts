import { join } from "node:path";
import { expect } from "chai";
import { CHART } from "../../deploy/chart/layout.ts";
import { CALLER_METHODS } from "../../services/shared/caller-methods.ts";
import { eventually } from "../support/poll.ts";
import { skipSince } from "../support/skip.ts";
import {
  apply,
  clusterMissing,
  crd,
  kindsOf,
  objectsIn,
  readyWorkloads,
  run,
} from "./control-plane.ts";
import { chartSuite, currentHelm, PRESETS } from "./helm.ts";

const ZONE = "topology.kubernetes.io/zone";
const OFF = ["serviceMonitor", "prometheusRule", "dashboards"].flatMap((name) => [
  "--set",
  `monitoring.${name}.enabled=false`,
]);
const NO_VOLUMES = ["--set", "carrier.persistence.enabled=false"];

chartSuite("a release on a cluster with faults", (helm) => {
  const namespace = `sms-faults-${helm.version.replace(/\W/g, "-")}`;
  const nodes = () =>
    run("kubectl", ["get", "nodes", "-o", "name"]).stdout.split("\n").filter(Boolean);
  let zones: readonly (readonly [node: string, zone: string])[] = [];

  before(function () {
    if (clusterMissing !== undefined) skipSince(this, clusterMissing);
    zones = nodes().map((node) => {
      const path = `jsonpath={.metadata.labels.${ZONE.replaceAll(".", "\\.")}}`;
      return [node, run("kubectl", ["get", node, "-o", path]).stdout];
    });
    if (new Set(zones.map(([, zone]) => zone)).size < 3) skipSince(this, "nodes of three zones");
    apply(JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }));
  });
  after(() => {
    if (clusterMissing === undefined) run("kubectl", ["delete", "ns", namespace, "--wait=false"]);
  });
  afterEach(() => {
    if (clusterMissing !== undefined || zones.length === 0) return;
    const release = ["sms", "-n", namespace, "--ignore-not-found", "--no-hooks", "--wait"];
    run(currentHelm(), ["uninstall", ...release]);
    for (const [node, zone] of zones)
      run("kubectl", ["label", node, `${ZONE}=${zone}`, "--overwrite"]);
  });

  function release(verb: string, ...more: string[]): void {
    const base = ["-n", namespace, "-f", join(CHART, "values-production.yaml")];
    run(currentHelm(), [verb, "sms", CHART, ...base, ...NO_VOLUMES, ...OFF, ...more]);
  }

  /** Every workload has all of its replicas ready. */
  async function expectFull(count: number): Promise<void> {
    await eventually(() => readyWorkloads(namespace).length === count, {
      timeoutMs: 60_000,
      everyMs: 500,
      what: `${count} workloads with all replicas ready`,
    });
  }

  const workloads = () =>
    objectsIn(namespace).filter((name) => /^(deployment|statefulset)\./.test(name)).length;

  for (const preset of PRESETS) {
    it(`${preset} installs, upgrades with another setting, and rolls back`, async () => {
      for (const kind of ["ServiceMonitor", "PrometheusRule"]) {
        apply(JSON.stringify(crd("monitoring.coreos.com", "v1", kind)));
      }
      apply(JSON.stringify(crd("keda.sh", "v1alpha1", "ScaledObject")));
      const known = () => kindsOf(true).some((name) => name === "scaledobjects.keda.sh");
      await eventually(known, { timeoutMs: 30_000, everyMs: 500, what: "KEDA's kind" });
      const wait = ["-n", namespace, "--wait", "--timeout", "3m"];
      const chart = [CHART, ...wait, "-f", join(CHART, preset), ...NO_VOLUMES];
      const level = () =>
        run("kubectl", ["get", "deploy/sms-wallet", "-n", namespace, "-o", "yaml"]).stdout;
      run(currentHelm(), ["install", "sms", ...chart]);
      await expectFull(workloads());
      run(currentHelm(), ["upgrade", "sms", ...chart, "--set", "wallet.logLevel=trace"]);
      expect(level()).to.match(/LOG_LEVEL\n *value: trace/);
      run(currentHelm(), ["rollback", "sms", ...wait]);
      expect(level()).to.not.match(/LOG_LEVEL\n *value: trace/);
      await expectFull(workloads());
    });
  }

  for (const rule of ["ScheduleAnyway", "DoNotSchedule"]) {
    it(`the loss of a zone leaves every workload at its full count in the other two (${rule})`, async () => {
      const set = ["--set", `defaults.topologySpread.zone=${rule}`];
      release("install", ...set, "--wait", "--timeout", "3m");
      const [lost = ""] = zones.at(-1) ?? [];
      run("kubectl", ["taint", "node", nameOf(lost), "zone=lost:NoExecute"]);
      try {
        await eventually(() => podsOn(namespace, lost).length === 0, {
          timeoutMs: 60_000,
          everyMs: 500,
          what: "a node without pods",
        });
        await expectFull(workloads());
        run("kubectl", ["delete", "hpa", "sms-messaging", "-n", namespace]);
        run("kubectl", ["scale", "deploy/sms-messaging", "--replicas=12", "-n", namespace]);
        await expectFull(workloads());
        expect(podsOn(namespace, lost)).to.deep.equal([]);
      } finally {
        run("kubectl", ["taint", "node", nameOf(lost), "zone-"]);
      }
    });
  }

  it("the production preset is scheduled on nodes without zone labels", async () => {
    for (const [node] of zones) run("kubectl", ["label", node, `${ZONE}-`]);
    release("install", "--wait", "--timeout", "3m");
    await expectFull(workloads());
  });

  it("replicas spread over zones, although that is only preferred", async () => {
    const set = ["--set", "gateway.autoscaling.enabled=false,gateway.replicas=6"];
    release("install", ...set, "--wait", "--timeout", "3m");
    for (const [node] of zones) {
      const own = podsOn(namespace, node).filter((name) => /^sms-gateway-/.test(name));
      expect(own, node).to.have.length(2);
    }
  });

  it("a migration that outlives Helm's time-out keeps what it needs", () => {
    const stuck = ["--set-string", "migration.nodeSelector.nowhere=true", "--timeout", "5s"];
    expect(() => release("install", ...stuck)).to.throw(/timed out|deadline|pre-install/i);
    expect(objectsIn(namespace)).to.include.members([
      "job.batch/sms-migration",
      "serviceaccount/sms-migration",
      "networkpolicy.networking.k8s.io/sms-migration",
    ]);
  });

  it("a Secret without the callers' tokens is named with its missing keys before anything changes", () => {
    const keys = Object.keys(CALLER_METHODS).map((caller) => [
      `token-${caller}`,
      "0123456789abcdef",
    ]);
    const secret = (stringData: Record<string, string>) =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "sms-credentials", namespace },
        stringData: { token: "0123456789abcdef", ...stringData },
      });
    apply(secret({}));
    expect(() => release("install")).to.throw(/Secret sms-credentials lacks keys .*token-gateway/);
    release("install", "--set", "rpc.tokens=shared");
    expect(() => release("upgrade", "--set", "rpc.tokens=acceptBoth")).to.throw(/lacks keys/);
    apply(secret(Object.fromEntries(keys)));
    for (const step of ["acceptBoth", "sendOwn", "perCaller"]) {
      release("upgrade", "--set", `rpc.tokens=${step}`);
    }
    run("kubectl", ["delete", "secret", "sms-credentials", "-n", namespace]);
  });

  it("kinds that the cluster lacks are named with the setting that asks for them", () => {
    const set = ["--set", "wallet.keda.enabled=true,nats.monitoringEndpoint=nats:8222"];
    run("kubectl", ["delete", "crd", "scaledobjects.keda.sh", "--ignore-not-found"]);
    expect(() => release("install", ...set)).to.throw(
      /wallet\.keda\.enabled needs keda\.sh\/v1alpha1\/ScaledObject/,
    );
  });
});

function nameOf(node: string): string {
  return node.replace("node/", "");
}

function podsOn(namespace: string, node: string): string[] {
  const fields = ["--field-selector", `spec.nodeName=${nameOf(node)}`];
  const path = "jsonpath={.items[*].metadata.name}";
  return run("kubectl", ["get", "pods", "-n", namespace, ...fields, "-o", path])
    .stdout.split(" ")
    .filter(Boolean);
}
