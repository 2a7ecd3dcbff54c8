/** Fundings by persons on a real database: two of them above the limit, and each moves exactly once. */
import { expect } from "chai";
import { type Clock, systemClock } from "../../../services/shared/core/clock.ts";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createFundings } from "../../../services/wallet/app/fundings.ts";
import type { Wallets } from "../../../services/wallet/app/wallets.ts";
import {
  FUNDING_WINDOW_MS,
  type Funding,
} from "../../../services/wallet/domain/funding-request.ts";
import { createFundingStore } from "../../../services/wallet/store/funding-store.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";

const BOB = { name: "bob@example.org", address: "203.0.113.8" };
const EVE = { name: "eve@example.org", address: "203.0.113.9" };
const LIMIT = 1_000_0000n;
const LARGE = 5_000_0000n;

describe("fundings by persons", function () {
  this.timeout(60_000);
  let servers: TestServers;
  let harness: WalletHarness;
  let wallets: Wallets;
  let fundings: ReturnType<typeof open>;
  let count = 0;
  /** A person of this test alone: what a person has funded counts for a day. */
  let ada = { name: "", address: "203.0.113.7" };

  /** One replica of the use cases over the same database. */
  function open(moving: Pick<Wallets, "get" | "fund"> = wallets, clock: Clock = systemClock) {
    const { client, db } = harness.mongo;
    const store = createFundingStore(client, db, createAuditLog(db, 3_600_000));
    return createFundings({ store, wallets: moving, clock, approvalAbove: LIMIT });
  }

  before(async () => {
    servers = await startServers();
    harness = await openWallet(servers);
    wallets = harness.wallets;
    fundings = open();
  });
  after(async () => {
    await harness?.close();
    await servers?.stop();
  });

  async function newTenant(): Promise<string> {
    count += 1;
    ada = { ...ada, name: `ada${count}@example.org` };
    const tenantId = `ten_funding_${count}`;
    await wallets.create(tenantId, "NGN", 0n, ada);
    return tenantId;
  }
  const ask = (tenantId: string, amount: bigint, key = `key ${Math.random()}`) =>
    fundings.request({ tenantId, amount, reason: "invoice 7" }, key, ada);
  const balanceOf = async (tenantId: string) => (await wallets.get(tenantId)).balance;
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: AppError) => error.code,
    );

  it("an amount up to the limit moves at once, and a repeat under its key moves nothing", async () => {
    const tenantId = await newTenant();
    const first = await ask(tenantId, LIMIT, "once");
    const again = await ask(tenantId, LIMIT, "once");
    expect(first).to.include({ state: "funded", decidedBy: "" });
    expect(again.id).to.equal(first.id);
    expect(await balanceOf(tenantId)).to.equal(LIMIT);
    expect(await codeOf(ask(tenantId, LIMIT - 1n, "once"))).to.equal("idempotency_key_reused");
  });

  it("a larger one waits for another person, and the ledger names both", async () => {
    const tenantId = await newTenant();
    const asked = await ask(tenantId, LARGE);
    expect(asked.state).to.equal("pending");
    expect(await balanceOf(tenantId)).to.equal(0n);
    expect(await codeOf(fundings.decide(asked.id, true, ada))).to.equal("insufficient_scope");
    expect(await fundings.decide(asked.id, true, BOB)).to.include({ state: "funded" });
    expect(await balanceOf(tenantId)).to.equal(LARGE);
    const { items } = await wallets.listEntries({
      ...{ tenantId, fromMs: 0, toMs: 0, kinds: [], campaignId: "", limit: 10, cursor: "" },
    });
    expect(items[0]).to.include({ reference: asked.id, actor: `${ada.name}, ${BOB.name}` });
  });

  const stateOf = async (tenantId: string, amount: bigint) => (await ask(tenantId, amount)).state;

  it("small ones of a person within 24 hours wait once their sum is above the limit", async () => {
    const first = await newTenant();
    const person = ada;
    expect(await stateOf(first, LIMIT - 1n)).to.equal("funded");
    const second = await newTenant();
    // Another person has a sum of their own.
    expect(await stateOf(second, LIMIT)).to.equal("funded");
    ada = person;
    // Another tenant does not make it two persons.
    expect(await stateOf(second, 2n)).to.equal("pending");
    // One that waits moved no money, and does not count.
    expect(await stateOf(second, 1n)).to.equal("funded");
    const waits = await ask(second, 1n);
    expect(waits.state).to.equal("pending");
    expect(await codeOf(fundings.decide(waits.id, true, ada))).to.equal("insufficient_scope");
    expect((await fundings.decide(waits.id, true, BOB)).state).to.equal("funded");
    expect(await balanceOf(second)).to.equal(LIMIT + 2n);
  });

  it("one that a second person approved does not count, nor one of another currency", async () => {
    const tenantId = await newTenant();
    const { id } = await ask(tenantId, LARGE);
    await fundings.decide(id, true, BOB);
    expect(await stateOf(tenantId, LIMIT)).to.equal("funded");
    const dollars = `ten_dollars_${count}`;
    await wallets.create(dollars, "USD", 0n, ada);
    expect(await stateOf(dollars, LIMIT)).to.equal("funded");
    expect(await stateOf(dollars, 1n)).to.equal("pending");
  });

  it("the sum is that of the last 24 hours", async () => {
    const tenantId = await newTenant();
    let nowMs = Date.now();
    const timed = open(wallets, { ...systemClock, now: () => nowMs });
    const at = (amount: bigint) =>
      timed.request({ tenantId, amount, reason: "invoice 7" }, `key ${Math.random()}`, ada);
    expect((await at(LIMIT)).state).to.equal("funded");
    nowMs += FUNDING_WINDOW_MS - 1;
    expect((await at(1n)).state).to.equal("pending");
    nowMs += 1;
    expect((await at(LIMIT)).state).to.equal("funded");
  });

  it("requests of one person at once, on two replicas, are together within the limit", async () => {
    const replicas = [fundings, open()];
    const tenantId = await newTenant();
    const asked = await Promise.all(
      Array.from({ length: 12 }, (_, at) => {
        const wanted = { tenantId, amount: LIMIT / 4n, reason: "invoice 7" };
        return replicas[at % 2]?.request(wanted, `at once ${at}`, ada);
      }),
    );
    await fundings.sweep();
    expect(await balanceOf(tenantId)).to.equal(LIMIT);
    expect(asked.filter((one) => one?.state === "pending")).to.have.length(8);
  });

  it("a refused one moves nothing, also when it is approved afterwards", async () => {
    const tenantId = await newTenant();
    const asked = await ask(tenantId, LARGE);
    // Its own requester may take it back.
    expect(await fundings.decide(asked.id, false, ada)).to.include({ state: "refused" });
    const later = fundings.decide(asked.id, true, BOB);
    expect(await codeOf(later)).to.equal("invalid_state_transition");
    expect(await balanceOf(tenantId)).to.equal(0n);
  });

  it("of many approvals and refusals at the same time, on two replicas, one counts", async () => {
    const replicas = [fundings, open()];
    for (let round = 0; round < 5; round += 1) {
      const tenantId = await newTenant();
      const { id } = await ask(tenantId, LARGE);
      const results = await Promise.allSettled(
        Array.from({ length: 16 }, (_, at) =>
          replicas[at % 2]?.decide(id, at % 4 < 2, at % 2 === 0 ? BOB : EVE),
        ),
      );
      const states = results.flatMap((one) =>
        one.status === "fulfilled" ? [(one.value as Funding).state] : [],
      );
      const isRefused = states.includes("refused");
      expect(new Set(states.map((state) => (state === "refused" ? state : "moved"))).size).to.equal(
        1,
      );
      // An approval may be answered before the approved money has moved.
      await fundings.sweep();
      expect(await balanceOf(tenantId)).to.equal(isRefused ? 0n : LARGE);
    }
  });

  it("money whose process ended at any step of the movement moves once, by the next sweep", async () => {
    for (const step of ["before the money", "after the money"]) {
      const tenantId = await newTenant();
      const dying = open({
        get: wallets.get,
        async fund(...movement) {
          if (step === "after the money") await wallets.fund(...movement);
          // As of a process that was killed: the caller gets no answer, and nothing after this runs.
          throw new Error("killed");
        },
      });
      const { id } = await ask(tenantId, LARGE);
      // The domain's own refusals end a funding; a lost process must not.
      const left = await dying.decide(id, true, BOB);
      expect(left.state, step).to.equal("approved");
      await Promise.all([fundings.sweep(), open().sweep()]);
      await fundings.sweep();
      expect(await balanceOf(tenantId), step).to.equal(LARGE);
      const { items } = await fundings.list({ tenantId, states: [], limit: 10, cursor: "" });
      expect(items.map(({ state }) => state)).to.deep.equal(["funded"]);
    }
  });

  it("a funding that the wallet refuses fails with the reason, and is not retried", async () => {
    const tenantId = await newTenant();
    await wallets.fund(tenantId, {
      kind: "fund",
      amount: 10n ** 16n,
      reference: "full",
      actor: ada,
    });
    const { id } = await ask(tenantId, LARGE);
    const failed = await fundings.decide(id, true, BOB);
    expect(failed.state).to.equal("failed");
    expect(failed.failure).to.contain("largest amount");
    expect(await fundings.sweep()).to.equal(0);
  });

  it("lists are newest first, by tenant and state, in pages", async () => {
    const tenantId = await newTenant();
    const ids = [];
    for (let at = 0; at < 5; at += 1) ids.push((await ask(tenantId, LARGE)).id);
    const query = { tenantId, states: ["pending"] as const, limit: 3 };
    const first = await fundings.list({ ...query, cursor: "" });
    const second = await fundings.list({ ...query, cursor: first.nextCursor });
    const found = [...first.items, ...second.items].map(({ id }) => id);
    expect(found).to.deep.equal(ids.toReversed());
    expect(second.nextCursor).to.equal("");
    expect((await fundings.list({ ...query, states: ["funded"], cursor: "" })).items).to.be.empty;
  });
});
