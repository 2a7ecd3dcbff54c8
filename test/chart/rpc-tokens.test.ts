import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../deploy/dev/paths.ts";
import { CALLER_METHODS, methodsOf } from "../../services/shared/caller-methods.ts";
import { SERVICE_ADDRESSES } from "../../services/shared/service-addresses.ts";
import { chartSuite, MINIMAL, notes, refusal, render } from "./helm.ts";
import type { KubeObject } from "./kube-types.ts";
import { ofKind, settingsOf, workloadsOf } from "./workloads.ts";

const INLINE = "ci/inline-credentials-values.yaml";
/** With every caller that a release may have. */
const ALL = { set: ["operatorConsole.enabled=true"] } as const;

chartSuite("tokens of calls between services", () => {
  it("each service permits its listed callers the methods that the code lists, and no other caller", () => {
    const objects = render(MINIMAL, ALL);
    for (const [typeName, { name }] of Object.entries(SERVICE_ADDRESSES)) {
      if (!workloadsOf(objects).some(({ component }) => component === name)) continue;
      const lists = JSON.parse(settingsOf(objects, name).RPC_CALLERS ?? "{}");
      const wanted = Object.keys(CALLER_METHODS)
        .map((caller) => [caller, methodsOf([caller], typeName)] as const)
        .filter(([, methods]) => methods.length > 0);
      expect(lists, name).to.deep.equal(Object.fromEntries(wanted));
      expect(JSON.stringify(lists), name).to.not.contain("*");
    }
  });

  it("the documents make a token for every caller", () => {
    for (const file of ["helm/sms/README.md", "helm/sms/UPGRADING.md", "deploy/compose.yaml"]) {
      const [, list = ""] =
        /for caller in ([^;]+); do/.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
      const named = list.toLowerCase().replaceAll("_", "-").split(" ");
      // compose.yaml has no `helm test`.
      expect([...new Set([...named, "test"])], file).to.have.members(Object.keys(CALLER_METHODS));
    }
    const values = readFileSync(join(ROOT, "helm/sms/values.yaml"), "utf8");
    for (const caller of Object.keys(CALLER_METHODS))
      expect(values).to.contain(`\`token-${caller}\``);
  });

  it("a pod has its own token and those of its callers, and no other", () => {
    const objects = render(MINIMAL, ALL);
    for (const { component } of workloadsOf(objects)) {
      const own = CALLER_METHODS[component] === undefined ? [] : [`RPC_TOKEN token-${component}`];
      const callers = Object.keys(
        JSON.parse(settingsOf(objects, component).RPC_CALLERS ?? "{}"),
      ).flatMap((caller) => {
        const name = caller.toUpperCase().replace("-", "_");
        return [
          `RPC_TOKEN_OF_${name} token-${caller}`,
          `RPC_OTHER_TOKEN_OF_${name} token-${caller}-other`,
        ];
      });
      expect(tokensOf(objects, component), component).to.have.members([...own, ...callers]);
    }
    expect(tokensOf(objects, "gateway")).to.deep.equal(["RPC_TOKEN token-gateway"]);
    expect(tokensOf(objects, "wallet")).to.not.include("RPC_TOKEN_OF_CARRIER token-carrier");
  });

  it("one value gives each caller a token of its own, the same in every render", () => {
    const [secret] = ofKind(render(INLINE, ALL), "Secret");
    const tokens = Object.entries(secret?.stringData ?? {}).filter(([key]) => /^rpc-/.test(key));
    expect(tokens.map(([key]) => key)).to.have.members(
      Object.keys(CALLER_METHODS).map((caller) => `rpc-token-${caller}`),
    );
    expect(new Set(tokens.map(([, token]) => token)).size).to.equal(tokens.length);
    for (const [, token] of tokens) expect(token).to.match(/^[0-9a-f]{64}$/);
  });

  it("a value is replaced in steps: the other one's tokens are accepted too", () => {
    const set = ["rpc.otherToken=the-coming-value-of-ci"];
    const next = ofKind(render(INLINE, { set: ["rpc.token=the-coming-value-of-ci"] }), "Secret")[0];
    const [both] = ofKind(render(INLINE, { set }), "Secret");
    const other = both?.stringData?.["rpc-token-gateway-other"];
    expect(other).to.equal(next?.stringData?.["rpc-token-gateway"]).and.to.be.a("string");
    expect(refusal(MINIMAL, { set })).to.contain("rpc.otherToken and rpc.existingSecret exclude");
  });

  it("from one shared token to one for each caller, no step breaks a call of the step before", () => {
    const modes = ["shared", "acceptBoth", "sendOwn", "perCaller"].map((mode) =>
      render(MINIMAL, { set: [`rpc.tokens=${mode}`] }),
    );
    for (const [at, objects] of modes.entries()) {
      for (const other of [modes[at - 1], modes[at + 1]]) {
        if (other === undefined) continue;
        for (const caller of ["gateway", "messaging", "wallet", "sender-id", "carrier"]) {
          const [sent = ""] = tokensOf(objects, caller).filter((one) => /^RPC_TOKEN /.test(one));
          const key = sent.replace(/^.* /, "");
          for (const callee of calleesOf(caller)) {
            if (!workloadsOf(objects).some(({ component }) => component === callee)) continue;
            expect(acceptedBy(other, callee), `${at}: ${caller} to ${callee}`).to.include(key);
          }
        }
      }
    }
    expect(notes(MINIMAL, { set: ["rpc.tokens=sendOwn"] })).to.contain("rpc.tokens to perCaller");
    expect(notes(MINIMAL)).to.not.contain("rpc.tokens");
  });

  it("a system of the operator's own has a token, its methods alone, and a way through the network", () => {
    const set = [
      "rpc.extraCallers.billing.methods={sms.v1.WalletService/GetWallet,sms.v1.MessagingService/*}",
      "rpc.extraCallers.billing.from[0].podSelector.matchLabels.app=billing",
    ];
    const objects = render(MINIMAL, { set });
    const listOf = (component: string) =>
      JSON.parse(settingsOf(objects, component).RPC_CALLERS ?? "{}").billing;
    expect(listOf("wallet")).to.deep.equal(["sms.v1.WalletService/GetWallet"]);
    expect(listOf("messaging")).to.deep.equal(["sms.v1.MessagingService/*"]);
    expect(listOf("tenant")).to.equal(undefined);
    expect(tokensOf(objects, "wallet")).to.include("RPC_TOKEN_OF_BILLING token-billing");
    expect(tokensOf(objects, "tenant").join()).to.not.contain("billing");
    const reached = ofKind(objects, "NetworkPolicy").filter((policy) =>
      JSON.stringify(policy.spec?.ingress ?? []).includes('"app":"billing"'),
    );
    expect(reached.map(({ metadata }) => metadata.name)).to.have.members([
      "sms-messaging",
      "sms-wallet",
    ]);
    const [secret] = ofKind(render(INLINE, { set }), "Secret");
    expect(secret?.stringData?.["rpc-token-billing"]).to.match(/^[0-9a-f]{64}$/);
  });

  it("rpc.extraCallers refuses a name of the chart's own callers, and a service that no component serves", () => {
    const refused = (...set: string[]) => refusal(MINIMAL, { set });
    const methods = (name: string, list: string) => `rpc.extraCallers.${name}.methods={${list}}`;
    const get = "sms.v1.WalletService/GetWallet";
    expect(refused(methods("gateway", get))).to.contain("the chart has a caller of this name");
    expect(refused(methods("billing", "sms.v1.BillingService/Get"))).to.contain(
      "there is no service sms.v1.BillingService",
    );
    expect(refused(methods("billing", "GetWallet"))).to.contain("pattern");
    expect(refused(methods("billing", get), "rpc.tokens=shared")).to.contain(
      "rpc.extraCallers needs tokens of callers",
    );
  });

  it("a list of the operator's own replaces the chart's, and senders use the one token", () => {
    const objects = render(MINIMAL, { set: ["rpc.callers.existingSecret=sms-callers"] });
    expect(tokensOf(objects, "gateway")).to.deep.equal(["RPC_TOKEN token"]);
    expect(tokensOf(objects, "wallet")).to.include("RPC_TOKENS callers");
    expect(settingsOf(objects, "wallet")).to.not.have.property("RPC_CALLERS");
  });
});

/** `NAME key` of the variables of a component that hold tokens of calls between services. */
function tokensOf(objects: readonly KubeObject[], component: string): string[] {
  const found = workloadsOf(objects).find((one) => one.component === component);
  return (found?.containers[0]?.env ?? []).flatMap(({ name, valueFrom }) =>
    /^RPC_/.test(name) && valueFrom?.secretKeyRef ? [`${name} ${valueFrom.secretKeyRef.key}`] : [],
  );
}

function calleesOf(caller: string): string[] {
  return Object.keys(CALLER_METHODS[caller] ?? {}).map(
    (typeName) => SERVICE_ADDRESSES[typeName]?.name ?? "carrier",
  );
}

/** The keys of the tokens that a component accepts: those of its list, or else its own. */
function acceptedBy(objects: readonly KubeObject[], component: string): string[] {
  const tokens = tokensOf(objects, component);
  const listed = tokens.filter((one) => /^RPC_TOKEN_OF_/.test(one));
  return (listed.length > 0 ? listed : tokens).map((one) => one.replace(/^.* /, ""));
}
