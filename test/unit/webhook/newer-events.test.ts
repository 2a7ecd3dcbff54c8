import { create, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { MessageSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { createEventHandler } from "../../../services/webhook/adapters/events.ts";

describe("webhook events that this version cannot read", () => {
  const handle = createEventHandler(async (items) => items.map(() => undefined));
  const verdictOf = async (data: Uint8Array, deliveries: number) =>
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
    ["of a kind that is not known", unknownKind],
    ["with a status that is not known", unknownStatus],
  ] as const) {
    it(`one ${what} is handed on for an hour, as a newer version may be beside this one`, async () => {
      for (const deliveries of [1, 10, 119]) {
        const wait = { kind: "retry", afterMs: 30_000 };
        expect(await verdictOf(data, deliveries)).to.deep.equal(wait);
      }
      expect(await verdictOf(data, 120)).to.include({ kind: "dead" });
    });
  }

  it("not more of them wait than leave others their places", async () => {
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

  it("what is no event at all is dead at once", async () => {
    expect(await verdictOf(Buffer.from("garbage"), 1)).to.include({ kind: "dead" });
    const unnamed = toBinary(EventSchema, create(EventSchema, { id: "x" }));
    expect(await verdictOf(unnamed, 1)).to.include({ kind: "dead" });
  });
});
