/** Where the text of a tenant that has its texts redacted is stored (`docs/contract.md#privacy`). */
import { fromBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { connect, type NatsConnection } from "nats";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { OutcomeKind, ReceiptState } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { messageSubject } from "../../../services/shared/core/message-subjects.ts";
import { EVENT_STREAM } from "../../../services/shared/io/nats.ts";
import {
  claimOne,
  makeTenant,
  report,
  show,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const TEXT = "the code is 4711";

describe("texts that a tenant has redacted", () => {
  const { harness, tenant: plain } = openMessagingSuite();
  let nats: NatsConnection;
  before(async () => {
    nats = await connect({ servers: harness.natsUrl });
  });
  after(() => nats?.close());

  /** The bytes of a tenant's events in the stream, by status. */
  async function storedEvents({ id }: TestTenant): Promise<Map<string, Uint8Array>> {
    const manager = await nats.jetstreamManager();
    const found = new Map<string, Uint8Array>();
    for (const status of ["sent", "delivered"] as const) {
      const subject = messageSubject(id, status, false);
      const { data } = await eventually(() =>
        manager.streams.getMessage(EVENT_STREAM, { last_by_subj: subject }),
      );
      found.set(status, data);
    }
    return found;
  }

  async function deliver(tenant: TestTenant): Promise<string> {
    const { message } = await harness.messaging.sendMessages(singleSend(tenant, { body: TEXT }));
    const messageId = message?.id ?? "";
    const claimed = await claimOne(harness, "alpha");
    expect(claimed, "the carrier gets the text").to.include({ messageId, body: TEXT });
    await report(harness, claimed, OutcomeKind.ACCEPTED);
    const receipt = { messageId, segment: 1, state: ReceiptState.DELIVERED };
    await harness.messaging.recordReceipts({ receipts: [receipt] });
    return messageId;
  }

  it("are in no event of the stream, and in no collection after the final status", async () => {
    const tenant = await makeTenant(harness);
    await harness.tenants.updateTenant({ tenantId: tenant.id, redactBodies: true });
    const messageId = await deliver(tenant);
    for (const [status, data] of await storedEvents(tenant)) {
      expect(Buffer.from(data).includes(TEXT), status).to.equal(false);
      const { payload } = fromBinary(EventSchema, data);
      expect(payload.value).to.deep.include({ redact: true });
    }
    expect((await show(harness, tenant, messageId)).body).to.equal("");
    for (const { name } of await harness.db.listCollections().toArray()) {
      for await (const document of harness.db.collection(name).find()) {
        expect(JSON.stringify(document), name).not.to.include(TEXT);
      }
    }
  });

  it("stay in the events and messages of every other tenant", async () => {
    const messageId = await deliver(plain);
    for (const [status, data] of await storedEvents(plain)) {
      expect(Buffer.from(data).includes(TEXT), status).to.equal(true);
    }
    expect((await show(harness, plain, messageId)).body).to.equal(TEXT);
  });
});
