import { expect } from "chai";
import { SERVICE_PROCESSES } from "../../../deploy/dev/process-table.ts";
import { callerToken } from "../../../deploy/dev/rpc-callers.ts";
import type { StackFile } from "../../../deploy/dev/stack-file.ts";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { methodsOf, OPERATOR } from "../../../services/shared/caller-methods.ts";
import { SERVICE_ADDRESSES } from "../../../services/shared/service-addresses.ts";
import { callRest } from "../../support/customer.ts";
import { eventually } from "../../support/poll.ts";
import { sharedRestStack } from "../../support/rest.ts";
import { RPC_SERVICES } from "../../support/rpc-services.ts";

const CALLERS = [...SERVICE_PROCESSES.map(({ name }) => name), OPERATOR];

describe("callers and their methods", function () {
  this.timeout(120_000);
  let stack: StackFile;

  before(async () => {
    ({ stack } = await sharedRestStack());
  });

  /** The HTTP status of an RPC in JSON with an empty request. */
  async function statusOf(typeName: string, method: string, token: string): Promise<number> {
    const ops = stack.ops[SERVICE_ADDRESSES[typeName]?.name ?? ""];
    const response = await fetch(`${ops}/${typeName}/${method}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: "{}",
    });
    await response.body?.cancel();
    return response.status;
  }

  for (const caller of CALLERS) {
    it(`${caller} may call the methods of its list and no other`, async () => {
      const token = callerToken(stack.grpc_token, caller);
      const listed = methodsOf([caller]);
      for (const { typeName, methods } of RPC_SERVICES) {
        for (const { name } of methods) {
          const status = await statusOf(typeName, name, token);
          const isListed = listed.includes(`${typeName}/${name}`);
          // A service that calls no one has no token that any server knows.
          const refused = methodsOf([caller], typeName).length > 0 ? 403 : 401;
          if (isListed) expect([401, 403], `${typeName}/${name}`).to.not.include(status);
          else expect(status, `${typeName}/${name}`).to.equal(refused);
        }
      }
    });
  }

  it("the gateway's token funds no wallet", async () => {
    const token = callerToken(stack.grpc_token, "gateway");
    expect(await statusOf(WalletService.typeName, "FundWallet", token)).to.equal(403);
    expect(await statusOf(WalletService.typeName, "AdjustWallet", token)).to.equal(403);
  });

  it("a message is sent, delivered, charged and notified with these tokens", async () => {
    const sent = await callRest(stack, "POST", "/v1/sms/messages", {
      key: "least-privilege",
      body: { to: "08031234567", from: "DEMO", body: "Your order is ready." },
    });
    const { id } = sent.body.data as { id: string };
    await eventually(
      async () => {
        const message = await callRest(stack, "GET", `/v1/messages/${id}`);
        expect(message.body).to.have.nested.property("data.status", "delivered");
        const balance = await callRest(stack, "GET", "/v1/balance");
        expect(balance.body).to.have.nested.property("data.held", "0.0000");
        return true;
      },
      { timeoutMs: 20_000, everyMs: 200 },
    );
  });
});
