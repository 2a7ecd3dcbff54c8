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
import { label, ofKind, servingWorkloads, workloadsOf } from "./workloads.ts";

const RECOMMENDED = ["name", "instance", "version", "component", "part-of", "managed-by"];
const IMMUTABLE = ["name", "instance", "component"].map((name) => `app.kubernetes.io/${name}`);

const text = (name: string) => readFileSync(join(CHART, name), "utf8");

chartSuite("packaging", () => {
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
    expect(workloads).to.have.length(15);
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
