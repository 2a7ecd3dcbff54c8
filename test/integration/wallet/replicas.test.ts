import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { decide } from "../../../services/wallet/domain/decide.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";

const actor = { name: "test", address: "" };

describe("three replicas on one wallet", () => {
  let servers: TestServers;
  let replicas: WalletHarness[];
  before(async () => {
    servers = await startServers();
    const first = await openWallet(servers);
    const { database } = first;
    replicas = [
      first,
      await openWallet(servers, { database }),
      await openWallet(servers, { database }),
    ];
  });
  after(async () => {
    const [first, ...others] = replicas;
    for (const other of others) await other.close({ drop: false });
    await first?.close();
    await servers.stop();
  });

  const at = (index: number) => replicas[index % replicas.length] as WalletHarness;
  async function newTenant(amount: bigint): Promise<string> {
    const tenantId = newId("tenant");
    await at(0).wallets.create(tenantId, "NGN", 0n, actor);
    await at(0).wallets.fund(tenantId, { kind: "fund", amount, reference: "start", actor });
    return tenantId;
  }
  const hold = (
    index: number,
    tenantId: string,
    reservationId: string,
    amount: bigint,
    messageCount = 1,
  ) =>
    at(index)
      .wallets.placeHold(tenantId, {
        kind: "hold",
        reservationId,
        amount,
        messageCount,
        firstMessageId: "msg_1",
        lastMessageId: "msg_9",
        campaignId: "",
      })
      .then(
        () => "ok",
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );

  it("hold the whole available amount and never more", async () => {
    const tenantId = await newTenant(300n);
    const indexes = Array.from({ length: 600 }, (_, index) => index);
    const answers = await Promise.all(
      indexes.map((index) => hold(index, tenantId, newId("reservation"), 1n)),
    );
    expect(answers.filter((answer) => answer === "ok")).to.have.length(300);
    expect(answers.filter((answer) => answer === "insufficient_balance")).to.have.length(300);
    expect(await at(0).wallets.get(tenantId)).to.include({ balance: 300n, held: 300n });
    expect(await at(0).breaches(tenantId)).to.deep.equal([]);
  });

  it("place one hold for a reservation id that all of them get", async () => {
    const tenantId = await newTenant(100n);
    const ids = Array.from({ length: 20 }, () => newId("reservation"));
    const answers = await Promise.all(
      ids.flatMap((id) => [0, 1, 2].map((index) => hold(index, tenantId, id, 5n))),
    );
    expect(new Set(answers)).to.deep.equal(new Set(["ok"]));
    expect(await at(1).wallets.get(tenantId)).to.include({ held: 100n });
    expect(await at(1).breaches(tenantId)).to.deep.equal([]);
  });

  it("settle a message once, by the first request", async () => {
    const tenantId = await newTenant(200n);
    const reservationId = newId("reservation");
    await hold(0, tenantId, reservationId, 200n, 20);
    const messages = Array.from({ length: 20 }, () => newId("message"));
    const results = await Promise.all(
      messages.flatMap((messageId) =>
        [0, 1, 2].map((index) =>
          at(index).settleMessages([
            {
              tenantId,
              messageId,
              reservationId,
              heldAmount: 10n,
              capturedAmount: BigInt(index),
            },
          ]),
        ),
      ),
    );
    const settled = results.flat().filter(({ kind }) => kind === "settled");
    expect(settled).to.have.length(20);
    const wallet = await at(2).wallets.get(tenantId);
    expect(wallet.held).to.equal(0n);
    expect(wallet.balance).to.be.within(160n as never, 200n as never);
    expect(await at(2).breaches(tenantId)).to.deep.equal([]);
  });

  it("move a funding once when all of them get it", async () => {
    const tenantId = await newTenant(1n);
    const outcomes = await Promise.all(
      [0, 1, 2, 0, 1, 2].map((index) =>
        at(index).wallets.fund(tenantId, { kind: "fund", amount: 7n, reference: "once", actor }),
      ),
    );
    expect(outcomes.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect(new Set(outcomes.map(({ entry }) => entry.id)).size).to.equal(1);
    expect((await at(0).wallets.get(tenantId)).balance).to.equal(8n);
  });

  it("hold the available amount of each of many uncontended wallets and never more", async () => {
    const tenants = await Promise.all(Array.from({ length: 40 }, () => newTenant(4n)));
    const answers = await Promise.all(
      tenants.flatMap((tenantId, wallet) =>
        [0, 1, 2, 3, 4, 5].map((index) => hold(wallet + index, tenantId, newId("reservation"), 1n)),
      ),
    );
    expect(answers.filter((answer) => answer === "ok")).to.have.length(160);
    expect(answers.filter((answer) => answer === "insufficient_balance")).to.have.length(80);
    for (const tenantId of tenants) expect(await at(1).breaches(tenantId)).to.deep.equal([]);
  });

  it("decide again when another replica has written a wallet that was only read", async () => {
    const [one, other] = [await newTenant(10n), await newTenant(10n)];
    const seen: bigint[] = [];
    await at(0).store.transact([one, other].sort(), async (tx) => {
      const none = { reservationIds: [], messageIds: [], references: [] };
      const views = await tx.load(new Map([one, other].map((tenantId) => [tenantId, none])));
      seen.push(views.get(other)?.wallet.held ?? -1n);
      if (seen.length === 1) expect(await hold(1, other, newId("reservation"), 3n)).to.equal("ok");
      const changes = [...views.values()].flatMap((view) => {
        const command = {
          kind: "hold",
          reservationId: newId("reservation"),
          amount: 7n,
          messageCount: 1,
          firstMessageId: "msg_1",
          lastMessageId: "msg_1",
          campaignId: "",
        } as const;
        return decide(view, [command], { nowMs: Date.now(), newId }).changes ?? [];
      });
      await tx.save(changes);
    });
    expect(seen).to.deep.equal([0n, 3n]);
    expect((await at(2).wallets.get(one)).held).to.equal(7n);
    expect((await at(2).wallets.get(other)).held).to.equal(10n);
    for (const tenantId of [one, other]) {
      expect(await at(2).breaches(tenantId)).to.deep.equal([]);
    }
  });

  it("decide on what another replica wrote after their own last write", async () => {
    const update = (index: number, tenantId: string, frozen: boolean) =>
      at(index).wallets.update(tenantId, { kind: "update", frozen, actor });
    const frozen = await newTenant(10n);
    expect(await hold(0, frozen, newId("reservation"), 1n)).to.equal("ok");
    await update(1, frozen, true);
    expect(await hold(0, frozen, newId("reservation"), 1n)).to.equal("tenant_suspended");
    await update(1, frozen, false);
    expect(await hold(0, frozen, newId("reservation"), 1n)).to.equal("ok");

    const spent = await newTenant(10n);
    expect(await hold(0, spent, newId("reservation"), 4n)).to.equal("ok");
    expect(await hold(1, spent, newId("reservation"), 4n)).to.equal("ok");
    expect(await hold(0, spent, newId("reservation"), 4n)).to.equal("insufficient_balance");

    const funded = await newTenant(1n);
    expect(await hold(0, funded, newId("reservation"), 1n)).to.equal("ok");
    await at(1).wallets.fund(funded, { kind: "fund", amount: 5n, reference: "more", actor });
    expect(await hold(0, funded, newId("reservation"), 5n)).to.equal("ok");
    for (const tenantId of [frozen, spent, funded]) {
      expect(await at(2).breaches(tenantId)).to.deep.equal([]);
    }
    expect((await at(2).wallets.get(spent)).held).to.equal(8n);
  });
});
