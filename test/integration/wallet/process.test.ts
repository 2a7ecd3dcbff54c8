import { expect } from "chai";
import { EntryKind } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import {
  connectWallet,
  startWallet,
  type WalletClient,
  type WalletProcess,
} from "../../support/wallet-process.ts";

const actor = { name: "smsctl:ada", address: "192.0.2.1" };

describe("the wallet process over gRPC", () => {
  let servers: TestServers;
  let harness: WalletHarness;
  let wallet: WalletProcess;
  let client: WalletClient;
  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    const prefix = freshDatabase("process");
    harness = await openWallet(servers, { database: `${prefix}_wallet` });
    wallet = await startWallet(servers, prefix);
    client = connectWallet(wallet.target);
  });
  after(async () => {
    client.closeChannel();
    await wallet.stop();
    await harness.close();
    await servers.stop();
  });

  const holdOf = (tenantId: string, amount: bigint, reservationId = newId("reservation")) => ({
    tenantId,
    reservationId,
    amount,
    messageCount: 1,
    firstMessageId: "msg_1",
    lastMessageId: "msg_1",
  });
  async function newTenant(amount = 100n): Promise<string> {
    const tenantId = newId("tenant");
    await client.createWallet({ tenantId, currency: "NGN" });
    await client.fundWallet({ tenantId, amount, reference: "start", actor });
    return tenantId;
  }
  const errorOf = (promise: Promise<unknown>) =>
    promise.then(
      () => {
        throw new Error("it was not refused");
      },
      (error: unknown) => toAppError(error),
    );

  it("creates a wallet once; its currency is fixed", async () => {
    const tenantId = await newTenant();
    const { wallet: again } = await client.createWallet({ tenantId, currency: "NGN" });
    expect(again).to.include({ tenantId, currency: "NGN", balance: 100n, available: 100n });
    const refused = await errorOf(client.createWallet({ tenantId, currency: "USD" }));
    expect(refused.code).to.equal("invalid_state_transition");
  });

  it("refuses a hold with the required and available amounts and currency", async () => {
    const tenantId = await newTenant();
    expect(await client.placeHold(holdOf(tenantId, 60n))).to.include({ available: 40n });
    const refused = await errorOf(client.placeHold(holdOf(tenantId, 41n)));
    expect(refused.code).to.equal("insufficient_balance");
    expect(refused.extra).to.deep.equal({
      required_amount: "0.0041",
      available_amount: "0.0040",
      currency: "NGN",
    });
    const beyond = await errorOf(client.placeHold(holdOf(tenantId, 2n ** 63n - 1n)));
    expect(beyond.code, "more than any balance can be").to.equal("insufficient_balance");
  });

  it("returns one outcome per hold of a batch, in the order of the request", async () => {
    const tenantId = await newTenant();
    const holds = [holdOf(tenantId, 90n), holdOf(tenantId, 20n), holdOf("ten_none", 1n)];
    const { outcomes } = await client.placeHolds({ holds });
    expect(outcomes.map(({ reservationId }) => reservationId)).to.deep.equal(
      holds.map(({ reservationId }) => reservationId),
    );
    expect(outcomes.map(({ errorCode, available }) => [errorCode, available])).to.deep.equal([
      ["", 10n],
      ["insufficient_balance", 10n],
      ["not_found", 0n],
    ]);
  });

  it("settles and releases, and lists both in the statement with balanced postings", async () => {
    const tenantId = await newTenant();
    const [first, second] = [holdOf(tenantId, 30n), holdOf(tenantId, 20n)];
    await client.placeHolds({ holds: [first, second] });
    const settlement = {
      tenantId,
      messageId: newId("message"),
      reservationId: first.reservationId,
      heldAmount: 30n,
      capturedAmount: 25n,
    };
    const settled = await client.settleMessages({ settlements: [settlement] });
    expect(settled).to.include({ settled: 1, alreadySettled: 0 });
    const again = await client.settleMessages({ settlements: [settlement] });
    expect(again).to.include({ settled: 0, alreadySettled: 1 });
    const wrong = { ...settlement, messageId: "", heldAmount: -1n };
    const refused = await client.settleMessages({ settlements: [settlement, wrong] }).then(
      () => [],
      (error: unknown) => toAppError(error).fields.map(({ field }) => field),
    );
    expect(refused).to.deep.equal(["settlements[1].message_id", "settlements[1].held_amount"]);
    const none = { ...settlement, messageId: "msg_none", reservationId: "rsv_none" };
    const impossible = await client.settleMessages({ settlements: [settlement, none] }).then(
      () => undefined,
      (error: unknown) => toAppError(error),
    );
    expect(impossible).to.include({ code: "not_found" });
    expect(impossible?.fields.map(({ field }) => field)).to.deep.equal(["settlements[1]"]);
    const { reservationId } = second;
    expect(await client.releaseReservation({ tenantId, reservationId })).to.include({
      releasedAmount: 20n,
    });
    const { reservation } = await client.getReservation({ tenantId, reservationId });
    expect(reservation).to.include({ amount: 20n, openAmount: 0n });

    const lines = [];
    for (let cursor = ""; ; ) {
      const page = await client.listEntries({ tenantId, limit: 2, cursor });
      lines.push(...page.entries);
      cursor = page.nextCursor;
      if (cursor === "") break;
    }
    expect(lines.map(({ kind, balanceAfter }) => [EntryKind[kind], balanceAfter])).to.deep.equal([
      ["RELEASE", 75n],
      ["RELEASE", 75n],
      ["CAPTURE", 75n],
      ["HOLD", 100n],
      ["HOLD", 100n],
      ["FUND", 100n],
    ]);
    for (const { postings } of lines) {
      expect(postings.reduce((sum, { amount }) => sum + amount, 0n)).to.equal(0n);
    }
  });

  it("audits the operator and address of a funding, an adjustment and a freeze", async () => {
    const tenantId = await newTenant();
    await client.adjustWallet({ tenantId, amount: -5n, reason: "test", reference: "a1", actor });
    await client.updateWallet({ tenantId, frozen: true, actor });
    const refused = await errorOf(client.placeHold(holdOf(tenantId, 1n)));
    expect(refused.code).to.equal("tenant_suspended");
    const { entries } = await client.listAuditEntries({ tenantId });
    const shown = entries.map(({ action, actor: by }) => `${action} ${by?.name} ${by?.address}`);
    expect(shown.slice(0, 3)).to.deep.equal([
      "wallet.update smsctl:ada 192.0.2.1",
      "wallet.adjust smsctl:ada 192.0.2.1",
      "wallet.fund smsctl:ada 192.0.2.1",
    ]);
    expect(entries[3]?.action).to.equal("wallet.create");
  });

  it("names every invalid field in one error", async () => {
    const request = { tenantId: await newTenant(), amount: -1n, reference: "" };
    const { code, fields } = await errorOf(client.fundWallet(request));
    expect(code).to.equal("validation_error");
    expect(fields.map(({ field }) => field)).to.deep.equal(["amount", "reference"]);
    const empty = await errorOf(client.placeHolds({ holds: [] }));
    expect(empty.code).to.equal("validation_error");
  });

  it("streams the check of the ledger to its end", async () => {
    const tenantId = await newTenant();
    const items = [];
    for await (const item of client.checkWallets({ tenantId })) items.push(item);
    expect(items.flatMap(({ breaches }) => breaches)).to.deep.equal([]);
    expect(items.at(-1)).to.include({ done: true, wallets: 1n, entries: 1n });
  });

  it("finishes accepted commands on SIGTERM and exits cleanly", async function () {
    this.timeout(60_000);
    const tenantId = await newTenant(10_000n);
    const answers = Array.from({ length: 400 }, () =>
      client.placeHold(holdOf(tenantId, 1n)).then(
        () => "held",
        (error: unknown) => toAppError(error).code,
      ),
    );
    await answers[0];
    const log = await wallet.stop();
    const counted = await Promise.all(answers);
    const held = counted.filter((answer) => answer === "held").length;
    expect(new Set(counted)).to.not.include("internal_error");
    expect((await harness.wallets.get(tenantId)).held).to.equal(BigInt(held));
    expect(log).to.contain('"clean":true');
  });
});
