import { create, toBinary } from "@bufbuild/protobuf";
import { MongoClient } from "mongodb";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { EventSchema } from "../../proto/gen/sms/v1/events_pb.js";
import { MessageStatus } from "../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../services/shared/core/ids.ts";

/**
 * Inserts a dead letter that a service can handle now: the event of a test message, for a tenant without
 * endpoints. Returns its id.
 */
export async function insertDeadLetter(
  mongodbUri: string,
  database: string,
  tenantId: string,
): Promise<string> {
  const id = newId("event").slice(4);
  const now = BigInt(Date.now());
  const message = { id: newId("message"), tenantId, mode: Mode.TEST, createdAtMs: now };
  const value = {
    previousStatus: MessageStatus.QUEUED,
    message: { ...message, status: MessageStatus.SENT },
  };
  const event = create(EventSchema, {
    ...{ id: `evt_${id}`, tenantId, occurredAtMs: now },
    payload: { case: "messageChanged", value },
  });
  const mongo = await MongoClient.connect(mongodbUri);
  try {
    await mongo
      .db(database)
      .collection<{ _id: string }>("dead_letters")
      .insertOne({
        _id: id,
        durable: "test",
        subject: `events.message.${tenantId}.sent`,
        data: Buffer.from(toBinary(EventSchema, event)),
        reason: "test",
        created_at: new Date(),
      } as { _id: string });
  } finally {
    await mongo.close();
  }
  return id;
}
