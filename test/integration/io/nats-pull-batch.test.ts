import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { AckPolicy } from "nats";
import { createLogger } from "../../../services/shared/io/log.ts";
import { EVENT_STREAM, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { pullBatch } from "../../../services/shared/vendor/nats-pull-batch.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { freshDatabase, freshSubject } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const log = createLogger("test", "silent");

describe("a JetStream pull without waiting", () => {
  let servers: TestServers;
  let nats: Nats;
  const durable = freshDatabase("pull");
  const subject = `events.${freshSubject("pull").replaceAll(".", "-")}`;

  before(async () => {
    servers = await startServers();
    nats = await openNats({ url: servers.natsUrl, name: "test", log });
    const manager = await nats.connection.jetstreamManager();
    await ensureEventStream(nats);
    await manager.consumers.add(EVENT_STREAM, {
      durable_name: durable,
      ack_policy: AckPolicy.Explicit,
      filter_subject: subject,
    });
  });
  after(async () => {
    const manager = await nats.connection.jetstreamManager();
    await manager.consumers.delete(EVENT_STREAM, durable);
    await nats.close();
    await servers.stop();
  });

  /** The client's current subscriptions. */
  const subscriptions = () =>
    (
      nats.connection as unknown as { protocol: { subscriptions: { size(): number } } }
    ).protocol.subscriptions.size();
  const pull = async (batch: number) => {
    const messages = await pullBatch(nats.connection, EVENT_STREAM, durable, batch);
    for (const message of messages) message.ack();
    return messages.map((message) => Number(message.string()));
  };

  it("returns at once, in order, at most the batch size, and leaves no subscription behind", async () => {
    for (let at = 0; at < 5; at += 1) await nats.jetstream.publish(subject, String(at));
    const before = subscriptions();
    expect(await pull(3)).to.deep.equal([0, 1, 2]);
    // Fewer than requested, and none.
    expect(await pull(100)).to.deep.equal([3, 4]);
    const fromMs = performance.now();
    for (let at = 0; at < 20; at += 1) expect(await pull(10)).to.deep.equal([]);
    // With the wait of a pull without an answer they would take 40 s.
    expect(performance.now() - fromMs).to.be.below(15_000);
    expect(subscriptions()).to.equal(before);
  });

  it("a failed migration exits with 1, and does not hang on its connections", async function () {
    this.timeout(30_000);
    const MONGODB_PREFIX = freshDatabase("migrate");
    const mongo = await new MongoClient(servers.mongodbUri).connect();
    const carrier = mongo.db(`${MONGODB_PREFIX}_carrier`);
    // Another index with the name that the migration needs.
    await carrier.collection("leases").createIndex({ other: 1 }, { name: "expiry" });
    const { mongodbUri: MONGODB_URI, natsUrl: NATS_URL } = servers;
    const env = { ...process.env, MONGODB_URI, MONGODB_PREFIX, NATS_URL, LOG_LEVEL: "error" };
    const child = spawn(process.execPath, ["services/main.ts", "migrate"], { env });
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
    });
    child.stderr.resume();
    const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
    const [code] = await once(child, "exit");
    clearTimeout(timer);
    for (const { name } of (await mongo.db().admin().listDatabases()).databases) {
      if (name.startsWith(MONGODB_PREFIX)) await mongo.db(name).dropDatabase();
    }
    await mongo.close();
    expect(code).to.equal(1);
    // At this log level it prints only the error.
    expect(said).to.contain("the migration failed").and.to.not.contain('"migrated"');
  });
});
