/** Operator actions on a real wallet process, over gRPC and with smsctl. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import type { Db } from "mongodb";
import { type Entry, EntryKind } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { migrate as migrateTenants } from "../../../services/tenant/migrate.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { smsctl } from "../../support/smsctl.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import {
  connectWallet,
  startWallet,
  WALLET_TOKEN,
  type WalletClient,
  type WalletProcess,
} from "../../support/wallet-process.ts";

const actor = { name: "dashboard:ada", address: "192.0.2.1" };

describe("operator actions on a wallet", function () {
  this.timeout(30_000);
  let servers: TestServers;
  let harness: WalletHarness;
  let wallet: WalletProcess;
  let client: WalletClient;
  let folder: string;
  let tenantDb: Db;
  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
    const prefix = freshDatabase("operations");
    harness = await openWallet(servers, { database: `${prefix}_wallet` });
    // smsctl resolves the tenant through the tenant service.
    tenantDb = harness.mongo.client.db(`${prefix}_tenant`);
    await migrateTenants(tenantDb);
    wallet = await startWallet(servers, prefix, {}, ["tenant"]);
    client = connectWallet(wallet.target);
    folder = temporaryFolder("statement");
  });
  after(async () => {
    client.closeChannel();
    await wallet.stop();
    await tenantDb.dropDatabase();
    await harness.close();
    await servers.stop();
  });

  async function newTenant(): Promise<string> {
    const tenantId = newId("tenant");
    await client.createWallet({ tenantId, currency: "NGN", actor });
    return tenantId;
  }
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "ok",
      (error: unknown) => toAppError(error).code,
    );
  const ctl = (...words: string[]) => {
    const grpc = { wallet: wallet.target, tenant: wallet.target };
    return smsctl({ grpc, grpc_token: WALLET_TOKEN }, ...words);
  };

  async function newCustomer(): Promise<string> {
    const { value, error } = await ctl("tenant", "create", "--name", newId("request"));
    expect(error).to.equal("");
    return (value as { id: string }).id;
  }

  /** One funding, two adjustments and two holds, each in its own transaction. */
  async function withHistory(
    maker: () => Promise<string> = newTenant,
  ): Promise<{ tenantId: string; lines: Entry[] }> {
    const tenantId = await maker();
    await client.fundWallet({ tenantId, amount: 10_000n, reference: "f", actor });
    const reason = 'a "quoted", =odd() reason';
    await client.adjustWallet({ tenantId, amount: -1n, reason, reference: "a1", actor });
    await client.adjustWallet({ tenantId, amount: 2n, reason: "-1+1", reference: "a2", actor });
    for (const amount of [3n, 4n]) {
      const reservationId = newId("reservation");
      await client.placeHold({ tenantId, reservationId, amount, messageCount: 1 });
    }
    const { entries } = await client.listEntries({ tenantId });
    expect(entries).to.have.length(5);
    return { tenantId, lines: entries };
  }

  it("StreamSettlements returns up to 1,000 settlements by message id, of one tenant", async () => {
    const { tenantId } = await withHistory();
    const [reservationId, ...ids] = [newId("reservation"), newId("message"), newId("message")];
    const [first = "", second = ""] = ids;
    await client.placeHold({ tenantId, reservationId, amount: 10n, messageCount: 2 });
    const settlements = ids.map((messageId) => {
      return { tenantId, reservationId, messageId, heldAmount: 5n, capturedAmount: 4n };
    });
    await client.settleMessages({ settlements });
    const settlementsOf = async (owner: string, messageIds: string[]) => {
      const found: string[] = [];
      for await (const part of client.streamSettlements({ tenantId: owner, messageIds })) {
        found.push(...part.settlements.map(({ messageId }) => messageId));
      }
      return found;
    };
    expect(await settlementsOf(tenantId, [second, newId("message")])).to.deep.equal([second]);
    expect(await settlementsOf("", [second, first])).to.deep.equal([first, second]);
    expect(await settlementsOf(newId("tenant"), ids)).to.deep.equal([]);
    expect(await settlementsOf(tenantId, [])).to.deep.equal([first, second]);
    expect(await codeOf(settlementsOf(tenantId, Array(1001).fill(first)))).to.equal(
      "validation_error",
    );
  });

  it("StreamReservations returns open reservations with the grace time", async () => {
    const { tenantId } = await withHistory();
    const graceTimes: unknown[] = [];
    for await (const { reservations, graceMs } of client.streamReservations({})) {
      if (reservations.some((one) => one.tenantId === tenantId)) graceTimes.push(graceMs);
    }
    expect(graceTimes).to.deep.equal([45_000n]);
  });

  it("a reference moves money once under concurrent requests of any amounts", async () => {
    const tenantId = await newTenant();
    const request = { tenantId, amount: 7n, reference: "once", actor };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.fundWallet({ ...request })),
    );
    expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect(new Set(answers.map(({ entry }) => entry?.id)).size).to.equal(1);
    expect(await codeOf(client.fundWallet({ ...request, amount: 8n }))).to.equal(
      "idempotency_key_reused",
    );
    expect(await codeOf(client.adjustWallet({ ...request, reason: "no" }))).to.equal(
      "idempotency_key_reused",
    );
    const { wallet: after } = await client.getWallet({ tenantId });
    expect(after?.balance).to.equal(7n);
    const { entries: audit } = await client.listAuditEntries({ tenantId });
    expect(audit.filter(({ action }) => action === "wallet.fund")).to.have.length(1);
  });

  it("the audit has the creator of a wallet, and a second currency changes nothing", async () => {
    const tenantId = await newTenant();
    expect(await codeOf(client.createWallet({ tenantId, currency: "USD", actor }))).to.equal(
      "invalid_state_transition",
    );
    const { entries } = await client.listAuditEntries({ tenantId });
    expect(entries.map(({ action, actor: by }) => [action, by?.name, by?.address])).to.deep.equal([
      ["wallet.create", actor.name, actor.address],
    ]);
  });

  it("a date range has the entries at or after its start and before its end", async () => {
    const { tenantId, lines } = await withHistory();
    const instants = [...new Set(lines.map(({ createdAtMs }) => createdAtMs))].sort();
    for (const at of instants) {
      const ids = async (range: { fromMs?: bigint; toMs?: bigint }) =>
        (await client.listEntries({ tenantId, ...range })).entries.map(({ id }) => id);
      const expected = (isIn: (atMs: bigint) => boolean) =>
        lines.filter(({ createdAtMs }) => isIn(createdAtMs)).map(({ id }) => id);
      expect(await ids({ fromMs: at })).to.deep.equal(expected((ms) => ms >= at));
      expect(await ids({ toMs: at })).to.deep.equal(expected((ms) => ms < at));
    }
  });

  it("pages by cursor within a range and a kind, unaffected by new entries", async () => {
    const { tenantId, lines } = await withHistory();
    const wanted = { tenantId, kinds: [EntryKind.ADJUST, EntryKind.HOLD], limit: 1 };
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const page = await client.listEntries({ ...wanted, cursor });
      seen.push(...page.entries.map(({ id }) => id));
      cursor = page.nextCursor;
      if (cursor === "") break;
      const reference = newId("request");
      await client.adjustWallet({ tenantId, amount: 1n, reason: "later", reference, actor });
    }
    const { FUND } = EntryKind;
    expect(seen).to.deep.equal(lines.filter(({ kind }) => kind !== FUND).map(({ id }) => id));
  });

  for (const [what, wrong] of Object.entries({
    "a start before 1970": { fromMs: -1n },
    "an end beyond the largest date": { toMs: 9_000_000_000_000_000_000n },
    "an unspecified kind": { kinds: [EntryKind.UNSPECIFIED] },
    "an unknown kind": { kinds: [99 as EntryKind] },
    "an invalid cursor": { cursor: "tomorrow" },
  })) {
    it(`refuses ${what}`, async () => {
      const { tenantId } = await withHistory();
      expect(await codeOf(client.listEntries({ tenantId, ...wrong }))).to.equal("validation_error");
    });
  }

  it("the export has every entry once, quoted, and overwrites no file", async () => {
    const { tenantId, lines } = await withHistory(newCustomer);
    const file = join(folder, "statement.csv");
    const words = ["wallet", "entries", "--tenant", tenantId, "--csv", file];
    const { code, value, error } = await ctl(...words);
    expect(error).to.equal("");
    expect(code).to.equal(0);
    expect(value).to.deep.equal({ file, entries: lines.length });
    const rows = (await readFile(file, "utf8")).trimEnd().split("\r\n");
    expect(rows[0]).to.match(/^id,created_at,kind,currency,available_change,/);
    expect(rows.slice(1).map((row) => row.split(",")[0])).to.deep.equal(lines.map(({ id }) => id));
    expect(rows.find((row) => row.includes(",a1,"))).to.contain('"a ""quoted"", =odd() reason"');
    expect(rows.find((row) => row.includes(",a2,"))).to.contain(",'-1+1,");
    expect(rows.find((row) => row.includes(",a1,"))).to.contain(",-0.0001,");
    const again = await ctl(...words);
    expect(again.code).to.equal(2);
    expect(again.error).to.contain("validation_error");
    expect((await readFile(file, "utf8")).trimEnd().split("\r\n")).to.deep.equal(rows);
  });

  it("smsctl lists the entries of one campaign", async () => {
    const { tenantId } = await withHistory(newCustomer);
    const campaignId = newId("campaign");
    const hold = { tenantId, reservationId: newId("reservation"), amount: 5n, messageCount: 1 };
    await client.placeHold({ ...hold, campaignId });
    const words = ["wallet", "entries", "--tenant", tenantId, "--campaign", campaignId];
    const found = (await ctl(...words)).value as Record<string, string>[];
    expect(found.map(({ kind, campaign_id: campaign }) => ({ kind, campaign }))).to.deep.equal([
      { kind: "hold", campaign: campaignId },
    ]);
    const file = join(folder, "campaign.csv");
    expect((await ctl(...words, "--csv", file)).value).to.deep.equal({ file, entries: 1 });
    expect(await readFile(file, "utf8")).to.contain(`,${campaignId}\r\n`);
  });

  it("smsctl lists one kind and continues at a cursor", async () => {
    const { tenantId, lines } = await withHistory(newCustomer);
    const words = ["wallet", "entries", "--tenant", tenantId, "--kind", "hold,fund"];
    const all = (await ctl(...words)).value as { id: string; kind: string }[];
    expect(all.map(({ kind }) => kind)).to.deep.equal(["hold", "hold", "fund"]);
    const { nextCursor } = await client.listEntries({ tenantId, limit: 2 });
    const rest = (await ctl("wallet", "entries", "--tenant", tenantId, "--cursor", nextCursor))
      .value as { id: string }[];
    expect(rest.map(({ id }) => id)).to.deep.equal(lines.slice(2).map(({ id }) => id));
    const wrong = await ctl("wallet", "entries", "--tenant", tenantId, "--kind", "theft");
    expect(wrong.code).to.equal(2);
  });
});
