/** Events of messaging: one `sms.v1.Event` each, under the subjects of `shared/core/message-subjects.ts`. */
import { create, toBinary } from "@bufbuild/protobuf";
import { EventSchema, MessageChangedSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { newId } from "../../shared/core/ids.ts";
import { messageSubject } from "../../shared/core/message-subjects.ts";
import type { Outbox } from "../../shared/io/outbox.ts";
import type { StreamItem } from "../../shared/io/publisher.ts";
import type { CausedEvent } from "../app/ports.ts";
import { isCampaignMessage, type StatusEvent } from "../domain/message.ts";
import { toWireMessage, WIRE_STATUS } from "./proto.ts";
import { noteEvent } from "./tracing.ts";

/** An outbox for status changes: encodes each one and writes it in the transaction of the change. */
export function createEventOutbox(outbox: Pick<Outbox, "write" | "publish">) {
  return {
    write: (
      events: readonly CausedEvent[],
      session: Parameters<Outbox["write"]>[1],
    ): ReturnType<Outbox["write"]> =>
      outbox.write(
        events.map(({ event, traceparent }) => toStreamItem(event, traceparent)),
        session,
      ),
    publish: outbox.publish,
  };
}

/**
 * Encodes a status change as a stream item. Repeated publishing keeps its id, which is the event's. `cause` is
 * the traceparent of the call that changed the message.
 */
export function toStreamItem(event: StatusEvent, cause: string | undefined): StreamItem {
  const { message, previous } = event;
  const id = newId("event");
  const traceparent = noteEvent(event, id, cause);
  const data = toBinary(
    EventSchema,
    create(EventSchema, {
      id,
      tenantId: message.tenantId,
      occurredAtMs: BigInt(message.updatedAtMs),
      traceparent: traceparent ?? "",
      payload: {
        case: "messageChanged",
        value: create(MessageChangedSchema, {
          previousStatus: WIRE_STATUS[previous],
          // The stream keeps events for days after the final status, so their texts are left out from the start.
          message: toWireMessage(message.redact ? { ...message, body: "" } : message, true),
          redact: message.redact,
        }),
      },
    }),
  );
  const { tenantId, status } = message;
  const subject = messageSubject(tenantId, status, isCampaignMessage(message));
  return traceparent === undefined ? { id, subject, data } : { id, subject, data, traceparent };
}
