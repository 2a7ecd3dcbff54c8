import { expect } from "chai";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { openSnapshot } from "../../../services/shared/io/snapshot.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startOwnServers, type TestServers } from "../../support/servers.ts";
import { silentLog } from "../../support/wallet-harness.ts";

type Counted = { _id: number; value: number };

describe("a snapshot of a database", function () {
  this.timeout(60_000);
  let servers: TestServers;
  let mongo: Mongo;
  before(async () => {
    // A server of its own: the snapshot history is a setting of the whole server.
    servers = await startOwnServers();
    const database = freshDatabase("snapshot");
    mongo = await openMongo({ uri: servers.mongodbUri, database, log: silentLog });
    const documents = Array.from({ length: 30 }, (_, at) => ({ _id: at, value: 0 }));
    await mongo.db.collection<Counted>("counted").insertMany(documents);
    await mongo.db.collection<Counted>("others").insertMany(documents);
  });
  after(async () => {
    await mongo.close();
    await servers.stop();
  });

  const counted = () => mongo.db.collection<Counted>("counted");

  it("shows every collection at the instant of the first read, and blocks no writer", async () => {
    const snapshot = openSnapshot(mongo.client);
    const read = (name: string) =>
      snapshot.chunks(
        mongo.db
          .collection<Counted>(name)
          .find({}, { ...snapshot.options, batchSize: 10 })
          .sort({ _id: 1 }),
        ({ value }) => value,
      );
    const first = read("counted");
    const seen = [...((await first.next()).value ?? [])];
    await Promise.all([
      counted().updateMany({}, { $inc: { value: 1 } }),
      mongo.db.collection<Counted>("others").updateMany({}, { $inc: { value: 1 } }),
      counted().insertOne({ _id: 1000, value: 0 }),
      counted().deleteOne({ _id: 29 }),
    ]);
    for await (const chunk of first) seen.push(...chunk);
    for await (const chunk of read("others")) seen.push(...chunk);
    await snapshot.close();
    expect(seen).to.deep.equal(Array.from({ length: 60 }, () => 0));
  });

  it("reports when the database no longer keeps the instant", async () => {
    const admin = mongo.client.db("admin");
    await admin.command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 0 });
    const snapshot = openSnapshot(mongo.client);
    const find = () => counted().find({}, { ...snapshot.options, batchSize: 10 });
    await snapshot.chunks(find(), ({ value }) => value).next();
    // Each write advances the oldest instant that is kept.
    const failure = await eventually(
      async () => {
        await counted().updateMany({}, { $inc: { value: 1 } });
        return await snapshot
          .chunks(find(), ({ value }) => value)
          .next()
          .then(
            () => false,
            (error: unknown) => error,
          );
      },
      { timeoutMs: 20_000, what: "an instant that is kept no longer" },
    );
    await snapshot.close();
    expect(failure).to.include({ code: "request_timeout" });
    expect((failure as Error).message).to.contain("minSnapshotHistoryWindowInSeconds");
  });
});
