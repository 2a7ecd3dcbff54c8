import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { CHART } from "../../deploy/chart/layout.ts";
import { methodsOf, OPERATOR } from "../../services/shared/caller-methods.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";
import { chartSuite, MINIMAL, notes, render } from "./helm.ts";
import { COMPONENT, ofKind, settingsOf, workloadsOf } from "./workloads.ts";

const ON = { set: ["toolbox.enabled=true"] };
/** The services of the chart. */
const services = () =>
  Object.values(SERVICE_ADDRESSES).filter(({ name }) =>
    workloadsOf(render(MINIMAL)).some(({ component }) => component === name),
  );
const README = readFileSync(join(CHART, "README.md"), "utf8");

chartSuite("the toolbox for operators", () => {
  it("is off by default, and the notes say how to switch it on and use it", () => {
    const components = workloadsOf(render(MINIMAL)).map(({ component }) => component);
    expect(components).to.not.include("toolbox");
    expect(notes(MINIMAL)).to.contain("--set toolbox.enabled=true");
    const command = "exec deployment/sms-toolbox -- node services/smsctl/main.ts";
    expect(notes(MINIMAL, ON)).to.contain(command).and.not.contain("--set toolbox.enabled");
    expect(README).to.contain(command);
  });

  it("has the address of every service, the operators' token and no other", () => {
    const objects = render(MINIMAL, ON);
    const toolbox = workloadsOf(objects).find(({ component }) => component === "toolbox");
    const env = settingsOf(objects, "toolbox");
    for (const { setting, name } of services()) {
      expect(env[setting]).to.equal(`sms-${name}-headless.messaging.svc.cluster.local:9090`);
    }
    expect(env.CARRIER_OPS).to.match(/^http:\/\/sms-carrier-0\.sms-carrier-headless\..*:9100$/);
    const secrets = toolbox?.containers[0]?.env?.flatMap(({ valueFrom }) => valueFrom ?? []);
    expect(secrets).to.deep.equal([
      { secretKeyRef: { name: "sms-credentials", key: "token-operator" } },
    ]);
    expect(toolbox?.containers[0]?.command).to.include("setInterval(() => {}, 1e9)");
  });

  it("its policy lets it out to services and the carrier's ops port, and lets no one in", () => {
    const objects = render(MINIMAL, ON);
    const policy = ofKind(objects, "NetworkPolicy").find(
      ({ metadata }) => metadata.name === "sms-toolbox",
    );
    expect(policy?.spec).to.not.have.property("ingress");
    const peers = (policy?.spec?.egress ?? []).flatMap(({ to = [], ports = [] }) =>
      to.map(({ podSelector }) => `${podSelector?.matchLabels[COMPONENT]} ${ports[0]?.port}`),
    );
    const grpc = services().map(({ name }) => `${name} 9090`);
    expect(peers).to.have.members([...grpc, "carrier 9100"]);
    const carrier = ofKind(objects, "NetworkPolicy").find(
      ({ metadata }) => metadata.name === "sms-carrier",
    );
    const ops = carrier?.spec?.ingress?.find(({ ports = [] }) => ports[0]?.port === "ops");
    const from = ops?.from?.map(({ podSelector }) => podSelector?.matchLabels[COMPONENT]);
    expect(from).to.include("toolbox");
  });

  it("services permit its methods, those of smsctl, and it serves nothing", () => {
    const objects = render(MINIMAL, ON);
    const listed = [...services(), { name: "carrier" }].flatMap(
      ({ name }) => JSON.parse(settingsOf(objects, name).RPC_CALLERS ?? "{}")[OPERATOR],
    );
    expect(listed).to.have.members(methodsOf([OPERATOR]));
    const names = ofKind(objects, "Service").map(({ metadata }) => metadata.name);
    expect(names.filter((name) => name.includes("toolbox"))).to.deep.equal([]);
  });
});
