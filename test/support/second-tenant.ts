/** Another tenant of a running stack, with funds and the approved sender ID of the first one. */
import { createClient } from "@connectrpc/connect";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import type { TestStack } from "./stack.ts";

/** Creates it; returns its id. */
export async function addTenant(stack: TestStack, name: string): Promise<string> {
  const transports = [stack.grpc.tenant, stack.grpc.wallet, stack.grpc["sender-id"]].map((target) =>
    createGrpcJsTransport({ target: target ?? "", token: stack.grpc_token }),
  );
  const [ofTenant, ofWallet, ofSenderId] = transports;
  if (ofTenant === undefined || ofWallet === undefined || ofSenderId === undefined) {
    throw new Error("the stack has no such services");
  }
  try {
    const { tenant } = await createClient(TenantService, ofTenant).createTenant({ name });
    const tenantId = tenant?.id ?? "";
    const wallets = createClient(WalletService, ofWallet);
    await wallets.createWallet({ tenantId, currency: "NGN" });
    const funds = { tenantId, amount: 1_000_000_000n, reference: "first", actor: { name: "test" } };
    await wallets.fundWallet(funds);
    const senderIds = createClient(SenderIdService, ofSenderId);
    await senderIds.createSenderId({ tenantId, name: stack.sender_id, approve: true });
    return tenantId;
  } finally {
    for (const transport of transports) transport.close();
  }
}
