import { createClient } from "@connectrpc/connect";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { driveClosed } from "./drive.ts";

/** Holds in one call, as messaging coalesces them. */
const BATCH = 100;
const CALLERS = 16;

/** Durable holds per second on the demo tenant's one wallet. */
export async function measureHotWallet(
  stack: StackFile,
  seconds: number,
): Promise<{ readonly perSecond: number; readonly failed: number }> {
  const transport = createGrpcJsTransport({
    target: stack.grpc.wallet ?? "",
    token: stack.grpc_token,
  });
  const wallets = createClient(WalletService, transport);
  const { tenant_id: tenantId } = stack;
  await wallets.fundWallet({
    tenantId,
    amount: 10_000_000_000n,
    reference: newId("request"),
    actor: { name: "bench", address: "" },
  });
  const { perSecond, failed } = await driveClosed({
    callers: CALLERS,
    warmupMs: 2000,
    measureMs: seconds * 1000,
    work: async () => {
      const messageId = newId("message");
      const { outcomes } = await wallets.placeHolds({
        holds: Array.from({ length: BATCH }, () => ({
          tenantId,
          reservationId: newId("reservation"),
          amount: 10_000n,
          messageCount: 1,
          firstMessageId: messageId,
          lastMessageId: messageId,
        })),
      });
      return outcomes.every(({ errorCode }) => errorCode === "");
    },
  });
  transport.close();
  return { perSecond: perSecond * BATCH, failed };
}
