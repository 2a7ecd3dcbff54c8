/** Events out: `events.consent.<tenant id>.<type>`, and hints to caches over NATS core. */
import { create, toBinary } from "@bufbuild/protobuf";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { newId } from "../../shared/core/ids.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { Nats } from "../../shared/io/nats.ts";
import type { Outbox } from "../../shared/io/outbox.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { ConsentEvent, ConsentInvalidation } from "../app/ports.ts";
import { messageToProto, suppressionToProto } from "./proto.ts";

/** An outbox for changes: encodes each one and writes it in the transaction of the change. */
export function createEventOutbox(outbox: Pick<Outbox, "write" | "publish">) {
  return {
    write: (events: readonly ConsentEvent[], session: Parameters<Outbox["write"]>[1]) =>
      outbox.write(events.map(toStreamItem), session),
    publish: outbox.publish,
  };
}

function toStreamItem(change: ConsentEvent): StreamItem {
  const id = newId("event");
  const { tenantId, atMs, type, payload } = described(change);
  const event = create(EventSchema, { id, tenantId, occurredAtMs: BigInt(atMs), payload });
  const subject = `events.consent.${tenantId}.${type}`;
  return { id, subject, data: toBinary(EventSchema, event) };
}

function described(change: ConsentEvent) {
  if (change.kind === "received") {
    const { message } = change;
    return {
      tenantId: message.tenantId ?? "",
      atMs: message.receivedAtMs,
      type: "received",
      payload: { case: "inboundReceived", value: { message: messageToProto(message) } },
    } as const;
  }
  const { consent, inboundMessageId = "" } = change;
  const type = consent.isOut ? "opted_out" : "opted_in";
  return {
    tenantId: consent.tenantId,
    atMs: consent.atMs,
    type,
    payload: {
      case: "suppressionChanged",
      value: { type, suppression: suppressionToProto(consent), inboundMessageId },
    },
  } as const;
}

/** Each hint has every messaging process read a whole table, so a burst of opt-outs shares its hints. */
const HINT_INTERVAL_MS = 200;

/** Publishes hints. After a lost hint, cached snapshots are out of date for at most five seconds. */
export function createConsentInvalidation(nats: Nats): ConsentInvalidation {
  const hints = createBatcher<string, void>({
    name: "consent hints",
    batchMax: 1000,
    queueMax: 100_000,
    minIntervalMs: HINT_INTERVAL_MS,
    async flush(tenantIds) {
      for (const tenantId of new Set(tenantIds)) {
        nats.connection.publish(`invalidate.consent.${tenantId}`);
      }
      return tenantIds.map(() => undefined);
    },
  });
  return { changed: (tenantId) => void hints.add(tenantId).catch(() => undefined) };
}
