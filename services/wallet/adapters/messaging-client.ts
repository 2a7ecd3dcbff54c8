/** Messaging's side of the sweep: what it knows of reservations that stay open. */
import type { Client } from "@connectrpc/connect";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Logger } from "../../shared/core/logger.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { ResolveReservations } from "../app/sweep.ts";
import { askedBy } from "./events.ts";

/** How long messaging may take to answer for one batch. */
const TIMEOUT_MS = 10_000;

/** Asks messaging over its RPC. */
export function createResolveReservations(
  client: Client<typeof MessagingService>,
  log: Logger,
): ResolveReservations {
  return async (due) => {
    const asked = client.resolveReservations(
      {
        reservations: due.map((reservation) => ({
          tenantId: reservation.tenantId,
          reservationId: reservation.id,
          firstMessageId: reservation.firstMessageId,
          lastMessageId: reservation.lastMessageId,
        })),
      },
      { timeoutMs: TIMEOUT_MS },
    );
    const { answers } = await rpcAnswer(asked);
    return answers.map(({ reservationId, fenced, charges }) => ({
      reservationId,
      fenced,
      settlements: charges.flatMap((charge) => {
        const asked = askedBy(charge);
        if (asked.kind === "nonsense") {
          log.error({ message_id: charge.messageId, reason: asked.reason }, "cannot be settled");
        }
        return asked.kind === "settle" ? [asked.request] : [];
      }),
    }));
  };
}
