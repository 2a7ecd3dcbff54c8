import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { CHART } from "../../deploy/chart/layout.ts";
import { skipSince } from "../support/skip.ts";
import {
  ALL_VALUES,
  chartSuite,
  HELMS,
  MINIMAL,
  PRESETS,
  refusal,
  render,
  renderOnce,
  renderText,
  withHelm,
} from "./helm.ts";
import { label, ofKind, servingWorkloads, settingsOf, workloadsOf } from "./workloads.ts";

const RECOMMENDED = ["name", "instance", "version", "component", "part-of", "managed-by"];
const IMMUTABLE = ["name", "instance", "component"].map((name) => `app.kubernetes.io/${name}`);

const text = (name: string) => readFileSync(join(CHART, name), "utf8");

chartSuite("packaging and values", () => {
  for (const path of [
    "nope=1",
    "gateway.nope=1",
    "gateway.service.nope=1",
    "carrier.persistence.nope=1",
    "defaults.probes.startup.nope=1",
    "nats.stream.nope=1",
    "rpc.tls.certManager.issuerRef.nope=1",
    "gateway.settings.NOPE=1",
    "gateway.resources.nope=1",
    "gateway.resources.limits.nope=1",
    "gateway.securityContext.nope=true",
    "gateway.podSecurityContext.nope=1",
    "gateway.dnsConfig.nope=1",
    "networkPolicy.gatewayFrom[0].nope=1",
    "migration.replicas=2",
    "test.logLevel=debug",
  ]) {
    it(`an unknown key is refused: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(/additional properties? .* not allowed/i);
    });
  }

  for (const path of [
    "gateway.replicas=-1",
    "gateway.port=x",
    "gateway.port=70000",
    "defaults.heapPercent=90",
    "image.tag=latest",
    "image.digest=sha256:short",
    "nats.stream.replicas=2",
    "gateway.service.type=Nope",
    "gateway.service.externalTrafficPolicy=Nope",
    "carrier.keda.enabled=maybe",
    "carrier.persistence.size=much",
    "wallet.tmpSize=x",
    "wallet.maxSurge=0",
    "wallet.pdb.maxUnavailable=-1",
    "wallet.replicas=1.5",
    "wallet.resources.limits.memory=much",
    "smscSimulator.password=nine-octets",
    "gateway.settings.CONNECTIONS_MAX=-1",
    "gateway.settings.CONNECTIONS_MAX=many",
    "gateway.settings.ACCESS_LOG=maybe",
    "gateway.settings.MESSAGE_SEND_SUNSET=later",
    "gateway.settings.TRUSTED_PROXIES=10/8",
    "gateway.settings.DOCS_URL=docs.example.com",
    "webhook.settings.WEBHOOK_RETRY_DELAYS_MS=soon",
    "messaging.settings.CLAIM_LEASE_MS=1",
    "networkPolicy.webhooks.ports[0]=443,networkPolicy.webhooks.ports[1]=443",
    "monitoring.prometheusRule.thresholds.SmsSettlementLag=-1",
    "gateway.service.ipFamilies[0]=IPv5",
  ]) {
    it(`a wrong type or range is refused: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(/don't meet the specifications/);
    });
  }

  for (const [path, instead] of [
    ["replicaCount=3", "<component>.replicas"],
    ["replicaCount=0", "<component>.replicas"],
    ["ingress.enabled=true", "gateway.ingress"],
    ["imagePullSecrets[0].name=x", "global.imagePullSecrets"],
    ["imagePullSecrets=x", "global.imagePullSecrets"],
    ["ingress=true", "gateway.ingress"],
    ["replicaCount=three", "<component>.replicas"],
  ] as const) {
    it(`a key from another chart names the right key and its documentation: ${path}`, () => {
      const words = refusal(MINIMAL, { set: [path] });
      expect(words).to.contain(instead).and.to.contain("UPGRADING.md");
    });
  }

  for (const [path, parent] of [
    ["gateway=null", "gateway"],
    ["gateway.service=null", "service"],
    ["gateway.port=null", "port"],
    ["mongodb.tls=null", "tls"],
    ["defaults.probes=null", "probes"],
    ["networkPolicy=null", "networkPolicy"],
  ] as const) {
    it(`a key that is taken away is named: ${path}`, () => {
      expect(refusal(MINIMAL, { set: [path] })).to.match(
        new RegExp(`${parent}'? ?.*missing|missing.*${parent}`),
      );
    });
  }

  it("settings that the schema takes are those that the service takes", () => {
    const set = [
      "gateway.settings.CONNECTIONS_MAX=100",
      "gateway.settings.TRUSTED_PROXIES=10.0.0.0/8\\,fd00::/8",
      "gateway.settings.CORS_ORIGINS=https://app.example.com",
      "gateway.settings.ACCESS_LOG=false",
      "webhook.settings.WEBHOOK_RETRY_DELAYS_MS=60000",
      "webhook.settings.WEBHOOK_DNS_SERVERS=10.0.0.53:5353",
    ];
    const objects = render(MINIMAL, { set });
    expect(settingsOf(objects, "gateway")).to.include({
      CONNECTIONS_MAX: "100",
      TRUSTED_PROXIES: "10.0.0.0/8,fd00::/8",
      ACCESS_LOG: "false",
    });
    expect(settingsOf(objects, "webhook")).to.include({ WEBHOOK_RETRY_DELAYS_MS: "60000" });
    expect(render(MINIMAL, { set: ["webhook.settings.WEBHOOK_RETRY_DELAYS_MS=1000\\, 2000"] })).to
      .not.be.empty;
  });

  it("missing and contradicting settings stop the render with one line that names them", () => {
    const cases: readonly (readonly [string | undefined, string[], string])[] = [
      [undefined, [], "mongodb.uri or mongodb.existingSecret is required; nats.url or"],
      [undefined, [], "rpc.token or rpc.existingSecret is required."],
      [MINIMAL, ["mongodb.existingSecret="], "mongodb.uri or mongodb.existingSecret is required."],
      [MINIMAL, ["nats.url=x"], "nats.url and nats.existingSecret exclude each other."],
      [MINIMAL, ["rpc.tls.enabled=true"], "rpc.tls.enabled needs"],
      [MINIMAL, ["gateway.ingress.enabled=true"], "gateway.ingress.hosts"],
      [MINIMAL, ["wallet.keda.enabled=true"], "nats.monitoringEndpoint"],
      [MINIMAL, ["smscSimulator.enabled=true"], "smscSimulator.password"],
      [MINIMAL, ["carrier.receipts.enabled=true"], "carrier.receipts.url"],
      [MINIMAL, ["gateway.service.externalTrafficPolicy=Local"], "NodePort or LoadBalancer."],
      [MINIMAL, ["wallet.minReadySeconds=600"], "wallet: progressDeadlineSeconds must exceed"],
      [MINIMAL, ["gateway.port=9100"], "gateway: port 9100 is given twice, to ops and to http."],
      [
        MINIMAL,
        ["wallet.ports.grpc=9100"],
        "wallet: port 9100 is given twice, to ops and to grpc.",
      ],
      [
        "ci/hatches-values.yaml",
        ["monitoring.prometheusRule.disabled[0]=SmsNope"],
        "there is no alert SmsNope.",
      ],
      [
        MINIMAL,
        ["gateway.autoscaling.enabled=true", "gateway.keda.enabled=true"],
        "gateway: autoscaling.enabled and keda.enabled exclude each other.",
      ],
    ];
    for (const [values, set, words] of cases) {
      const line = refusal(values, { set }).split("\n")[0];
      expect(line, set.join(",")).to.contain(words);
    }
  });

  for (const values of ALL_VALUES) {
    it(`${values} renders, twice the same`, () => {
      expect(renderText(values)).to.equal(renderOnce(values));
    });
  }

  for (const kubeVersion of ["1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35"]) {
    it(`every preset renders for Kubernetes ${kubeVersion}, a vendor's version of it too`, () => {
      for (const preset of PRESETS) {
        const objects = render(preset, { kubeVersion: `v${kubeVersion}.4-eks-f0c1aa3` });
        expect(objects.length, preset).to.be.greaterThan(40);
        const waits = servingWorkloads(objects).flatMap(({ containers }) =>
          Object.keys(containers[0]?.lifecycle?.preStop ?? {}),
        );
        // `sleep` is on by default since 1.30 (KEP-3960).
        const expected = kubeVersion === "1.29" ? "exec" : "sleep";
        expect(new Set(waits), preset).to.deep.equal(new Set([expected]));
      }
    });
  }

  it("an older Kubernetes is refused", () => {
    const words = refusal(MINIMAL, { kubeVersion: "v1.28.9" });
    expect(words).to.contain("requires kubeVersion: >=1.29.0-0");
  });

  it("every Helm of the run renders the same objects", function () {
    if (HELMS.length < 2) skipSince(this, "there is one Helm alone");
    const first = HELMS[0]?.program ?? "";
    for (const values of ALL_VALUES) {
      const others = render(values);
      expect(others).to.deep.equal(withHelm(first, () => render(values)));
    }
  });

  it("a release name of 53 characters gives names of at most 63, each once per kind", () => {
    const release = "a".repeat(53);
    for (const values of ["ci/every-option-values.yaml", "ci/gitops-values.yaml"]) {
      const objects = render(values, { release });
      const names = objects.map(label);
      expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([]);
      for (const { kind, metadata } of objects) {
        // A StatefulSet's name and an eleven-character hash together are the value of a label.
        expect(metadata.name.length).to.be.at.most(kind === "StatefulSet" ? 52 : 63);
      }
    }
    const other = `${"a".repeat(52)}b`;
    const names = (name: string) => render(MINIMAL, { release: name }).map(label);
    expect(names(other).filter((name) => names(release).includes(name))).to.deep.equal([]);
  });

  it("a release name with dots gives Services names without", () => {
    const services = ofKind(render(MINIMAL, { release: "my.shop.v2" }), "Service");
    for (const { metadata } of services) expect(metadata.name).to.match(/^my-shop-v2-sms-[a-z-]+$/);
  });

  it("another chart's global values change nothing", () => {
    const set = ["global.storageClass=fast", "global.postgresql.auth.database=x"];
    expect(renderText(MINIMAL, { set })).to.equal(renderOnce(MINIMAL));
  });

  it("one registry rewrites every image; a digest wins over a tag; the tag is the app's version", () => {
    const images = (set: string[]) =>
      workloadsOf(render("values-dev.yaml", { set })).flatMap(({ containers }) =>
        containers.map(({ image }) => image),
      );
    expect(images([])).to.not.be.empty;
    const digest = `sha256:${"a".repeat(64)}`;
    const { appVersion } = parse(text("Chart.yaml")) as { appVersion: string };
    for (const image of images([])) expect(image).to.equal(`sms-messaging-service:${appVersion}`);
    for (const image of images(["global.imageRegistry=registry.example"])) {
      expect(image).to.match(/^registry\.example\//);
    }
    for (const image of images([`image.digest=${digest}`, "image.tag=1.2.3"])) {
      expect(image).to.equal(`sms-messaging-service@${digest}`);
    }
    const pods = workloadsOf(render("ci/airgap-values.yaml"));
    for (const { pod } of pods) expect(pod.imagePullSecrets).to.deep.equal([{ name: "registry" }]);
  });

  it("production brings no MongoDB, NATS or Redis of its own", () => {
    const images = workloadsOf(render("values-production.yaml")).flatMap(({ containers }) =>
      containers.map(({ image }) => image),
    );
    expect(new Set(images).size).to.equal(1);
  });

  for (const values of ALL_VALUES) {
    it(`${values}: a namespace and the six recommended labels on every object`, () => {
      for (const object of render(values)) {
        expect(object.metadata.namespace, label(object)).to.equal("messaging");
        for (const name of RECOMMENDED) {
          expect(object.metadata.labels, label(object)).to.have.property(
            `app.kubernetes.io/${name}`,
          );
        }
      }
    });
  }

  it("selectors hold labels that never change, and nothing else", () => {
    for (const object of render("ci/every-option-values.yaml")) {
      const { selector } = object.spec ?? {};
      if (selector === undefined || object.kind === "ServiceMonitor") continue;
      expect(Object.keys(selector.matchLabels ?? selector), label(object)).to.have.members(
        IMMUTABLE,
      );
    }
  });

  it("a number or a flag in extraEnv reaches the pod as text, as the API wants it", () => {
    const set = [
      "wallet.extraEnv[0].name=COUNT,wallet.extraEnv[0].value=12345678",
      "wallet.extraEnv[1].name=FLAG,wallet.extraEnv[1].value=true",
    ];
    const wallet = workloadsOf(render(MINIMAL, { set })).find(
      ({ component }) => component === "wallet",
    );
    const env = wallet?.containers[0]?.env?.filter(({ name }) => /^(COUNT|FLAG)$/.test(name));
    expect(env).to.deep.equal([
      { name: "COUNT", value: "12345678" },
      { name: "FLAG", value: "true" },
    ]);
  });

  it("init and extra containers, and the other parts of a pod, appear on every component", () => {
    const objects = render("ci/hatches-values.yaml");
    for (const { object, pod, name, kind } of workloadsOf(objects)) {
      const [own, ...others] = pod.containers;
      expect(
        pod.initContainers?.map((one) => one.name),
        name,
      ).to.deep.equal(["wait"]);
      // A Job or a test pod would not end beside a container that does not.
      const runs = kind === "Deployment" || kind === "StatefulSet";
      expect(
        others.map((one) => one.name),
        name,
      ).to.deep.equal(runs ? ["proxy"] : []);
      expect(own?.envFrom, name).to.deep.equal([{ secretRef: { name: "proxy-settings" } }]);
      expect(pod, name).to.deep.include({
        hostAliases: [{ ip: "10.1.2.3", hostnames: ["mongo.internal"] }],
        schedulerName: "bin-packing",
        runtimeClassName: "gvisor",
        dnsPolicy: "None",
      });
      expect(object.metadata.labels, name).to.include({ "example.com/tier": "backend" });
      if (runs)
        expect(object.metadata.annotations, name).to.include({
          "example.com/owner": "messaging-team",
        });
      expect(own?.terminationMessagePolicy, name).to.equal("FallbackToLogsOnError");
    }
  });

  it("each revision's pods keep their own settings, because no object that changes in place holds them", () => {
    const templates = (set: string[]) =>
      new Map(servingWorkloads(render(MINIMAL, { set })).map((one) => [one.component, one]));
    const [before, after] = [[], ["wallet.settings.WALLET_FLUSHES_MAX=9"]].map(templates);
    for (const [component, { containers }] of before ?? []) {
      expect(containers[0]?.envFrom, component).to.equal(undefined);
      const isSame = component !== "wallet";
      const now = after?.get(component)?.containers[0]?.env;
      expect(JSON.stringify(now) === JSON.stringify(containers[0]?.env), component).to.equal(
        isSame,
      );
    }
    const set = ["wallet.extraEnv[0].name=LOG_LEVEL,wallet.extraEnv[0].value=trace"];
    const levels = servingWorkloads(render(MINIMAL, { set }))
      .find(({ component }) => component === "wallet")
      ?.containers[0]?.env?.filter(({ name }) => name === "LOG_LEVEL");
    expect(levels).to.deep.equal([{ name: "LOG_LEVEL", value: "trace" }]);
  });

  it("every pod setting appears on every component's pod", () => {
    const objects = render("ci/every-option-values.yaml");
    const workloads = workloadsOf(objects);
    expect(workloads).to.have.length(11);
    for (const { containers, metadata, pod, name } of workloads) {
      const [container] = containers;
      expect(
        container?.env?.some((variable) => variable.name === "EXTRA"),
        name,
      ).to.equal(true);
      const volume = pod.volumes?.find((one) => one.name.endsWith("-volume"))?.name;
      expect(
        container?.volumeMounts?.some((mount) => mount.name === volume),
        name,
      ).to.equal(true);
      expect(metadata.annotations, name).to.have.property("example.com/annotation");
      expect(metadata.labels, name).to.have.property("example.com/label");
      expect(pod.nodeSelector, name).to.have.property("example.com/node");
      expect(pod.tolerations?.[0]?.key, name).to.match(/^example\.com\//);
      expect(pod.affinity, name).to.have.property("nodeAffinity");
      expect(pod.priorityClassName, name).to.match(/-priority$/);
    }
    expect(ofKind(objects, "ConfigMap").map(({ metadata }) => metadata.name)).to.include("extra");
  });
});
