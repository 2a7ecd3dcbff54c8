import { expect } from "chai";
import { chartSuite, MINIMAL, notes, PRESETS, render } from "./helm.ts";
import { ofKind, settingsOf, workloadsOf } from "./workloads.ts";

const INLINE = "ci/inline-credentials-values.yaml";
const ON = "operatorConsole.enabled=true";

chartSuite("the operators' console", () => {
  it("is off by default, and then is no caller of any service", () => {
    const objects = render(MINIMAL);
    const names = workloadsOf(objects).map(({ component }) => component);
    expect(names).to.not.include("operator-console");
    expect(settingsOf(objects, "tenant").RPC_CALLERS).to.not.contain("operator-console");
    const [secret] = ofKind(render(INLINE), "Secret");
    expect(secret?.stringData).to.not.have.property("rpc-token-operator-console");
  });

  it("admits only its own peers of the values, who reach no service, and reads the carrier's ops port", () => {
    const policy = (name: string, set: string[] = []) =>
      ofKind(render(MINIMAL, { set: [ON, ...set] }), "NetworkPolicy").find(
        ({ metadata }) => metadata.name === name,
      )?.spec;
    const from = (set: string[]) =>
      policy("sms-operator-console", set)?.ingress?.find(({ ports = [] }) =>
        ports.some(({ port }) => port === "http"),
      )?.from;
    expect(from([])).to.equal(undefined);
    expect(from(["networkPolicy.operatorsFrom[0].ipBlock.cidr=10.9.0.0/16"])).to.equal(undefined);
    const named = "networkPolicy.operatorConsoleFrom[0].ipBlock.cidr=10.9.0.0/16";
    expect(from([named])).to.deep.equal([{ ipBlock: { cidr: "10.9.0.0/16" } }]);
    const reached = ofKind(render(MINIMAL, { set: [ON, named] }), "NetworkPolicy").filter(
      ({ spec }) => JSON.stringify(spec?.ingress ?? []).includes("10.9.0.0/16"),
    );
    expect(reached.map(({ metadata }) => metadata.name)).to.deep.equal(["sms-operator-console"]);
    expect(JSON.stringify(policy("sms-carrier")?.ingress)).to.contain('"operator-console"');
  });

  it("the notes say how to reach it and sign in, and that no one may reach its address", () => {
    const forward = "port-forward svc/sms-operator-console-headless 8090:8080";
    const closed = "set networkPolicy.operatorConsoleFrom";
    expect(notes(MINIMAL)).to.not.contain("operators' console");
    const own = notes(MINIMAL, { set: [ON] });
    expect(own).to.contain(forward).and.to.contain("smsctl console link --operator");
    expect(own).to.not.contain(closed);
    const named = [ON, "operatorConsole.url=https://ops.example.com"];
    const reached = "networkPolicy.operatorConsoleFrom[0].ipBlock.cidr=10.9.0.0/16";
    expect(notes(MINIMAL, { set: named })).to.contain("https://ops.example.com/operators");
    expect(notes(MINIMAL, { set: named }))
      .to.contain(closed)
      .and.to.not.contain(forward);
    expect(notes(MINIMAL, { set: [...named, reached] })).to.not.contain(closed);
  });

  it("has its public address, which tenant also has for its links", () => {
    const objects = render(MINIMAL, { set: [ON, "operatorConsole.url=https://ops.example.com"] });
    for (const name of ["tenant", "operator-console"]) {
      expect(settingsOf(objects, name), name).to.include({
        OPERATOR_CONSOLE_URL: "https://ops.example.com",
      });
    }
    expect(settingsOf(objects, "operator-console").CARRIER_OPS).to.match(
      /^http:\/\/sms-carrier-headless\..*:9100$/,
    );
  });

  it("requests what it uses, as the toolbox does, not what a preset gives to services", () => {
    for (const preset of PRESETS) {
      const set = [ON, "toolbox.enabled=true"];
      const pods = workloadsOf(render(preset, { set })).filter(({ component }) =>
        /^(operator-console|toolbox)$/.test(component),
      );
      expect(pods).to.have.length(2);
      for (const { containers, name } of pods) {
        expect(containers[0]?.resources?.requests, `${preset} ${name}`).to.deep.equal({
          cpu: "50m",
          memory: "192Mi",
        });
      }
    }
  });
});
