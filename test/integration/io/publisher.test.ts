import { expect } from "chai";
import { StorageType } from "nats";
import { newId } from "../../../services/shared/core/ids.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { EVENT_STREAM, type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { publishAll, type StreamItem } from "../../../services/shared/io/publisher.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { freshSubject } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

describe("publishing to the stream", () => {
  let servers: TestServers;
  let nats: Nats;
  const subject = `events.${freshSubject("publisher").replaceAll(".", "-")}`;

  before(async () => {
    servers = await startServers();
    nats = await openNats({
      url: servers.natsUrl,
      name: "test",
      log: createLogger("test", "silent"),
    });
    await ensureEventStream(nats);
  });
  after(async () => {
    await nats.close();
    await servers.stop();
  });

  async function storedCount(): Promise<number> {
    const manager = await nats.connection.jetstreamManager();
    const { state } = await manager.streams.info(EVENT_STREAM, { subjects_filter: subject });
    return state.subjects?.[subject] ?? 0;
  }

  it("stores every item once, also when all are published again at the same time", async () => {
    const items = itemsOf(subject, 300);

    await Promise.all([publishAll(nats.connection, items), publishAll(nats.connection, items)]);

    expect(await storedCount()).to.equal(300);
  });

  it("rejects when no stream has the subject", async () => {
    const error = await publishAll(nats.connection, itemsOf("elsewhere.test", 3)).catch(
      (thrown: unknown) => thrown,
    );

    expect(error).to.be.an("error").with.property("message", "no stream answers (503)");
  });

  it("rejects with the stream's reason when it refuses an item", async () => {
    const manager = await nats.connection.jetstreamManager();
    const name = freshSubject("publisher").replaceAll(".", "-");
    const storage = StorageType.Memory;
    await manager.streams.add({ name, subjects: [name], storage, max_msg_size: 64 });
    const [small, large] = itemsOf(name, 2) as [StreamItem, StreamItem];

    const error = await publishAll(nats.connection, [
      small,
      { ...large, data: new Uint8Array(100) },
    ]).catch((thrown: unknown) => thrown);
    await manager.streams.delete(name);

    expect(error)
      .to.be.an("error")
      .with.property("message", "message size exceeds maximum allowed");
  });

  it("rejects when the connection is closed", async () => {
    const closed = await openNats({
      url: servers.natsUrl,
      name: "closed",
      log: createLogger("test", "silent"),
    });
    await closed.close();

    const error = await publishAll(closed.connection, itemsOf(subject, 1)).catch(
      (thrown: unknown) => thrown,
    );

    expect(error).to.be.an("error");
  });
});

function itemsOf(subject: string, count: number): StreamItem[] {
  return Array.from({ length: count }, () => ({
    id: newId("event"),
    subject,
    data: new Uint8Array(1),
  }));
}
