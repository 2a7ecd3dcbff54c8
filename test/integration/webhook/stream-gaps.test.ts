import { expect } from "chai";
import { AckPolicy, type JetStreamManager } from "nats";
import { createLogger } from "../../../services/shared/io/log.ts";
import { ensureStream, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { pullBatch } from "../../../services/shared/vendor/nats-pull-batch.ts";
import { createGapCheck } from "../../../services/webhook/adapters/stream-gaps.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const log = createLogger("test", "silent");
const OCTETS = 100_000;

describe("a full event stream", () => {
  let servers: TestServers;
  let nats: Nats;
  let manager: JetStreamManager;
  const stream = freshDatabase("full");
  const settings = (maxBytes: number) => ({
    name: stream,
    subjects: [`${stream}.>`],
    replicas: 1,
    maxAgeMs: 3_600_000,
    maxBytes,
  });
  const publish = async (count: number) => {
    for (let at = 0; at < count; at += 1) {
      await nats.jetstream.publish(`${stream}.x`, Buffer.alloc(OCTETS));
    }
  };

  before(async () => {
    servers = await startServers();
    nats = await openNats({ url: servers.natsUrl, name: "test", log });
    manager = await nats.connection.jetstreamManager();
    await ensureStream(manager, settings(OCTETS * 10 + 5000));
    const durable = { durable_name: stream, ack_policy: AckPolicy.Explicit };
    await manager.consumers.add(stream, durable);
  });
  after(async () => {
    await manager.streams.delete(stream);
    await nats.close();
    await servers.stop();
  });

  it("deletes unread events, which are counted once, also by a new process", async () => {
    await publish(4);
    for (const message of await pullBatch(nats.connection, stream, stream, 2)) message.ack();
    // The last nine or ten of fourteen are left; two of the deleted ones had been consumed.
    await publish(10);
    const { first_seq: first } = (await manager.streams.info(stream)).state;
    expect(first).to.be.greaterThan(3);
    let lost = 0;
    const onLost = (count: number) => {
      lost += count;
    };
    const check = createGapCheck({ nats, durable: stream, log, onLost, stream });
    await Promise.all([check(), check()]);
    expect(lost).to.equal(first - 3);
    await check();
    expect(lost).to.equal(first - 3);
  });

  it("a failed check counts nothing and blocks no work", async () => {
    let calls = 0;
    const onLost = () => {
      calls += 1;
    };
    await createGapCheck({ nats, durable: "missing", log, onLost, stream })();
    expect(calls).to.equal(0);
  });

  it("is not made smaller than its contents", async () => {
    const refused = ensureStream(manager, settings(OCTETS)).catch((error: Error) => error.message);
    expect(await refused).to.match(/holds \d+ bytes, more than the limit of 100000/);
    expect((await manager.streams.info(stream)).state.messages).to.be.greaterThan(5);
    await ensureStream(manager, settings(OCTETS * 20));
  });
});
