import { expect } from "chai";
import { AckPolicy, connect, type NatsConnection } from "nats";
import { backupStream, restoreStream } from "../../../deploy/backup/stream-snapshot.ts";
import { freshStream } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MESSAGES = 300;
const HANDLED = 120;
/** Larger than several chunks of a snapshot. */
const MESSAGE_BYTES = 4096;

describe("a stream's backup", () => {
  let servers: TestServers;
  let connection: NatsConnection;
  let folder: string;
  const stream = freshStream("backup");
  const durable = "reader";

  before(async () => {
    servers = await startServers();
    connection = await connect({ servers: servers.natsUrl });
    folder = temporaryFolder("backup");
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
    const config = { durable_name: durable, ack_policy: AckPolicy.Explicit };
    await manager.consumers.add(stream, config);
    const jetstream = connection.jetstream();
    for (let at = 0; at < MESSAGES; at += 1) {
      await jetstream.publish(`${stream}.${at}`, noise(at));
    }
    const consumer = await jetstream.consumers.get(stream, durable);
    const taken = await consumer.fetch({ max_messages: HANDLED });
    for await (const message of taken) await message.ackAck();
  });
  after(async () => {
    const manager = await connection.jetstreamManager();
    await manager.streams.delete(stream).catch(() => undefined);
    await connection.close();
    await servers.stop();
  });

  it("restores every message, and the position of each consumer", async () => {
    const manager = await connection.jetstreamManager();
    expect(await backupStream(connection, stream, folder)).to.equal(MESSAGES);
    await manager.streams.delete(stream);
    expect(await restoreStream(connection, stream, folder)).to.equal(MESSAGES);

    const info = await manager.consumers.info(stream, durable);
    expect(info.num_pending).to.equal(MESSAGES - HANDLED);
    const consumer = await connection.jetstream().consumers.get(stream, durable);
    const next = await consumer.next();
    expect(next?.subject).to.equal(`${stream}.${HANDLED}`);
    expect(Buffer.from(next?.data ?? []).equals(noise(HANDLED))).to.equal(true);
  });

  it("is not restored over an existing stream", async () => {
    const failure = await restoreStream(connection, stream, folder).catch((error: Error) => error);
    expect(failure).to.be.instanceOf(Error);
    expect(String(failure)).to.match(/already/);
  });
});

/** Incompressible bytes, reproducible from a seed. */
function noise(seed: number): Buffer {
  const bytes = Buffer.alloc(MESSAGE_BYTES);
  let state = seed + 1;
  for (let at = 0; at < bytes.length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 16;
  }
  return bytes;
}
