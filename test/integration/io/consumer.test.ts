import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { type RunningConsumer, startConsumer } from "../../../services/shared/io/consumer.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { EVENT_STREAM, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { publishAll } from "../../../services/shared/io/publisher.ts";
import { pullBatch } from "../../../services/shared/vendor/nats-pull-batch.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { freshDatabase, freshSubject } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const log = createLogger("test", "silent");

describe("a durable consumer", () => {
  let servers: TestServers;
  let nats: Nats;
  let mongo: Mongo;
  const started: RunningConsumer[] = [];
  const durable = freshDatabase("consumer");
  const subject = `events.${freshSubject("consumer").replaceAll(".", "-")}`;

  before(async () => {
    servers = await startServers();
    mongo = await openMongo({ uri: servers.mongodbUri, database: durable, log });
    nats = await openNats({ url: servers.natsUrl, name: "test", log });
    await ensureEventStream(nats);
  });
  after(async () => {
    await Promise.all(started.map((consumer) => consumer.close()));
    const manager = await nats.connection.jetstreamManager();
    await manager.consumers.delete(EVENT_STREAM, durable);
    await nats.close();
    await mongo.close();
    await servers.stop();
  });

  it("takes over in whole batches what a killed process had fetched", async () => {
    const ackWaitMs = 1500;
    const sizes: number[] = [];
    const read = () => {
      const consumer = startConsumer({
        nats,
        db: mongo.db,
        durable,
        subjects: [subject],
        batchMax: 100,
        ackWaitMs,
        // A consumer that takes redelivered items one by one would need 80 minutes.
        minIntervalMs: 30_000,
        log,
        async handle(items) {
          sizes.push(items.length);
          return items.map(() => ({ kind: "ack" as const }));
        },
      });
      started.push(consumer);
      return consumer;
    };
    await read().close();
    const items = Array.from({ length: 160 }, () => ({
      id: newId("event"),
      subject,
      data: new Uint8Array(1),
    }));
    await publishAll(nats.connection, items);
    // The killed process: it takes everything and acknowledges nothing.
    expect(await pullBatch(nats.connection, EVENT_STREAM, durable, 160)).to.have.length(160);
    read();
    await eventually(() => sizes.reduce((sum, size) => sum + size, 0) === 160);

    expect(sizes).to.deep.equal([100, 60]);
  });
});
