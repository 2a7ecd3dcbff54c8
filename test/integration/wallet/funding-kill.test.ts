/** kill -9 of a wallet process after the approval of a funding: before its money, and before its last state. */
import { expect } from "chai";
import type { Db, Document, MongoClient } from "mongodb";
import { FundingState } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import {
  connectWallet,
  startWallet,
  type WalletClient,
  type WalletProcess,
} from "../../support/wallet-process.ts";

const ADA = { name: "ada@example.org", address: "203.0.113.7" };
const BOB = { name: "bob@example.org", address: "203.0.113.8" };
/** Above the default limit, so that it needs the second person. */
const AMOUNT = 2_000_000_0000n;

describe("a wallet process that is killed while it funds", function () {
  this.timeout(120_000);
  let servers: TestServers;
  let harness: WalletHarness;
  let wallet: WalletProcess;
  let client: WalletClient;
  let mongo: { readonly client: MongoClient; readonly db: Db };

  before(async () => {
    servers = await startServers();
    const prefix = freshDatabase("kill");
    harness = await openWallet(servers, { database: `${prefix}_wallet` });
    mongo = harness.mongo;
    wallet = await startWallet(servers, prefix);
    client = connectWallet(wallet.target);
  });
  after(async () => {
    client?.closeChannel();
    await wallet?.stop();
    // A transaction of a killed process would keep the drop waiting for up to a minute.
    await harness?.close({ drop: false });
    await servers?.stop();
  });

  /** Asks for a funding of a new wallet. */
  async function askForOne(): Promise<{ tenantId: string; id: string }> {
    const tenantId = newId("tenant");
    await client.createWallet({ tenantId, currency: "NGN" });
    const request = { tenantId, amount: AMOUNT, reason: "Invoice 1042", key: tenantId, actor: ADA };
    const { funding } = await client.requestFunding(request);
    expect(funding?.state).to.equal(FundingState.PENDING);
    return { tenantId, id: funding?.id ?? "" };
  }

  const stateOf = async (id: string) => (await find("fundings", { _id: id }))?.state;
  const balanceOf = async (tenantId: string) =>
    BigInt((await find("wallets", { _id: tenantId }))?.balance ?? -1);
  const find = (name: string, filter: Document) => mongo.db.collection(name).findOne(filter);

  /** Writes a document in a transaction that stays open: writers of it wait until the returned function is called. */
  async function lock(name: string, id: string, change: Document): Promise<() => Promise<void>> {
    const session = mongo.client.startSession();
    session.startTransaction();
    const filter: Document = { _id: id };
    const collection = mongo.db.collection(name);
    await collection.updateOne(filter, { $set: change }, { session });
    let isHeld = true;
    // The wallet ends transactions that are idle for a second (ADR 13).
    const holding = eventually(
      async () => {
        await collection.findOne(filter, { session });
        return !isHeld;
      },
      { timeoutMs: 60_000, everyMs: 100, what: "the release of the lock" },
    );
    return async () => {
      isHeld = false;
      await holding;
      await session.abortTransaction();
      await session.endSession();
    };
  }

  /** Ends the writes of a killed process that wait for a lock: MongoDB does not end them with their connection. */
  async function endWritesTo(name: string): Promise<void> {
    const admin = mongo.client.db("admin");
    const ns = `${mongo.db.databaseName}.${name}`;
    const waiting = () =>
      admin
        .aggregate([{ $currentOp: {} }, { $match: { ns, op: { $in: ["update", "command"] } } }], {
          readConcern: { level: "local" },
        })
        .toArray();
    await eventually(async () => {
      const found = await waiting();
      for (const { opid } of found) await admin.command({ killOp: 1, op: opid });
      return found.length === 0;
    });
  }

  /** Starts the process again; the money must arrive, once. */
  async function expectMoneyOnce(tenantId: string, id: string): Promise<void> {
    await wallet.start();
    const what = "the end of the funding";
    await eventually(async () => (await stateOf(id)) === "funded", { timeoutMs: 30_000, what });
    const approve = () => client.decideFunding({ fundingId: id, approve: true, actor: BOB });
    // The channel of the test connects again after a pause.
    const again = await eventually(() => approve().catch(() => undefined), { timeoutMs: 10_000 });
    expect(again.funding?.state).to.equal(FundingState.FUNDED);
    expect(await balanceOf(tenantId)).to.equal(AMOUNT);
    const { entries } = await client.listEntries({ tenantId });
    expect(entries.map(({ reference, actor }) => ({ reference, actor }))).to.deep.equal([
      { reference: id, actor: `${ADA.name}, ${BOB.name}` },
    ]);
    const { breaches } = await checkOf(tenantId);
    expect(breaches).to.deep.equal([]);
  }

  async function checkOf(tenantId: string) {
    const breaches: string[] = [];
    for await (const part of client.checkWallets({ tenantId })) {
      breaches.push(...part.breaches.map(({ what }) => what));
    }
    return { breaches };
  }

  it("moves the money once when it dies between the approval and the money", async () => {
    const { tenantId, id } = await askForOne();
    const unlock = await lock("wallets", tenantId, { updated_at: new Date() });
    const deciding = client.decideFunding({ fundingId: id, approve: true, actor: BOB });
    const answered = deciding.then(
      () => true,
      () => false,
    );
    await eventually(async () => (await stateOf(id)) === "approved", { timeoutMs: 20_000 });
    await wallet.kill();
    await unlock();
    expect(await answered, "the caller gets no answer").to.equal(false);
    expect(await stateOf(id)).to.equal("approved");
    expect(await balanceOf(tenantId)).to.equal(0n);
    await expectMoneyOnce(tenantId, id);
  });

  it("moves no money a second time when it dies between the money and the last state", async () => {
    const { tenantId, id } = await askForOne();
    const unlockWallet = await lock("wallets", tenantId, { updated_at: new Date() });
    const deciding = client.decideFunding({ fundingId: id, approve: true, actor: BOB });
    const answered = deciding.then(
      () => true,
      () => false,
    );
    await eventually(async () => (await stateOf(id)) === "approved", { timeoutMs: 20_000 });
    const unlockFunding = await lock("fundings", id, { failure: "never stored" });
    await unlockWallet();
    await eventually(async () => (await balanceOf(tenantId)) === AMOUNT, { timeoutMs: 20_000 });
    await wallet.kill();
    await endWritesTo("fundings");
    await unlockFunding();
    expect(await answered, "the caller gets no answer").to.equal(false);
    expect(await stateOf(id)).to.equal("approved");
    await expectMoneyOnce(tenantId, id);
  });
});
