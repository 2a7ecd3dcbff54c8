import type { Socket } from "node:net";
import { expect } from "chai";
import type { MongoClient } from "mongodb";
import { pollUntil } from "../../../deploy/dev/poll.ts";
import { answerWithin } from "../../../services/shared/flow/backoff.ts";
import { type Mongo, openMongo } from "../../../services/shared/io/mongo.ts";
import { isMongoOutage } from "../../../services/shared/io/mongo-errors.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { silentLog } from "../../support/wallet-harness.ts";

const LIMIT_MS = 4000;
/** More than the socket buffers to a server that does not read can hold. */
const LARGE = "x".repeat(14 * 1024 * 1024);

type Connection = { readonly socket: Socket; destroy(): void };

/** The driver's connections in use, read from its private parts. */
function inUse(client: MongoClient): Connection[] {
  type Pool = { readonly checkedOut: ReadonlySet<Connection> };
  type Topology = {
    readonly s: { readonly servers: ReadonlyMap<string, { readonly pool: Pool }> };
  };
  const { topology } = client as unknown as { readonly topology: Topology };
  return [...topology.s.servers.values()].flatMap(({ pool }) => [...pool.checkedOut]);
}

/** The end of work: its error, "done", or "late" when it did not end. */
const endOf = async (work: Promise<unknown>) => {
  const end = work.then(
    () => "done",
    (error: unknown) => error,
  );
  return (await answerWithin(end, LIMIT_MS)) ?? "late";
};

describe("outages of the database", () => {
  let servers: TestServers;
  let link: TcpProxy;
  let mongo: Mongo;
  before(async () => {
    servers = await startServers();
    link = await openTcpProxy();
    link.aimAt(Number(new URL(servers.mongodbUri).port));
    const uri = `mongodb://127.0.0.1:${link.port}/?directConnection=true`;
    const database = freshDatabase("outages");
    mongo = await openMongo({ uri, database, log: silentLog, selectionMs: 1000 });
  });
  afterEach(() => link.setMode({ kind: "open" }));
  after(async () => {
    await mongo.db.dropDatabase();
    await mongo.close();
    await link.close();
    await servers.stop();
  });
  const things = () => mongo.db.collection<{ _id: string; text?: string }>("things");

  it("fail a write that the socket has not accepted when its connection closes", async () => {
    await things().insertOne({ _id: "first" });
    link.setMode({ kind: "black_hole" });
    const work = endOf(things().insertOne({ _id: "large", text: LARGE }));
    const connection = await pollUntil(
      () => inUse(mongo.client).find(({ socket }) => socket.writableNeedDrain),
      LIMIT_MS,
    );
    if (connection === undefined) expect.fail("no connection waits for its socket");
    connection.destroy();
    // The driver retries once over a new connection, which the black hole blocks too.
    expect(isMongoOutage(await work)).to.equal(true);
  });

  it("never leave an operation pending when its connection closes during the write", async () => {
    let closed = 0;
    const trap = {
      toBSON() {
        for (const connection of closed === 0 ? inUse(mongo.client) : []) {
          closed += 1;
          connection.destroy();
        }
        return "first";
      },
    };
    const work = things().findOne({ _id: trap as never });
    expect(await endOf(work)).to.equal("done");
    expect(closed).to.equal(1);
    expect(await work).to.deep.equal({ _id: "first" });
  });

  for (const [what, act] of [
    ["one insert", () => things().insertOne({ _id: "a" })],
    ["many inserts", () => things().insertMany([{ _id: "b" }, { _id: "c" }], { ordered: false })],
    [
      "a bulk write",
      () => things().bulkWrite([{ deleteOne: { filter: { _id: "d" } } }], { ordered: false }),
    ],
    ["a change of many", () => things().updateMany({}, { $set: { text: "" } })],
    ["a read", () => things().find().toArray()],
  ] as const) {
    it(`are recognised by ${what} over a link that is cut`, async () => {
      await things().findOne();
      link.setMode({ kind: "cut" });
      const end = await endOf(act());
      expect(end).to.be.instanceOf(Error);
      expect(isMongoOutage(end), String(end)).to.equal(true);
    });
  }

  it("do not include a refused document", async () => {
    const end = await endOf(things().insertMany([{ _id: "first" }]));
    expect(end).to.be.instanceOf(Error);
    expect(isMongoOutage(end)).to.equal(false);
  });
});
