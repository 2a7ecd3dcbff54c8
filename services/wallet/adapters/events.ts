/**
 * Events in: changes of messages to `sent`, `failed` and `cancelled` by the durable consumer
 * `wallet-settle`, which settles the messages.
 * Events out: `events.wallet.<tenant id>.funded` and `.low_balance`.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { type Event, EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import {
  type Charge,
  type Message,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { subjectsOfAll } from "../../shared/core/message-subjects.ts";
import { ACK, type Acknowledgement, type Delivered } from "../../shared/io/consumer.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type {
  SettleMessages,
  SettlementRequest,
  SettlementResult,
} from "../app/settle-messages.ts";
import type { WalletEvent } from "../domain/ledger-batch.ts";
import { walletToProto } from "./proto.ts";

/** The durable consumer's name. */
export const SETTLE_DURABLE = "wallet-settle";
/**
 * The status changes that move money. Changes after `sent` move none. If an event is lost, the
 * sweeper settles the message.
 */
export const SETTLE_SUBJECTS = subjectsOfAll(["sent", "failed", "cancelled"]);
/** Delay before redelivery of an item that could not be settled. */
const RETRY_AFTER_MS = 1000;
/**
 * Deliveries of an item that the database refuses before it becomes a dead letter: about ten
 * minutes, because deliveries during an outage count too.
 */
const DELIVERIES_MAX = 600;

/** The settlement that a message status requires. `invalid`: the event contradicts itself. */
export type RequiredSettlement =
  | { readonly kind: "settle"; readonly request: SettlementRequest }
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly reason: string };

type Charged = Pick<
  Charge,
  "tenantId" | "reservationId" | "status" | "heldAmount" | "amount" | "mode"
> & { readonly messageId: string };

/**
 * The settlement that a message status requires (docs/contract.md#money). Any status of a sent
 * message requires the same capture, so the order of events does not matter.
 */
export function requiredSettlement(message: Charged): RequiredSettlement {
  if (message.reservationId === "" || message.mode === Mode.TEST) return { kind: "none" };
  const { messageId, tenantId, reservationId, heldAmount } = message;
  const settle = (capturedAmount: bigint): RequiredSettlement => ({
    kind: "settle",
    request: { tenantId, messageId, reservationId, heldAmount, capturedAmount },
  });
  switch (message.status) {
    case MessageStatus.SENT:
    case MessageStatus.DELIVERED:
    case MessageStatus.UNDELIVERED:
    case MessageStatus.EXPIRED:
      if (message.amount === undefined)
        return { kind: "invalid", reason: "sent without an amount" };
      return settle(message.amount);
    case MessageStatus.FAILED:
    case MessageStatus.CANCELLED:
      return settle(0n);
    default:
      return { kind: "none" };
  }
}

/** Handles a batch of the consumer: acknowledge, retry or dead letter, per item. */
export function createSettleHandler(parts: {
  readonly settleMessages: SettleMessages;
  readonly log: Logger;
}): (items: readonly Delivered[]) => Promise<readonly Acknowledgement[]> {
  return async (items) => {
    const required = items.map(readItem);
    const requests = required.flatMap((one) => (one.kind === "settle" ? [one.request] : []));
    const results = requests.length === 0 ? [] : await parts.settleMessages(requests);
    let next = 0;
    return required.map((one, at): Acknowledgement => {
      if (one.kind === "none") return ACK;
      if (one.kind === "invalid") return { kind: "dead", reason: one.reason };
      const result = results[next];
      next += 1;
      return toAcknowledgement(one.request, result, items[at]?.deliveries ?? 1, parts.log);
    });
  };
}

function readItem({ data }: Delivered): RequiredSettlement {
  let event: Event;
  try {
    event = fromBinary(EventSchema, data);
  } catch {
    return { kind: "invalid", reason: "not an event" };
  }
  if (event.payload.case !== "messageChanged") return { kind: "none" };
  const { message } = event.payload.value;
  if (message === undefined) return { kind: "invalid", reason: "no message inside" };
  return requiredSettlement(toCharged(message));
}

function toCharged(message: Message): Charged {
  const { id, tenantId, reservationId, status, heldAmount, mode } = message;
  const charged: Charged = { messageId: id, tenantId, reservationId, status, heldAmount, mode };
  return message.amount === undefined ? charged : { ...charged, amount: message.amount };
}

function toAcknowledgement(
  request: SettlementRequest,
  result: SettlementResult | undefined,
  deliveries: number,
  log: Logger,
): Acknowledgement {
  switch (result?.kind) {
    case "settled":
      return ACK;
    case "already":
      if (result.differs) {
        log.error({ message_id: request.messageId }, "a message is settled with other amounts");
      }
      return ACK;
    case "impossible":
      return { kind: "dead", reason: `${result.error.code}: ${result.error.message}` };
    default:
      // Some thousand items that never succeed would fill the consumer's window and stop all
      // others.
      if (deliveries >= DELIVERIES_MAX && !isUnavailable(result?.error)) {
        return { kind: "dead", reason: `the database refuses it: ${result?.error}` };
      }
      log.warn({ error: result?.error, message_id: request.messageId }, "settlement delayed");
      return { kind: "retry", afterMs: RETRY_AFTER_MS };
  }
}

/** Encodes a wallet event for the stream. */
export function toStreamItem(event: WalletEvent): StreamItem {
  const { tenantId } = event.wallet;
  const message = create(EventSchema, {
    id: event.id,
    tenantId,
    occurredAtMs: BigInt(event.occurredAtMs),
    payload: {
      case: "walletChanged",
      value: {
        type: event.type,
        wallet: walletToProto(event.wallet, event.occurredAtMs),
        amount: event.amount,
        reference: event.reference,
      },
    },
  });
  return {
    id: event.id,
    subject: `events.wallet.${tenantId}.${event.type}`,
    data: toBinary(EventSchema, message),
  };
}
