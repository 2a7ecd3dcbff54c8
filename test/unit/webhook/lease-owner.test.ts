import { expect } from "chai";
import { leaseOwner } from "../../../services/webhook/adapters/lease-owner.ts";

const named = (WEBHOOK_INSTANCE: string, env: NodeJS.ProcessEnv) =>
  leaseOwner({ WEBHOOK_INSTANCE }, env);

describe("the lease owner of a webhook process", () => {
  it("is the configured name", () => {
    expect(named("webhook-0", { OPS_PORT: "9100" })).to.equal("webhook-0");
  });

  it("is the same after a restart on the same ops port, and another one on any other port", () => {
    const first = named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9100" });
    expect(first).to.match(/^[\w-]{12}$/);
    expect(named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9100" })).to.equal(first);
    expect(named("", { OPS_HOST: "127.0.0.1", OPS_PORT: "9101" })).to.not.equal(first);
    expect(named("", { OPS_HOST: "127.0.0.2", OPS_PORT: "9100" })).to.not.equal(first);
  });

  it("is empty without a fixed ops port", () => {
    for (const OPS_PORT of [undefined, "", "0"]) {
      expect(named("", OPS_PORT === undefined ? {} : { OPS_PORT })).to.equal("");
    }
  });
});
