/** The stream sends the campaign service the events of its messages; the service acknowledges any other. */
import { expect } from "chai";
import {
  createMessageHandler,
  MESSAGES_SUBJECTS,
} from "../../../services/campaign/adapters/events.ts";
import type { CampaignMessageChange } from "../../../services/campaign/app/follow-messages.ts";
import { toStreamItem } from "../../../services/messaging/adapters/events.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { type RunningConsumer, startConsumer } from "../../../services/shared/io/consumer.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { EVENT_STREAM, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { publishAll, type StreamItem } from "../../../services/shared/io/publisher.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { messageIn } from "../../support/messages.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const log = createLogger("test", "silent");

describe("the campaign service and the event stream", () => {
  const tenantId = newId("tenant");
  const campaignId = newId("campaign");
  const durable = freshDatabase("campaign");
  const subjects: string[] = [];
  const followed: CampaignMessageChange[] = [];
  let servers: TestServers;
  let nats: Nats;
  let mongo: Mongo;
  let consumer: RunningConsumer;
  before(async () => {
    servers = await startServers();
    mongo = await openMongo({ uri: servers.mongodbUri, database: durable, log });
    nats = await openNats({ url: servers.natsUrl, name: "test", log });
    await ensureEventStream(nats);
    const handle = createMessageHandler(async (changes) => void followed.push(...changes));
    consumer = startConsumer({
      ...{ nats, db: mongo.db, log, durable },
      ...{ batchMax: 100, ackWaitMs: 60_000, minIntervalMs: 0 },
      // The stream is shared with other tests, so take this test's events only.
      subjects: MESSAGES_SUBJECTS.map((subject) => subject.replace("*", tenantId)),
      handle(items) {
        subjects.push(...items.map(({ subject }) => subject));
        return handle(items);
      },
    });
  });
  after(async () => {
    await consumer.close();
    const manager = await nats.connection.jetstreamManager();
    await manager.consumers.delete(EVENT_STREAM, durable);
    await nats.close();
    await mongo.close();
    await servers.stop();
  });

  const eventOf = (state: "sent" | "delivered", source: Message["source"]): StreamItem => {
    const of = source === "campaign" ? campaignId : undefined;
    const message = messageIn(state, { id: newId("message"), tenantId, source, campaignId: of });
    return toStreamItem({ message, previous: "queued" }, undefined);
  };
  /** The event as messaging of 0.2.0 publishes it. */
  const asBefore = (item: StreamItem): StreamItem => ({
    ...item,
    subject: item.subject.replace(".direct", ""),
  });

  it("takes changes of campaigns' messages in order, of this release and of the one before", async () => {
    const direct = eventOf("delivered", "api");
    const items = [
      direct,
      eventOf("sent", "campaign"),
      asBefore(eventOf("delivered", "api")),
      asBefore(eventOf("sent", "campaign")),
      eventOf("sent", "api"),
      eventOf("delivered", "campaign"),
    ];
    await publishAll(nats.connection, items, 1);
    await eventually(() => followed.length === 3);
    await eventually(async () => (await consumer.lag()) === 0);

    expect(followed.map(({ status }) => status)).to.deep.equal(["sent", "sent", "delivered"]);
    expect(new Set(followed.map((change) => change.campaignId))).to.deep.equal(
      new Set([campaignId]),
    );
    expect(direct.subject).to.equal(`events.message.${tenantId}.delivered.direct`);
    const expected = items.filter((item) => item !== direct).map(({ subject }) => subject);
    expect(subjects).to.deep.equal(expected);
  });

  it("is not sent what other messages become after sent", async () => {
    const before = subjects.length;
    const last = eventOf("sent", "campaign");
    const items = Array.from({ length: 200 }, () => eventOf("delivered", "quick_send"));
    await publishAll(nats.connection, [...items, last]);
    await eventually(() => subjects.length > before);
    expect(subjects.slice(before)).to.deep.equal([last.subject]);
  });
});
