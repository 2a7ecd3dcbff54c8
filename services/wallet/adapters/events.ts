/**
 * Events in: `events.message.*.sent`, `.failed` and `.cancelled` by the durable `wallet-settle`, to settle
 * what messages became.
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
import type { Logger } from "../../shared/core/logger.ts";
import { ACK, type Delivered, type Verdict } from "../../shared/io/consumer.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { SettleMessages, SettleRequest, SettleResult } from "../app/settle-messages.ts";
import type { WalletEvent } from "../domain/ledger-batch.ts";
import { walletToProto } from "./proto.ts";

/** The durable consumer's name. */
export const SETTLE_DURABLE = "wallet-settle";
/**
 * What it listens to: the changes that move money. What follows a `sent` moves none; should a
 * settlement have been missed all the same, the sweeper asks messaging for it.
 */
export const SETTLE_SUBJECTS = [
  "events.message.*.sent",
  "events.message.*.failed",
  "events.message.*.cancelled",
] as const;
/** How long until an item that could not be settled now is handed out again. */
const RETRY_AFTER_MS = 1000;
/**
 * How often an item that the database refuses is handed out before it is put aside. Outages count, too,
 * so it is some ten minutes.
 */
const DELIVERIES_MAX = 600;

/** What a message's state asks of the wallet: a settlement, nothing, or it makes no sense. */
export type SettlementRequest =
  | { readonly kind: "settle"; readonly request: SettleRequest }
  | { readonly kind: "nothing" }
  | { readonly kind: "nonsense"; readonly reason: string };

type Charged = Pick<
  Charge,
  "tenantId" | "reservationId" | "status" | "heldAmount" | "amount" | "mode"
> & { readonly messageId: string };

/**
 * Reads what a message's state asks for. Any state tells the whole: one that was sent is charged
 * whatever became of it later, so an overtaken event does not matter.
 */
export function askedBy(message: Charged): SettlementRequest {
  if (message.reservationId === "" || message.mode === Mode.TEST) return { kind: "nothing" };
  const { messageId, tenantId, reservationId, heldAmount } = message;
  const settle = (capturedAmount: bigint): SettlementRequest => ({
    kind: "settle",
    request: { tenantId, messageId, reservationId, heldAmount, capturedAmount },
  });
  switch (message.status) {
    case MessageStatus.SENT:
    case MessageStatus.DELIVERED:
    case MessageStatus.UNDELIVERED:
    case MessageStatus.EXPIRED:
      if (message.amount === undefined)
        return { kind: "nonsense", reason: "sent without an amount" };
      return settle(message.amount);
    case MessageStatus.FAILED:
    case MessageStatus.CANCELLED:
      return settle(0n);
    default:
      return { kind: "nothing" };
  }
}

/** The consumer's handler: one verdict per item. */
export function createSettleHandler(parts: {
  readonly settleMessages: SettleMessages;
  readonly log: Logger;
}): (items: readonly Delivered[]) => Promise<readonly Verdict[]> {
  return async (items) => {
    const asked = items.map(readItem);
    const requests = asked.flatMap((one) => (one.kind === "settle" ? [one.request] : []));
    const results = requests.length === 0 ? [] : await parts.settleMessages(requests);
    let next = 0;
    return asked.map((one, at): Verdict => {
      if (one.kind === "nothing") return ACK;
      if (one.kind === "nonsense") return { kind: "dead", reason: one.reason };
      const result = results[next];
      next += 1;
      return toVerdict(one.request, result, items[at]?.deliveries ?? 1, parts.log);
    });
  };
}

function readItem({ data }: Delivered): SettlementRequest {
  let event: Event;
  try {
    event = fromBinary(EventSchema, data);
  } catch {
    return { kind: "nonsense", reason: "not an event" };
  }
  if (event.payload.case !== "messageChanged") return { kind: "nothing" };
  const { message } = event.payload.value;
  if (message === undefined) return { kind: "nonsense", reason: "no message inside" };
  return askedBy(toCharged(message));
}

function toCharged(message: Message): Charged {
  const { id, tenantId, reservationId, status, heldAmount, mode } = message;
  const charged: Charged = { messageId: id, tenantId, reservationId, status, heldAmount, mode };
  return message.amount === undefined ? charged : { ...charged, amount: message.amount };
}

function toVerdict(
  request: SettleRequest,
  result: SettleResult | undefined,
  deliveries: number,
  log: Logger,
): Verdict {
  switch (result?.kind) {
    case "settled":
      return ACK;
    case "already":
      if (result.differs) {
        log.error({ message_id: request.messageId }, "a message was settled with other amounts");
      }
      return ACK;
    case "impossible":
      return { kind: "dead", reason: `${result.error.code}: ${result.error.message}` };
    default:
      // Tried for ever, some thousand of one wallet's would fill the stream's window, and stop all others.
      if (deliveries >= DELIVERIES_MAX && !isMongoOutage(result?.error)) {
        return { kind: "dead", reason: `the database refuses it: ${result?.error}` };
      }
      log.warn({ error: result?.error, message_id: request.messageId }, "settling is put off");
      return { kind: "retry", afterMs: RETRY_AFTER_MS };
  }
}

/** A wallet's event as the stream carries it. */
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
