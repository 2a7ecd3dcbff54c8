import { expect } from "chai";
import { readCampaignConfig } from "../../services/campaign/config.ts";
import { readCarrierConfig } from "../../services/carrier/config.ts";
import { readMessagingConfig } from "../../services/messaging/config.ts";
import { readWebhookConfig } from "../../services/webhook/config.ts";
import { TEST_ENCRYPTION_KEYS } from "../support/webhook-harness.ts";
import { ALL_VALUES, chartSuite, MINIMAL, refusal, render } from "./helm.ts";
import {
  cores,
  envOf,
  GRPC_COMPONENTS,
  label,
  mebibytes,
  ofKind,
  selects,
  servingWorkloads,
  settingsOf,
  type Workload,
  workloadsOf,
} from "./workloads.ts";

/** Without consent, promotional sends are refused. */
const REQUEST_PATH = [
  ...["gateway", "tenant", "sender-id", "wallet", "routing", "messaging", "consent"],
];

chartSuite("availability and shutdown", () => {
  it("production runs at least three replicas of everything a request passes", () => {
    for (const values of [
      "values-production.yaml",
      "values-10k.yaml",
      "ci/production-values.yaml",
    ]) {
      const objects = render(values);
      for (const workload of servingWorkloads(objects)) {
        if (!REQUEST_PATH.includes(workload.component)) continue;
        expect(leastReplicas(objects, workload), workload.name).to.be.at.least(3);
      }
    }
  });

  it("every workload with replicas has a disruption budget of one, and no single one has", () => {
    for (const values of ALL_VALUES) {
      const objects = render(values);
      const budgets = ofKind(objects, "PodDisruptionBudget");
      for (const workload of servingWorkloads(objects)) {
        const own = budgets.filter(({ spec }) =>
          selects(spec?.selector?.matchLabels ?? {}, workload.metadata.labels),
        );
        const isExpected = leastReplicas(objects, workload) > 1;
        expect(own, `${values} ${workload.name}`).to.have.length(isExpected ? 1 : 0);
        if (!isExpected) continue;
        expect(own[0]?.spec?.maxUnavailable).to.equal(1);
        expect(own[0]?.spec?.unhealthyPodEvictionPolicy).to.equal("AlwaysAllow");
      }
    }
  });

  it("pods spread over zones and hosts among their own kind and revision", () => {
    const objects = render("ci/production-values.yaml");
    for (const { kind, metadata, name, pod } of servingWorkloads(objects)) {
      const rules = pod.topologySpreadConstraints ?? [];
      expect(rules.map(({ topologyKey }) => topologyKey)).to.have.members([
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
      ]);
      for (const { labelSelector, matchLabelKeys, nodeTaintsPolicy } of rules) {
        // Otherwise a lost zone counts as one that the next pod must go to, and nothing is scheduled.
        expect(nodeTaintsPolicy, name).to.equal("Honor");
        expect(selects(labelSelector.matchLabels, metadata.labels), name).to.equal(true);
        const picked = workloadsOf(objects).filter((one) =>
          selects(labelSelector.matchLabels, one.metadata.labels),
        );
        expect(picked.map((one) => one.name)).to.deep.equal([name]);
        if (kind === "Deployment") expect(matchLabelKeys).to.deep.equal(["pod-template-hash"]);
      }
    }
  });

  it("every container asks for CPU and memory, has a memory limit, and a heap within 75 % of it", () => {
    for (const values of ALL_VALUES) {
      for (const { containers, name } of workloadsOf(render(values))) {
        for (const { command = [], resources } of containers) {
          expect(resources?.requests, name).to.include.keys("cpu", "memory");
          // Containers that an operator adds have programs of their own.
          if (command[0] !== "node") continue;
          const limit = mebibytes(resources?.limits?.memory ?? "");
          const heap = Number(/--max-old-space-size=(\d+)/.exec(command.join(" "))?.[1]);
          expect(heap, `${values} ${name}`).to.be.within(64, limit * 0.75);
        }
      }
    }
  });

  it("a memory limit is read in every notation, or refused with an explaining line", () => {
    const limit = (quantity: string) => ({ set: [`wallet.resources.limits.memory=${quantity}`] });
    for (const [quantity, mib] of [
      ["1073741824", 1024],
      ["1e9", 953],
      ["1.5Gi", 1536],
      ["0.5Gi", 512],
      ["1G", 953],
      ["524288Ki", 512],
    ] as const) {
      const wallet = servingWorkloads(render(MINIMAL, limit(quantity))).find(
        ({ component }) => component === "wallet",
      );
      const heap = `--max-old-space-size=${Math.floor(mib * 0.7)}`;
      expect(wallet?.containers[0]?.command, quantity).to.include(heap);
    }
    for (const quantity of ["512", "1500m", "1.2.3Gi", "5E"]) {
      const line = refusal(MINIMAL, limit(quantity)).split("\n")[0];
      expect(line).to.match(/wallet: resources\.limits\.memory: .* as 512Mi or 1\.5Gi\.$/);
    }
  });

  it("a gateway without replicas still gets a number that it takes", () => {
    const objects = render(MINIMAL, { set: ["gateway.replicas=0"] });
    expect(settingsOf(objects, "gateway")).to.include({ GATEWAY_REPLICAS: "1" });
  });

  it("startup, readiness and liveness probes check different things, and liveness checks no dependency", () => {
    for (const { containers, name } of servingWorkloads(render("ci/every-option-values.yaml"))) {
      const [container] = containers;
      const { livenessProbe, readinessProbe, startupProbe } = container ?? {};
      const asked = [startupProbe, readinessProbe, livenessProbe].map((probe) =>
        JSON.stringify([probe?.grpc, probe?.httpGet, probe?.tcpSocket]),
      );
      expect(new Set(asked).size, name).to.equal(3);
      // /livez only proves that the event loop turns: see the ops server.
      expect(livenessProbe?.httpGet, name).to.deep.equal({ path: "/livez", port: "ops" });
    }
  });

  it("messaging has started when all that it depends on answers, and has ten minutes for that", () => {
    for (const values of ALL_VALUES) {
      const messaging = servingWorkloads(render(values)).find(
        ({ component }) => component === "messaging",
      );
      const probe = messaging?.containers[0]?.startupProbe;
      expect(probe?.httpGet, values).to.deep.equal({ path: "/readyz", port: "ops" });
      const { failureThreshold = 0, periodSeconds = 0 } = probe ?? {};
      expect(failureThreshold * periodSeconds, values).to.be.at.least(600);
    }
  });

  it("the carrier is ready, not only started, when all that it depends on answers", () => {
    const [carrier] = workloadsOf(ofKind(render(MINIMAL), "StatefulSet"));
    const { readinessProbe, startupProbe } = carrier?.containers[0] ?? {};
    expect(readinessProbe?.httpGet).to.deep.equal({ path: "/readyz", port: "ops" });
    expect(startupProbe?.tcpSocket).to.deep.equal({ port: "ops" });
  });

  it("gRPC services are asked over grpc.health.v1 for their own service", () => {
    const served = new Map(
      servingWorkloads(render(MINIMAL)).map(({ component, containers }) => [
        component,
        containers[0]?.readinessProbe?.grpc,
      ]),
    );
    expect(served.get("wallet")).to.deep.equal({ port: 9090, service: "sms.v1.WalletService" });
    expect(served.get("sender-id")?.service).to.equal("sms.v1.SenderIdService");
    const asked = [...served].filter(([, probe]) => probe !== undefined).map(([name]) => name);
    expect(asked).to.have.members(GRPC_COMPONENTS);
  });

  it("with mutual TLS probes ask a port of its own, since they could show no certificate", () => {
    const workloads = servingWorkloads(render("ci/existing-tls-values.yaml"));
    const asked = workloads.filter(({ containers }) => containers[0]?.readinessProbe?.grpc);
    expect(asked).to.have.length(8);
    for (const workload of asked) {
      const [container] = workload.containers;
      const port = container?.readinessProbe?.grpc?.port;
      expect(envOf(workload, "GRPC_HEALTH_PORT"), workload.name).to.equal(String(port));
      expect(envOf(workload, "GRPC_PORT"), workload.name).to.not.equal(String(port));
      const declared = container?.ports?.find(({ name }) => name === "health");
      expect(declared?.containerPort, workload.name).to.equal(port);
    }
  });

  it("the grace covers preStop, drain delay, close timeout and five seconds", () => {
    for (const values of ALL_VALUES) {
      for (const workload of servingWorkloads(render(values))) {
        const preStop = workload.containers[0]?.lifecycle?.preStop?.sleep?.seconds ?? 0;
        const delayMs = Number(envOf(workload, "DRAIN_DELAY_MS"));
        const closeMs = Number(envOf(workload, "CLOSE_TIMEOUT_MS"));
        const grace = workload.pod.terminationGracePeriodSeconds ?? 30;
        expect(preStop, workload.name).to.be.greaterThan(0);
        expect(grace, workload.name).to.be.greaterThan(preStop + (delayMs + closeMs) / 1000 + 5);
      }
    }
    const words = refusal(MINIMAL, { set: ["wallet.closeTimeoutMs=60000"] });
    expect(words).to.contain("wallet: terminationGracePeriodSeconds must exceed");
  });

  it("a carrier has time for both of its waits: for responses, and for its reports to messaging", () => {
    const line = (set: string[]) => refusal(MINIMAL, { set }).split("\n")[0];
    const words = (leastMs: number) =>
      `carrier: closeTimeoutMs must be twice settings.CARRIER_DRAIN_MS and 5 s more, so at least ${leastMs}.`;
    expect(line(["carrier.settings.CARRIER_DRAIN_MS=10001"])).to.contain(words(25_002));
    expect(line(["carrier.closeTimeoutMs=24999"])).to.contain(words(25_000));
    for (const set of [
      ["carrier.settings.CARRIER_DRAIN_MS=0", "carrier.closeTimeoutMs=5000"],
      [
        "carrier.settings.CARRIER_DRAIN_MS=20000",
        "carrier.closeTimeoutMs=45000",
        "carrier.terminationGracePeriodSeconds=60",
      ],
    ]) {
      expect(render(MINIMAL, { set })).to.not.be.empty;
    }
    // The chart's default equals the service's.
    const env = { MONGODB_URI: "x", NATS_URL: "x", REDIS_URL: "x" };
    expect(readCarrierConfig(env).CARRIER_DRAIN_MS).to.equal(10_000);
  });

  // The chart's default equals the service's.
  const ENV = { MONGODB_URI: "x", NATS_URL: "x", REDIS_URL: "x" };
  const KEYED_ENV = { ...ENV, ENCRYPTION_KEYS: TEST_ENCRYPTION_KEYS };
  for (const [what, service, name, other, defaults] of [
    [
      "a carrier takes a submit to be in doubt for as long as messaging does",
      "carrier",
      "SUBMISSION_UNKNOWN_WAIT_MS",
      "3600000",
      [readCarrierConfig(ENV).SUBMISSION_UNKNOWN_WAIT_MS, 600_000],
    ],
    [
      "webhook keeps an idempotency key as long as messaging",
      "webhook",
      "IDEMPOTENCY_TTL_MS",
      "172800000",
      [readWebhookConfig(KEYED_ENV).IDEMPOTENCY_TTL_MS, 86_400_000],
    ],
    [
      "campaign keeps an idempotency key as long as messaging",
      "campaign",
      "IDEMPOTENCY_TTL_MS",
      "172800000",
      [readCampaignConfig(ENV).IDEMPOTENCY_TTL_MS, 86_400_000],
    ],
  ] as const) {
    it(what, () => {
      const setting = `settings.${name}`;
      const known = (set: string[]) => settingsOf(render(MINIMAL, { set }), service)[name];
      expect(known([])).to.equal(undefined);
      expect(known([`messaging.${setting}=${other}`])).to.equal(other);
      expect(known([`messaging.${setting}=7000`, `${service}.${setting}=7000`])).to.equal("7000");
      const words = `${service}: settings.${name} is that of messaging.settings`;
      expect(refusal(MINIMAL, { set: [`${service}.${setting}=7000`] })).to.contain(words);
      const [own, taken] = defaults;
      expect(own).to.equal(taken);
      expect(readMessagingConfig(ENV)[name]).to.equal(taken);
    });
  }

  it("before Kubernetes 1.30 the wait before SIGTERM is a command of the image's own", () => {
    for (const { containers } of servingWorkloads(render(MINIMAL, { kubeVersion: "1.29.0" }))) {
      expect(containers[0]?.lifecycle?.preStop?.exec?.command[0]).to.equal("node");
    }
  });

  it("a rollout adds a pod before it takes one, waits for it to be steady, and ends", () => {
    for (const { kind, name, object } of servingWorkloads(render("values-10k.yaml"))) {
      expect(object.spec?.minReadySeconds, name).to.be.greaterThan(0);
      expect(object.spec?.revisionHistoryLimit, name).to.be.within(1, 10);
      if (kind !== "Deployment") continue;
      const { maxSurge, maxUnavailable } = object.spec?.strategy?.rollingUpdate ?? {};
      expect(maxUnavailable, name).to.equal(0);
      expect(Number.parseInt(String(maxSurge), 10), name).to.be.at.least(1);
      expect(object.spec?.progressDeadlineSeconds, name).to.be.greaterThan(60);
    }
  });

  it("the carrier keeps its name and its journal", () => {
    const [carrier] = ofKind(render(MINIMAL), "StatefulSet");
    const [workload] = workloadsOf(carrier === undefined ? [] : [carrier]);
    const env = workload?.containers[0]?.env?.find(({ name }) => name === "CARRIER_ID");
    expect(env?.valueFrom?.fieldRef?.fieldPath).to.equal("metadata.name");
    const claim = carrier?.spec?.volumeClaimTemplates?.[0]?.metadata.name;
    const mount = workload?.containers[0]?.volumeMounts?.find(({ name }) => name === claim);
    const { CARRIER_JOURNAL_DIR } = settingsOf(render(MINIMAL), "carrier");
    expect(CARRIER_JOURNAL_DIR).to.equal(mount?.mountPath);
  });
});

chartSuite("scaling", () => {
  it("the number of replicas is left out where an autoscaler owns it, and only there", () => {
    for (const values of ["ci/keda-values.yaml", "values-10k.yaml", MINIMAL]) {
      const objects = render(values);
      const owned = scalersOf(objects).map(({ spec }) => spec?.scaleTargetRef?.name);
      for (const { name, object } of servingWorkloads(objects)) {
        expect(object.spec?.replicas === undefined, name).to.equal(owned.includes(name));
      }
    }
  });

  it("the autoscaling threshold is below the capacity of one event loop", () => {
    for (const values of ALL_VALUES) {
      const objects = render(values);
      for (const { spec } of ofKind(objects, "HorizontalPodAutoscaler")) {
        const name = spec?.scaleTargetRef?.name ?? "";
        const [workload] = servingWorkloads(objects).filter((one) => one.name === name);
        const request = workload?.containers[0]?.resources?.requests?.cpu ?? "";
        const share = spec?.metrics?.[0]?.resource?.target.averageUtilization ?? 100;
        expect((cores(request) * share) / 100, `${values} ${name}`).to.be.below(1);
      }
    }
  });

  it("autoscalers target rendered workloads and scale down slowly", () => {
    const objects = render("ci/keda-values.yaml");
    for (const scaler of scalersOf(objects)) {
      const { kind, name } = scaler.spec?.scaleTargetRef ?? {};
      expect(objects.map(label)).to.include(`${kind}/${name}`);
    }
    for (const { apiVersion, spec } of ofKind(objects, "HorizontalPodAutoscaler")) {
      expect(apiVersion).to.equal("autoscaling/v2");
      expect(spec?.behavior?.scaleDown?.stabilizationWindowSeconds).to.be.at.least(60);
    }
  });

  it("consumers scale on the lag of the durables that the code makes, the carrier on waiting time", () => {
    const triggers = new Map(
      ofKind(render("ci/keda-values.yaml"), "ScaledObject").map(({ metadata, spec }) => [
        metadata.name,
        spec?.triggers?.[0],
      ]),
    );
    for (const [component, durable] of [
      ["wallet", "wallet-settle"],
      ["webhook", "webhook-deliver"],
      ["campaign", "campaign-messages"],
    ]) {
      const trigger = triggers.get(`sms-${component}`);
      expect(trigger?.type).to.equal("nats-jetstream");
      expect(trigger?.metadata).to.include({ consumer: durable, stream: "SMS_EVENTS" });
    }
    expect(triggers.get("sms-carrier")?.type).to.equal("prometheus");
    // Only at connectors that have work in hand: no replica helps one that claims nothing.
    expect(triggers.get("sms-carrier")?.metadata.query).to.equal(
      'max(max by (connector) (messaging_oldest_waiting_seconds{namespace="messaging"}) ' +
        'and on (connector) max by (connector) (messaging_sending_messages{namespace="messaging"}) > 0)',
    );
  });
});

function scalersOf(objects: ReturnType<typeof render>) {
  return [...ofKind(objects, "HorizontalPodAutoscaler"), ...ofKind(objects, "ScaledObject")];
}

/** How many replicas run at least: the autoscaler's minimum, or the fixed number. */
function leastReplicas(objects: ReturnType<typeof render>, { name, object }: Workload): number {
  const scaler = scalersOf(objects).find(({ spec }) => spec?.scaleTargetRef?.name === name);
  const spec = scaler?.spec as { minReplicas?: number; minReplicaCount?: number } | undefined;
  return spec?.minReplicas ?? spec?.minReplicaCount ?? object.spec?.replicas ?? 1;
}
