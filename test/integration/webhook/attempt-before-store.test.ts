import { toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import { EventSchema } from "../../../proto/gen/sms/v1/events_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { eventually } from "../../support/poll.ts";
import {
  messageEvent,
  openWebhooksAndReceiver,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { accept, answer, type Receiver } from "../../support/webhook-receiver.ts";

const WARM = 3;

type Stored = {
  readonly _id: string;
  readonly status: string;
  readonly attempts: readonly { readonly http_status: number }[];
  readonly attempts_made: number;
  readonly lease_id?: string;
};

/** Attempts before the store (ADR 64). The server's oplog shows each write. */
describe("an endpoint that responds fast", () => {
  let receiver: Receiver;
  let webhooks: WebhookHarness;
  let close: (() => Promise<void>) | undefined;

  before(async () => {
    ({ receiver, webhooks, close } = await openWebhooksAndReceiver({
      WEBHOOK_RETRY_DELAYS_MS: "600,600",
      WEBHOOK_TIMEOUT_MS: "20000",
    }));
  });
  after(() => close?.());
  beforeEach(() => receiver.behave(accept));

  /** A fast endpoint: its first responses all wait for handshakes. */
  async function addQuick(path: string) {
    const tenantId = newId("tenant");
    await webhooks.client.createEndpoint({ tenantId, url: receiver.url(path) });
    for (let count = 1; count <= WARM; count += 1) {
      await webhooks.publish([messageEvent(tenantId)]);
      await ended(tenantId, count);
    }
    return tenantId;
  }

  function deliveriesOf(tenantId: string): Promise<Stored[]> {
    const deliveries = webhooks.mongo.db.collection<Stored>("deliveries");
    return deliveries
      .find({ tenant_id: tenantId } as never)
      .sort({ _id: 1 })
      .toArray();
  }

  async function ended(tenantId: string, count: number): Promise<Stored[]> {
    return eventually(async () => {
      const found = await deliveriesOf(tenantId);
      return found.filter(({ status }) => status !== "pending").length >= count && found;
    });
  }

  /** Inserts and updates of one delivery, in order. */
  async function writesOf(id: string): Promise<string[]> {
    const log = webhooks.mongo.client.db("local").collection("oplog.rs");
    const ns = `${webhooks.mongo.db.databaseName}.deliveries`;
    const entries = await log.find({ ns, $or: [{ "o._id": id }, { "o2._id": id }] }).toArray();
    return entries.map(({ op }) => op);
  }

  it("has its deliveries written once, with their result, except the first one", async () => {
    const tenantId = await addQuick("/quick");
    const [first] = await deliveriesOf(tenantId);
    expect(await writesOf(first?._id ?? "")).to.deep.equal(["i", "u"]);
    let count = WARM;
    // A response that a busy machine delays is written afterwards, and the next one is fast again.
    const latest = await eventually(async () => {
      await webhooks.publish([messageEvent(tenantId)]);
      count += 1;
      const stored = (await ended(tenantId, count)).at(-1);
      return (await writesOf(stored?._id ?? "")).join() === "i" && stored;
    });
    expect(latest).to.deep.include({ status: "succeeded", attempts_made: 1 });
    expect(latest?.attempts.map(({ http_status }) => http_status)).to.deep.equal([204]);
    expect(latest).not.to.have.any.keys("lease_id", "lease_owner", "next_attempt_at");
  });

  it("is retried on schedule after an error", async () => {
    const tenantId = await addQuick("/refuses");
    let refusals = 0;
    receiver.behave((response, received) => {
      const isRefused = refusals > 0;
      refusals -= 1;
      (isRefused ? answer(500) : accept)(response, received);
    });
    let count = WARM;
    await eventually(async () => {
      refusals = 1;
      await webhooks.publish([messageEvent(tenantId)]);
      count += 1;
      const latest = (await ended(tenantId, count)).at(-1);
      expect(latest?.attempts.map(({ http_status }) => http_status)).to.deep.equal([500, 204]);
      // Stored with the failure; leased for the second attempt; its result.
      return (await writesOf(latest?._id ?? "")).join() === "i,u,u";
    });
  });

  it("that becomes slow delays no other delivery and loses none of its own", async () => {
    const slow = await addQuick("/becomes-slow");
    const quick = await addQuick("/stays-quick");
    const held: (() => void)[] = [];
    receiver.behave((response, received) => {
      if (received.path === "/becomes-slow") held.push(() => accept(response, received));
      else accept(response, received);
    });
    await webhooks.publish([messageEvent(slow), messageEvent(quick)]);
    await ended(quick, WARM + 1);
    const waiting = await eventually(async () => {
      const found = await deliveriesOf(slow);
      return found.length > WARM && held.length > 0 && found;
    });
    for (const release of held) release();
    expect(waiting.at(-1)).to.deep.include({ status: "pending", attempts_made: 0 });
    const late = (await ended(slow, WARM + 1)).at(-1);
    expect(late).to.deep.include({ status: "succeeded", attempts_made: 1 });
    expect(await writesOf(late?._id ?? "")).to.deep.equal(["i", "u"]);
    expect(receiver.at("/becomes-slow")).to.have.length(WARM + 1);
  });

  it("receives an event that is published twice at once a single time", async () => {
    const tenantId = await addQuick("/twice");
    const event = messageEvent(tenantId);
    // Without the message id, so that the stream does not remove the duplicate.
    const again = toBinary(EventSchema, event);
    await Promise.all([
      webhooks.publish([event]),
      webhooks.nats.jetstream.publish(`events.message.${tenantId}.test`, again),
    ]);
    // The next event is read after both.
    await webhooks.publish([messageEvent(tenantId)]);
    await ended(tenantId, WARM + 2);
    expect(receiver.at("/twice")).to.have.length(WARM + 2);
  });
});
