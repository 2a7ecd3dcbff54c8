import { expect } from "chai";
import fc from "fast-check";
import { Long, type MongoServerError } from "mongodb";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { migrate } from "../../../services/wallet/migrate.ts";
import { openCollections } from "../../../services/wallet/store/collections.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { checkBooks, walletCommands } from "../../support/wallet-commands.ts";
import { FAULTS, type Fault, openFaultyWallet } from "../../support/wallet-faults.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import { newModel } from "../../support/wallet-ledger-model.ts";

const actor = { name: "test", address: "" };

describe("the wallet's ledger on MongoDB", () => {
  let servers: TestServers;
  let wallet: WalletHarness;
  before(async () => {
    servers = await startServers();
    wallet = await openWallet(servers);
  });
  after(async () => {
    await wallet.close();
    await servers.stop();
  });

  /** A wallet with a hold of 30. One of its messages, held at 20, is charged 15. */
  async function newTenant() {
    const tenantId = newId("tenant");
    const reservationId = newId("reservation");
    const messageId = newId("message");
    await wallet.wallets.create(tenantId, "NGN", 0n, actor);
    await wallet.wallets.fund(tenantId, { kind: "fund", amount: 100n, reference: "r", actor });
    await wallet.wallets.placeHold(tenantId, {
      kind: "hold",
      reservationId,
      amount: 30n,
      messageCount: 2,
      firstMessageId: messageId,
      lastMessageId: messageId,
      campaignId: "",
    });
    await wallet.queue.execute(tenantId, {
      kind: "settle",
      messageId,
      reservationId,
      heldAmount: 20n,
      capturedAmount: 15n,
    });
    return { tenantId, reservationId, messageId };
  }

  it("agrees with the reference ledger when it dies between any two steps", async function () {
    this.timeout(60_000);
    const commands = fc.commands(walletCommands(), { maxCommands: 15 });
    const fault = fc.oneof(
      { weight: 2, arbitrary: fc.constant<Fault>(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
    );
    const faults = fc.array(fault, { maxLength: 30 });
    const property = fc.asyncProperty(commands, faults, async (cmds, dealt) => {
      const opened = await openFaultyWallet(wallet.store, dealt);
      const real = { ...opened, checkWallets: wallet.checkWallets, checkEach: false };
      await fc.asyncModelRun(() => ({ model: newModel(), real }), cmds);
      await checkBooks(real);
    });
    await fc.assert(property, { numRuns: 12 });
  });

  describe("the database rejects", () => {
    const collections = () => openCollections(wallet.mongo.db);
    // The wallet's types allow no such change, so the test writes to the database itself.
    const raw = (name: string) => wallet.mongo.db.collection(name);
    const REFUSED: Record<string, (tenantId: string) => Promise<unknown>> = {
      "a batch whose accounts do not sum to zero": (tenantId) =>
        raw("entries").updateOne(
          { tenant_id: tenantId, sequence: 1 },
          { $inc: { "totals.available": 1n } },
        ),
      "a batch without its hash": (tenantId) =>
        raw("entries").updateOne({ tenant_id: tenantId }, { $unset: { hash: "" } }),
      "an available balance below zero": (tenantId) =>
        collections().wallets.updateOne({ _id: tenantId }, { $set: { held: 86n } }),
      "a balance that is not an int64": (tenantId) =>
        collections().wallets.updateOne({ _id: tenantId }, { $set: { balance: 1.5 as never } }),
      "an unknown field": (tenantId) =>
        collections().wallets.updateOne({ _id: tenantId }, { $set: { bonus: 1 } as never }),
      "an open amount above the held amount": (tenantId) =>
        collections().reservations.updateOne({ tenant_id: tenantId }, { $set: { amount: 9n } }),
      "a closed reservation with an open amount": (tenantId) =>
        collections().reservations.updateOne(
          { tenant_id: tenantId },
          { $set: { state: "closed" } },
        ),
      "a charge above the held amount": (tenantId) =>
        raw("settlements").updateOne({ tenant_id: tenantId }, { $set: { captured_amount: 21n } }),
    };
    for (const [name, breach] of Object.entries(REFUSED)) {
      it(name, async () => {
        const { tenantId } = await newTenant();
        const error = await breach(tenantId).catch((thrown: MongoServerError) => thrown);
        expect(error).to.have.property("code", 121);
      });
    }

    it("a second batch with the same sequence, and a second use of a reference", async () => {
      const { tenantId } = await newTenant();
      const batch = await collections().entries.findOne({ tenant_id: tenantId, sequence: 1 });
      if (batch === null) throw new Error("no batch");
      for (const change of [{ references: ["r2"] }, { sequence: 99 }]) {
        const copy = { ...batch, _id: newId("entry"), ...change };
        const error = await collections()
          .entries.insertOne(copy)
          .catch((thrown: MongoServerError) => thrown);
        expect(error).to.have.property("code", 11000);
      }
    });
  });

  describe("the check detects", () => {
    const edit = (name: string, filter: object, update: object) =>
      wallet.mongo.db
        .collection(name)
        .updateOne(filter, update, { bypassDocumentValidation: true });
    type Tenant = Awaited<ReturnType<typeof newTenant>>;
    const CASES: Record<string, [RegExp, (tenant: Tenant) => Promise<unknown>]> = {
      "a wallet whose balance was changed": [
        /^1 the wallet's balance is 0\.0086, its entries lead to 0\.0085/,
        ({ tenantId }) =>
          edit("wallets", { _id: tenantId }, { $set: { balance: Long.fromNumber(86) } }),
      ],
      "an entry whose amount was changed": [
        /^1 batch 1: its hash is wrong/,
        ({ tenantId }) =>
          edit(
            "entries",
            { tenant_id: tenantId, sequence: 1 },
            { $set: { "movements.0.amount": Long.fromNumber(101) } },
          ),
      ],
      "an entry that was deleted": [
        /^1 batch 2: follows 0: batches are missing/,
        ({ tenantId }) =>
          wallet.mongo.db.collection("entries").deleteOne({ tenant_id: tenantId, sequence: 1 }),
      ],
      "a settlement that was deleted, with the message's id": [
        /^2 entries and settlements differ in 2 movements: capture msg_/,
        ({ messageId }) =>
          wallet.mongo.db.collection("settlements").deleteOne({ _id: messageId as never }),
      ],
      "a settlement without a reservation": [
        /^2 settled without a reservation msg_.*,rsv_/,
        ({ reservationId }) =>
          wallet.mongo.db.collection("reservations").deleteOne({ _id: reservationId as never }),
      ],
      "a reservation with another open part than its wallet holds": [
        /^1 the wallet holds 0\.0010, its reservations have 0\.0005 open/,
        ({ reservationId }) =>
          edit(
            "reservations",
            { _id: reservationId },
            { $set: { open_amount: Long.fromNumber(5) } },
          ),
      ],
      "records of a removed wallet": [
        /^1 there are records but no wallet/,
        ({ tenantId }) =>
          wallet.mongo.db.collection("wallets").deleteOne({ _id: tenantId as never }),
      ],
    };
    for (const [name, [expected, tamper]] of Object.entries(CASES)) {
      it(name, async () => {
        const tenant = await newTenant();
        expect(await wallet.breaches(tenant.tenantId)).to.deep.equal([]);
        await tamper(tenant);
        const found = await wallet.breaches(tenant.tenantId);
        expect(
          found.some((breach) => expected.test(breach)),
          found.join("\n"),
        ).to.equal(true);
      });
    }
  });

  it("passes the check while it is written, because the check reads one snapshot", async () => {
    const { tenantId } = await newTenant();
    await wallet.wallets.fund(tenantId, { kind: "fund", amount: 10_000n, reference: "2", actor });
    let isDone = false;
    let written = 0;
    const write = async () => {
      while (!isDone) {
        const reservationId = newId("reservation");
        await wallet.wallets.placeHold(tenantId, {
          kind: "hold",
          reservationId,
          amount: 2n,
          messageCount: 1,
          firstMessageId: "msg_1",
          lastMessageId: "msg_1",
          campaignId: "",
        });
        await wallet.queue.execute(tenantId, {
          kind: "settle",
          messageId: newId("message"),
          reservationId,
          heldAmount: 2n,
          capturedAmount: 1n,
        });
        written += 1;
      }
    };
    const writers = [write(), write(), write()];
    for (let checks = 0; checks < 8 || written <= 5; checks += 1) {
      expect(await wallet.breaches(tenantId)).to.deep.equal([]);
    }
    isDone = true;
    await Promise.all(writers);
    expect(written).to.be.greaterThan(5);
  });

  const holdOf = (reservationId: string, messageId = newId("message")) => ({
    ...{ kind: "hold" as const, reservationId, amount: 1n, messageCount: 1 },
    ...{ firstMessageId: messageId, lastMessageId: messageId, campaignId: "" },
  });

  it("makes new holds due by the clock, also after a replica whose clock was ahead", async () => {
    const { tenantId } = await newTenant();
    const { wallets, reservations } = openCollections(wallet.mongo.db);
    const tomorrow = new Date(Date.now() + 86_400_000);
    await wallets.updateOne({ _id: tenantId }, { $set: { updated_at: tomorrow } });
    const reservationId = newId("reservation");
    await wallet.wallets.placeHold(tenantId, holdOf(reservationId));
    const held = await reservations.findOne({ _id: reservationId });
    expect(held?.created_at, "the ledger's order").to.be.at.least(tomorrow);
    expect(held?.check_at.getTime()).to.be.at.most(Date.now() + 300_000);
  });

  it("refuses a wallet for a tenant id that cannot be part of a subject", async () => {
    for (const tenantId of ["", "Acme Ltd", "a.b", "ten_1\r\n", "*", "x".repeat(65)]) {
      const made = wallet.wallets.create(tenantId, "NGN", 0n, actor);
      const error = await made.catch((thrown: unknown) => thrown);
      expect(error, tenantId).to.be.instanceOf(AppError).with.property("code", "validation_error");
    }
  });

  it("continues where a wallet's version exceeds 2^31", async () => {
    const { tenantId } = await newTenant();
    const { wallets } = openCollections(wallet.mongo.db);
    for (const version of [2 ** 31 - 1, 2 ** 31]) {
      const stored = version < 2 ** 31 ? version : Long.fromNumber(version);
      await wallets.updateOne({ _id: tenantId }, { $set: { version: stored as number } });
      await wallet.wallets.placeHold(tenantId, holdOf(newId("reservation")));
      await wallet.wallets.placeHold(tenantId, holdOf(newId("reservation")));
    }
    expect(await wallet.breaches(tenantId)).to.deep.equal([]);
  });

  it("can be migrated repeatedly", async () => {
    await migrate(wallet.mongo.db);
    await migrate(wallet.mongo.db);
  });
});
