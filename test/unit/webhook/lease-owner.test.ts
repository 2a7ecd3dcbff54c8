import { expect } from "chai";
import { leaseOwner } from "../../../services/webhook/adapters/lease-owner.ts";

const named = (WEBHOOK_INSTANCE: string, env: NodeJS.ProcessEnv) =>
  leaseOwner({ WEBHOOK_INSTANCE }, env);

describe("the name that a webhook process leases under", () => {
  it("is the operator's, when there is one", () => {
    expect(named("webhook-0", { OPS_PORT: "9100" })).to.equal("webhook-0");
  });

  it("is the same after a restart on the same ops port, and another's on any other", () => {
    const first = named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9100" });
    expect(first).to.match(/^[\w-]{12}$/);
    expect(named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9100" })).to.equal(first);
    expect(named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9101" })).to.not.equal(first);
    expect(named("", { OPS_HOST: "127.0.0.2", OPS_PORT: "9100" })).to.not.equal(first);
  });

  it("is none where no port of its own tells the process from its neighbours", () => {
    for (const OPS_PORT of [undefined, "", "0"]) {
      expect(named("", OPS_PORT === undefined ? {} : { OPS_PORT })).to.equal("");
    }
  });
});
