import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import { type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { createOutbox, migrateOutbox } from "../../../services/shared/io/outbox.ts";
import { ensureEventStream } from "../../support/event-stream.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const log = createLogger("test", "silent");

describe("the outbox", () => {
  let servers: TestServers;
  let database: TestDatabase;
  let nats: Nats;
  before(async () => {
    servers = await startServers();
    database = await openTestDatabase("outbox", migrateOutbox);
    nats = await openNats({ url: servers.natsUrl, name: "test", log });
    await ensureEventStream(nats);
  });
  after(async () => {
    await nats.close();
    await database.close();
    await servers.stop();
  });

  it("measures the age of its oldest batch until it is published", async () => {
    const { client, db } = database.mongo;
    const clock = createManualClock(1_700_000_000_000);
    const outbox = createOutbox({ db, nats, log, clock, sweepIntervalMs: 600_000 });
    const write = () => {
      const item = { id: newId("event"), subject: "events.other.x", data: new Uint8Array(1) };
      return runTransaction(client, (session) => outbox.write([item], session));
    };
    /** The count and the age are two reads: between them a batch may go. */
    const becomes = (expected: { readonly count: number; readonly oldestMs: number }) =>
      eventually(async () => {
        expect(await outbox.backlog()).to.deep.equal(expected);
        return true;
      });
    await becomes({ count: 0, oldestMs: 0 });
    const oldest = await write();
    clock.advance(700);
    const newest = await write();
    clock.advance(1300);
    await becomes({ count: 2, oldestMs: 2000 });
    outbox.publish(oldest);
    await becomes({ count: 1, oldestMs: 1300 });
    outbox.publish(newest);
    await becomes({ count: 0, oldestMs: 0 });
    await outbox.close();
  });
});
