import { expect } from "chai";
import { StorageType } from "nats";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import {
  ACK,
  type ConsumerOptions,
  type RunningConsumer,
  startConsumer,
} from "../../../services/shared/io/consumer.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { EVENT_STREAM, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { publishAll, type StreamItem } from "../../../services/shared/io/publisher.ts";
import { pullBatch } from "../../../services/shared/vendor/nats-pull-batch.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { freshDatabase, freshStream, freshSubject } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const log = createLogger("test", "silent");

describe("a durable consumer", () => {
  let servers: TestServers;
  let nats: Nats;
  let mongo: Mongo;
  const started: RunningConsumer[] = [];
  const streams: string[] = [];
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
    for (const stream of streams) await manager.streams.delete(stream);
    await nats.close();
    await mongo.close();
    await servers.stop();
  });

  function start(
    options: Pick<ConsumerOptions, "subjects" | "handle"> & Partial<ConsumerOptions>,
  ): RunningConsumer {
    const consumer = startConsumer({
      ...{ nats, db: mongo.db, log, durable },
      ...{ batchMax: 100, ackWaitMs: 60_000, minIntervalMs: 0 },
      ...options,
    });
    started.push(consumer);
    return consumer;
  }

  /** A stream in which nothing but the test's items arrives. */
  async function ownStream() {
    const [stream, name] = [freshStream("consumer"), freshSubject("consumer")];
    const manager = await nats.connection.jetstreamManager();
    await manager.streams.add({
      name: stream,
      subjects: [`${name}.>`],
      storage: StorageType.Memory,
    });
    streams.push(stream);
    return { stream, name };
  }

  it("takes over in whole batches what a killed process had fetched", async () => {
    const ackWaitMs = 1500;
    const sizes: number[] = [];
    const read = () =>
      start({
        ...{ subjects: [subject], ackWaitMs },
        // A consumer that takes redelivered items one by one would need 80 minutes.
        minIntervalMs: 30_000,
        async handle(items) {
          sizes.push(items.length);
          return items.map(() => ACK);
        },
      });
    await read().close();
    await publishAll(nats.connection, itemsOf(subject, 160));
    // The killed process: it takes everything and acknowledges nothing.
    expect(await pullBatch(nats.connection, EVENT_STREAM, durable, 160)).to.have.length(160);
    read();
    await eventually(() => sizes.reduce((sum, size) => sum + size, 0) === 160);

    expect(sizes).to.deep.equal([100, 60]);
  });

  it("takes full batches without delay, and waits after a batch that is not full", async () => {
    const { stream, name } = await ownStream();
    await publishAll(nats.connection, itemsOf(`${name}.x`, 45));
    const sizes: number[] = [];
    let readings = 0;
    // A wait between two of the full batches would outlast the test.
    let intervalMs = 600_000;
    start({
      ...{ stream, subjects: [`${name}.x`], batchMax: 10 },
      minIntervalMs() {
        readings += 1;
        return intervalMs;
      },
      async handle(taken) {
        sizes.push(taken.length);
        return taken.map(() => ACK);
      },
    });
    await eventually(() => sizes.length === 5, { what: "all of them, without a pause" });
    await publishAll(nats.connection, itemsOf(`${name}.x`, 1));
    const readingsBefore = readings;
    await eventually(() => readings > readingsBefore + 3, { what: "the wait" });
    expect(sizes).to.deep.equal([10, 10, 10, 10, 5]);
    intervalMs = 0;
    await eventually(() => sizes.length === 6, { what: "the batch after the wait" });
  });

  it("measures the age of the oldest unsettled item while later ones are settled", async () => {
    const { stream, name } = await ownStream();
    const clock = createManualClock(0);
    let isMended = false;
    const read = start({
      ...{ stream, subjects: [`${name}.good`, `${name}.bad`], clock },
      async handle(taken) {
        return taken.map(({ subject: one }) =>
          isMended || one.endsWith("good") ? ACK : { kind: "retry", afterMs: 50 },
        );
      },
    });
    const manager = await nats.connection.jetstreamManager();
    /** Publishes an item; gives when it arrived in the stream. */
    const publish = async (end: string) => {
      const subject = `${name}.${end}`;
      await publishAll(nats.connection, itemsOf(subject, 1));
      const { time } = await manager.streams.getMessage(stream, { last_by_subj: subject });
      return time.getTime();
    };
    const hasLag = async (lag: number) => (await read.lag().catch(() => -1)) === lag;
    await publish("good");
    await eventually(() => hasLag(0), { what: "the first one" });
    expect(await read.oldestMs()).to.equal(0);

    const badMs = await publish("bad");
    await eventually(() => Date.now() > badMs);
    await publish("of-no-consumer");
    expect(await publish("good")).to.be.above(badMs);
    await eventually(() => hasLag(1), { what: "the good one behind it" });
    clock.advance(badMs + 1234);
    expect(await read.oldestMs()).to.equal(1234);

    isMended = true;
    await eventually(() => hasLag(0), { what: "the repaired item" });
    expect(await read.oldestMs()).to.equal(0);
  });
});

function itemsOf(subject: string, count: number): StreamItem[] {
  return Array.from({ length: count }, () => ({
    ...{ id: newId("event"), subject, data: new Uint8Array(1) },
  }));
}
