import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { CHART } from "../../deploy/chart/layout.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";
import { chartSuite, parseObjects, renderText } from "./helm.ts";
import type { KubeObject } from "./kube-types.ts";
import { ofKind, selects, workloadsOf } from "./workloads.ts";

const README = readFileSync(join(CHART, "README.md"), "utf8");

chartSuite("the pod for operators of a release", () => {
  it("the README's pod for smsctl finds every service of a release that is called sms", () => {
    const env = envOfPod();
    const objects = inNamespaceSms("values-production.yaml");
    const services = ofKind(objects, "Service");
    for (const { setting } of Object.values(SERVICE_ADDRESSES)) {
      const [host = "", port] = env.get(setting)?.value?.split(":") ?? [];
      const service = services.find(({ metadata: { name, namespace } }) =>
        host.startsWith(`${name}.${namespace}.svc.`),
      );
      const ports = service?.spec?.ports?.filter(({ name }) => name === "grpc");
      expect(
        ports?.map((one) => String(one.port)),
        setting,
      ).to.deep.equal([port]);
    }
    const carrier = services.find(({ metadata }) => metadata.name === "sms-carrier-headless");
    const ops = carrier?.spec?.ports?.find(({ name }) => name === "ops")?.port;
    expect(env.get("CARRIER_OPS")?.value).to.equal(
      `http://sms-carrier-0.sms-carrier-headless.sms.svc.cluster.local:${ops}`,
    );
    const known = [
      ...Object.values(SERVICE_ADDRESSES).map(({ setting }) => setting),
      "CARRIER_OPS",
    ];
    expect([...env.keys()].filter((name) => !/^RPC_/.test(name))).to.have.members(known);
  });

  it("it has the token, image, certificates and safety of the release's own pods", () => {
    const env = envOfPod();
    const [gateway] = workloadsOf(inNamespaceSms("ci/existing-tls-values.yaml")).filter(
      ({ component }) => component === "gateway",
    );
    const [own] = workloadsOf([readmePod()]);
    const [container] = gateway?.containers ?? [];
    for (const name of ["RPC_TOKEN", "RPC_TLS_CERT_FILE", "RPC_TLS_KEY_FILE", "RPC_TLS_CA_FILE"]) {
      const theirs = container?.env?.find((variable) => variable.name === name);
      expect(env.get(name), name).to.deep.equal(theirs);
    }
    const { image, securityContext, volumeMounts } = own?.containers[0] ?? {};
    expect(image).to.equal(container?.image);
    expect(securityContext).to.deep.equal(container?.securityContext);
    expect(container?.volumeMounts).to.deep.include.members([...(volumeMounts ?? [])]);
    const theirs = gateway?.pod.securityContext;
    expect({ ...theirs, ...own?.pod.securityContext }).to.deep.equal(theirs);
  });

  it("its label is what operatorsFrom selects, and no policy of the release selects the pod", () => {
    const labels = readmePod().metadata.labels ?? {};
    const policies = ofKind(inNamespaceSms("ci/production-values.yaml"), "NetworkPolicy");
    for (const { metadata, spec } of policies) {
      expect(selects(spec?.podSelector?.matchLabels ?? {}, labels), metadata.name).to.equal(false);
    }
    const open = policies.filter(({ spec }) =>
      spec?.ingress?.some(
        ({ from = [], ports = [] }) =>
          ports.some(({ port }) => port === "grpc") &&
          from.some(({ podSelector }) => podSelector && selects(podSelector.matchLabels, labels)),
      ),
    );
    expect(open.map(({ metadata }) => metadata.name)).to.have.members(
      Object.values(SERVICE_ADDRESSES).map(({ name }) => `sms-${name}`),
    );
  });
});

/** The first YAML of the README's section on smsctl. */
function readmePod(): KubeObject {
  const part = README.slice(README.indexOf("## Running smsctl against a release"));
  return parse(/```yaml\n(.*?)```/s.exec(part)?.[1] ?? "") as KubeObject;
}

function envOfPod() {
  const [pod] = workloadsOf([readmePod()]);
  return new Map(pod?.containers[0]?.env?.map((one) => [one.name, one] as const));
}

/** The render that the README speaks of: its namespace is not the tests' own. */
function inNamespaceSms(values: string): readonly KubeObject[] {
  return parseObjects(renderText(values).replaceAll(/\bmessaging\.svc\b/g, "sms.svc")).map(
    (one) => ({
      ...one,
      metadata: { ...one.metadata, namespace: "sms" },
    }),
  );
}
