import { create, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { createEventHandler } from "../../../services/webhook/adapters/events.ts";

describe("webhook events that only a newer version can read", () => {
  const handle = createEventHandler(async (items) => items.map(() => undefined));
  const acknowledgementOf = async (data: Uint8Array, deliveries: number) =>
    (await handle([{ subject: "events.x", data, deliveries }]))[0];

  const unknownKind = toBinary(EventSchema, create(EventSchema, { id: newId("event") }));
  const unknownStatus = toBinary(
    EventSchema,
    create(EventSchema, {
      id: newId("event"),
      payload: {
        case: "messageChanged",
        value: {
          message: create(MessageSchema, { status: 99 as MessageStatus }),
          previousStatus: MessageStatus.QUEUED,
        },
      },
    }),
  );

  for (const [what, data] of [
    ["of an unknown kind", unknownKind],
    ["with an unknown status", unknownStatus],
  ] as const) {
    it(`an event ${what} is retried for an hour, because a newer version may be running`, async () => {
      for (const deliveries of [1, 10, 119]) {
        const wait = { kind: "retry", afterMs: 30_000 };
        expect(await acknowledgementOf(data, deliveries)).to.deep.equal(wait);
      }
      expect(await acknowledgementOf(data, 120)).to.include({ kind: "dead" });
    });
  }

  it("at most 500 of them wait at once", async () => {
    const fresh = createEventHandler(async (items) => items.map(() => undefined));
    const items = Array.from({ length: 600 }, () => ({
      subject: "events.x",
      data: unknownKind,
      deliveries: 1,
    }));
    const kinds = (await fresh(items)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "retry")).to.have.length(500);
    expect(kinds.filter((kind) => kind === "dead")).to.have.length(100);
  });

  it("an unreadable event becomes a dead letter at once", async () => {
    expect(await acknowledgementOf(Buffer.from("garbage"), 1)).to.include({ kind: "dead" });
    const unnamed = toBinary(EventSchema, create(EventSchema, { id: "x" }));
    expect(await acknowledgementOf(unnamed, 1)).to.include({ kind: "dead" });
  });
});
