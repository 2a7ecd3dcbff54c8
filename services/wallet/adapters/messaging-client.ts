/** Client of messaging: asks for the messages of reservations that stay open. */
import type { Client } from "@connectrpc/connect";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Logger } from "../../shared/core/logger.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { ResolveReservations } from "../app/sweep.ts";
import { requiredSettlement } from "./events.ts";

/** Deadline of one call. */
const TIMEOUT_MS = 10_000;

export function createResolveReservations(
  client: Client<typeof MessagingService>,
  log: Logger,
): ResolveReservations {
  return async (due) => {
    const call = client.resolveReservations(
      {
        reservations: due.map((reservation) => ({
          tenantId: reservation.tenantId,
          reservationId: reservation.id,
          firstMessageId: reservation.firstMessageId,
          lastMessageId: reservation.lastMessageId,
        })),
        omitWaiting: true,
      },
      { timeoutMs: TIMEOUT_MS },
    );
    const { answers } = await rpcAnswer(call);
    return answers.map(({ reservationId, fenced, charges }) => ({
      reservationId,
      fenced,
      settlements: charges.flatMap((charge) => {
        const required = requiredSettlement(charge);
        if (required.kind === "invalid") {
          log.error({ message_id: charge.messageId, reason: required.reason }, "cannot be settled");
        }
        return required.kind === "settle" ? [required.request] : [];
      }),
    }));
  };
}
