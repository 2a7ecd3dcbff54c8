import { expect } from "chai";
import {
  endAbandonedTransactions,
  endAbandonedWhile,
} from "../../../services/shared/io/abandoned-transactions.ts";
import { type Mongo, openMongo, runTransaction } from "../../../services/shared/io/mongo.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { silentLog } from "../../support/wallet-harness.ts";

type Counter = { _id: string; value: number };

describe("a transaction of a dead process", () => {
  let servers: TestServers;
  let mongo: Mongo;
  before(async () => {
    servers = await startServers();
    const database = freshDatabase("abandoned");
    mongo = await openMongo({ uri: servers.mongodbUri, database, log: silentLog });
  });
  after(async () => {
    await mongo.db.dropDatabase();
    await mongo.close();
    await servers.stop();
  });

  const counters = () => mongo.db.collection<Counter>("counters");

  it("is aborted within seconds by the next one that needs its documents, and has no effect", async () => {
    await counters().insertOne({ _id: "a", value: 0 });
    // A killed process leaves an open transaction without an owner.
    const dead = mongo.client.startSession();
    dead.startTransaction();
    await counters().updateOne({ _id: "a" }, { $inc: { value: 100 } }, { session: dead });

    const startedMs = performance.now();
    await runTransaction(mongo.client, (session) =>
      counters().updateOne({ _id: "a" }, { $inc: { value: 1 } }, { session }),
    );
    expect(performance.now() - startedMs).to.be.lessThan(25_000);
    expect(await counters().findOne({ _id: "a" })).to.deep.equal({ _id: "a", value: 1 });
    const lost = await dead.commitTransaction().catch((error: Error) => error);
    expect(lost).to.be.instanceOf(Error);
    await dead.endSession();
  });

  it("delays a write outside a transaction by seconds, and not by a minute", async () => {
    const dead = mongo.client.startSession();
    dead.startTransaction();
    await counters().insertOne({ _id: "d", value: 100 }, { session: dead });

    const startedMs = performance.now();
    await endAbandonedWhile(mongo.client, counters().insertOne({ _id: "d", value: 1 }));
    expect(performance.now() - startedMs).to.be.lessThan(25_000);
    expect(await counters().findOne({ _id: "d" })).to.deep.equal({ _id: "d", value: 1 });
    await dead.endSession();
  });

  it("is rolled back and run again when its process is alive", async () => {
    await counters().insertOne({ _id: "c", value: 0 });
    let runs = 0;
    await runTransaction(mongo.client, async (session) => {
      runs += 1;
      await counters().updateOne({ _id: "c" }, { $inc: { value: 1 } }, { session });
      const id = session.id?.id;
      if (runs === 1) await mongo.client.db("admin").command({ killSessions: [{ id }] });
      await counters().updateOne({ _id: "c" }, { $inc: { value: 1 } }, { session });
    });
    expect(runs).to.equal(2);
    expect(await counters().findOne({ _id: "c" })).to.deep.equal({ _id: "c", value: 2 });
  });

  it("is not aborted while it is active", async () => {
    await counters().insertOne({ _id: "b", value: 0 });
    await runTransaction(mongo.client, async (session) => {
      await counters().updateOne({ _id: "b" }, { $inc: { value: 1 } }, { session });
      await endAbandonedTransactions(mongo.client);
      await counters().updateOne({ _id: "b" }, { $inc: { value: 1 } }, { session });
    });
    expect(await counters().findOne({ _id: "b" })).to.deep.equal({ _id: "b", value: 2 });
  });
});
