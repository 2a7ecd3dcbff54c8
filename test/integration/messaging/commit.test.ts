import { expect } from "chai";
import { MongoServerError } from "mongodb";
import {
  type CheckedSend,
  createSendCommitter,
} from "../../../services/messaging/app/commit-sends.ts";
import type { Hold, ServiceClients } from "../../../services/messaging/app/ports.ts";
import { createSendStore } from "../../../services/messaging/store/sends.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { messageIn } from "../../support/messages.ts";
import { codeOf, makeTenant, type TestTenant } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const PRICE = 40_000n;
const WRITE_CONFLICT = 112;

describe("holds and commits at the same time", () => {
  let poor: TestTenant;

  const { harness, tenant: rich } = openMessagingSuite();
  before(async () => {
    poor = await makeTenant(harness, { funds: PRICE });
  });

  const isStored = async (send: CheckedSend) => {
    const [sends, messages] = await Promise.all([
      harness.db.collection("sends").countDocuments({ _id: send.record.id as never }),
      harness.db.collection("messages").countDocuments({ _id: send.messages[0]?.id as never }),
    ]);
    expect(sends, "a send and its message").to.equal(messages);
    return sends === 1;
  };
  const heldBy = async (tenant: TestTenant) => {
    const { wallet } = await harness.wallets.getWallet({ tenantId: tenant.id });
    return wallet?.held ?? 0n;
  };

  /**
   * The committer on the real wallet and store, with a door before the wallet's answers. Its batches wait for their
   * holds longer than any test lasts, so that a busy machine changes no outcome.
   */
  function openCommitter(
    door: Promise<void> = Promise.resolve(),
    changed: Partial<ReturnType<typeof createSendStore>> = {},
    holdsWaitMs = 50_000,
  ) {
    const calls = { together: 0, alone: 0 };
    const place = async (holds: readonly Hold[]) => {
      const { outcomes } = await harness.wallets.placeHolds({ holds: [...holds] });
      await door;
      return outcomes.map(({ errorCode }) =>
        errorCode === "" ? undefined : new AppError(errorCode as "insufficient_balance", "refused"),
      );
    };
    const services: Pick<ServiceClients, "placeHold" | "placeHolds" | "releaseReservation"> = {
      async placeHold(hold) {
        calls.alone += 1;
        const [refusal] = await place([hold]);
        if (refusal !== undefined) throw refusal;
      },
      placeHolds(holds) {
        calls.together += 1;
        return place(holds);
      },
      async releaseReservation(tenantId, reservationId) {
        await harness.wallets.releaseReservation({ tenantId, reservationId });
      },
    };
    const committer = createSendCommitter({
      services,
      sends: { ...createSendStore(harness.mongo, harness.db), ...changed },
      clock: harness.clock,
      log: createLogger("test", "silent"),
      acceptQueueMax: 1000,
      holdsWaitMs,
    });
    return { committer, calls };
  }

  it("one tenant's refused holds leave no trace of their sends, and the other sends of the batch commit", async () => {
    const { committer } = openCommitter();
    const before = await heldBy(rich);
    const sends = Array.from({ length: 30 }, (_, at) => checkedSend(at % 3 === 0 ? poor : rich));
    const codes = await Promise.all(sends.map((send) => codeOf(committer.commit(send))));
    const accepted = sends.filter((_, at) => codes[at] === "no error");
    expect(accepted.filter(({ record }) => record.tenantId === rich.id)).to.have.length(20);
    expect(accepted.filter(({ record }) => record.tenantId === poor.id)).to.have.length(1);
    for (const [at, send] of sends.entries()) {
      expect(await isStored(send)).to.equal(codes[at] === "no error");
      if (codes[at] !== "no error") expect(codes[at]).to.equal("insufficient_balance");
    }
    expect((await heldBy(rich)) - before).to.equal(20n * PRICE);
    expect(await heldBy(poor)).to.equal(PRICE);
    await committer.close();
  });

  it("an account whose hold was refused asks for its holds first, for a while", async () => {
    const { committer, calls } = openCommitter();
    expect(await codeOf(committer.commit(checkedSend(poor)))).to.equal("insufficient_balance");
    expect(calls).to.deep.equal({ together: 1, alone: 0 });
    expect(await codeOf(committer.commit(checkedSend(poor)))).to.equal("insufficient_balance");
    expect(calls).to.deep.equal({ together: 1, alone: 1 });
    await committer.commit(checkedSend(rich));
    expect(calls).to.deep.equal({ together: 2, alone: 1 });
    harness.clock.advance(5001);
    expect(await codeOf(committer.commit(checkedSend(poor)))).to.equal("insufficient_balance");
    expect(calls).to.deep.equal({ together: 3, alone: 1 });
    await committer.close();
  });

  it("no read shows a send before its hold is placed, with a slow wallet too", async () => {
    const door = Promise.withResolvers<void>();
    const { committer, calls } = openCommitter(door.promise, {}, 500);
    const before = await heldBy(rich);
    const send = checkedSend(rich);
    const free = { ...checkedSend(rich), hold: undefined };
    const committed = committer.commit(send);
    await committer.commit(free);
    expect(await isStored(free), "a send without a hold waits for nobody").to.equal(true);
    await eventually(() => calls.alone === 1, { what: "a send that leaves its batch" });
    // The server is shared with other tests, whose transactions are soon over.
    const areNoneOpen = async () => {
      const { transactions } = await harness.mongo.db("admin").command({ serverStatus: 1 });
      return transactions.currentOpen === 0;
    };
    await eventually(areNoneOpen, { what: "no transaction that waits for the wallet" });
    expect(await isStored(send)).to.equal(false);
    door.resolve();
    await committed;
    expect(await isStored(send)).to.equal(true);
    expect((await heldBy(rich)) - before, "one hold, though asked for twice").to.equal(PRICE);
    await committer.close();
  });

  it("a send that its caller gave up does not happen, and its hold is released", async () => {
    const door = Promise.withResolvers<void>();
    const { committer } = openCommitter(door.promise);
    const before = await heldBy(rich);
    let isGivenUp = false;
    const given = { ...checkedSend(rich), isGivenUp: () => isGivenUp };
    const sibling = checkedSend(rich);
    const outcomes = Promise.all([given, sibling].map((send) => codeOf(committer.commit(send))));
    isGivenUp = true;
    door.resolve();
    expect(await outcomes).to.deep.equal(["service_unavailable", "no error"]);
    expect(await harness.db.collection("messages").countDocuments(ofSend(given))).to.equal(0);
    expect(await isStored(sibling)).to.equal(true);
    expect((await heldBy(rich)) - before).to.equal(PRICE);
    await committer.close();
  });

  for (const [what, send] of [
    ["together with its neighbours", () => checkedSend(rich)],
    ["by itself", () => bulkOf(checkedSend(rich), 40)],
  ] as const) {
    it(`a send that fails ${what} after its hold is placed releases the hold, with a slow database too`, async () => {
      const store = createSendStore(harness.mongo, harness.db);
      const away = () => new AppError("service_unavailable", "The database is away.");
      let tries = 0;
      const { committer } = openCommitter(undefined, {
        async commit(_items, admit) {
          await admit();
          throw away();
        },
        async putTombstone(id, nowMs) {
          tries += 1;
          if (tries < 3) throw away();
          return await store.putTombstone(id, nowMs);
        },
      });
      const before = await heldBy(rich);
      const failed = send();
      const outcome = codeOf(committer.commit(failed));
      expect(await outcome).to.equal("service_unavailable");
      await eventually(async () => tries === 3 && (await heldBy(rich)) === before, {
        what: "the hold is given back",
      });
      // A commit that was still pending would find the tombstone now.
      const [late] = await store.commit([failed], async () => [undefined], harness.clock.now());
      expect(late).to.equal("duplicate");
      await committer.close();
    });
  }

  it("a send whose commit stood although its answer was lost keeps its hold", async () => {
    const store = createSendStore(harness.mongo, harness.db);
    let asked = "";
    const { committer } = openCommitter(undefined, {
      async commit(items, admit, nowMs) {
        await store.commit(items, admit, nowMs);
        throw new AppError("service_unavailable", "The answer was lost.");
      },
      async putTombstone(id, nowMs) {
        asked = await store.putTombstone(id, nowMs);
        return asked as "sent";
      },
    });
    const before = await heldBy(rich);
    const send = checkedSend(rich);
    expect(await codeOf(committer.commit(send))).to.equal("service_unavailable");
    await eventually(() => asked !== "");
    expect(asked).to.equal("sent");
    expect(await isStored(send)).to.equal(true);
    expect((await heldBy(rich)) - before).to.equal(PRICE);
    await committer.close();
  });

  it("bulk sends that their callers gave up while queued do not happen", async () => {
    const { committer } = openCommitter();
    const before = await heldBy(rich);
    let isGivenUp = false;
    const given = { ...bulkOf(checkedSend(rich), 40), isGivenUp: () => isGivenUp };
    // The two lanes are taken by sends of which the second is asked while the first is written.
    const ahead = Array.from({ length: 12 }, () => bulkOf(checkedSend(rich), 500));
    const done = Promise.all(ahead.map((send) => codeOf(committer.commit(send))));
    const outcome = codeOf(committer.commit(given));
    await eventually(async () => (await heldBy(rich)) - before >= 13n * PRICE, { what: "holds" });
    isGivenUp = true;
    expect(await outcome).to.equal("service_unavailable");
    expect(await done).to.deep.equal(ahead.map(() => "no error"));
    expect(await harness.db.collection("messages").countDocuments(ofSend(given))).to.equal(0);
    expect((await heldBy(rich)) - before).to.equal(12n * PRICE);
    await committer.close();
  });

  it("asks again whether a send may be committed when its transaction is made again", async () => {
    const sends = createSendStore(harness.mongo, harness.db);
    const [given, sibling] = [checkedSend(rich), checkedSend(rich)];
    let asked = 0;
    const admit = async () => {
      asked += 1;
      if (asked > 1) return ["given_up" as const, undefined];
      const lost = new MongoServerError({ message: "the primary is another" });
      lost.addErrorLabel("TransientTransactionError");
      throw lost;
    };
    const outcomes = await sends.commit([given, sibling], admit, harness.clock.now());
    expect(outcomes).to.deep.equal(["given_up", undefined]);
    expect([await isStored(given), await isStored(sibling)]).to.deep.equal([false, true]);
  });

  it("a send whose key another send holds releases its hold, and the rest of the batch commits", async () => {
    const { committer } = openCommitter();
    const before = await heldBy(rich);
    const key = `${rich.id}|single|${newId("request")}`;
    await committer.commit(checkedSend(rich, key));
    const twin = checkedSend(rich, key);
    const sibling = checkedSend(rich);
    const [lost] = await Promise.allSettled([committer.commit(twin), committer.commit(sibling)]);
    expect(lost).to.include({ status: "rejected" });
    expect(await harness.db.collection("messages").countDocuments(ofSend(twin))).to.equal(0);
    expect(await isStored(sibling)).to.equal(true);
    expect((await heldBy(rich)) - before, "of the first and the sibling").to.equal(2n * PRICE);
    await committer.close();
  });

  it("a refusal waits for a concurrent commit with its key, and later requests find the key closed", async () => {
    const sends = createSendStore(harness.mongo, harness.db);
    const key = `${rich.id}|single|${newId("request")}`;
    const door = Promise.withResolvers<void>();
    const { committer } = openCommitter(door.promise);
    const first = committer.commit(checkedSend(rich, key));
    const isWritten = async () => {
      const session = harness.mongo.startSession();
      try {
        session.startTransaction();
        const probe = { _id: newId("send") as never, idem: key, created_at: new Date() };
        await harness.db.collection("sends").insertOne(probe, { session });
        return false;
      } catch (error) {
        return error instanceof MongoServerError && error.code === WRITE_CONFLICT;
      } finally {
        await session.abortTransaction();
        await session.endSession();
      }
    };
    await eventually(isWritten, { what: "a transaction that waits for its hold" });
    const closing = sends.closeKeys([key], harness.clock.now());
    door.resolve();
    expect([...(await closing).keys()], "what the commit stored").to.deep.equal([key]);
    await first;

    const free = `${rich.id}|single|${newId("request")}`;
    // Replicas close it with what each takes for now.
    for (const behindMs of [0, 1, 1000]) {
      expect((await sends.closeKeys([free], harness.clock.now() - behindMs)).size).to.equal(0);
    }
    const late = checkedSend(rich, free);
    const [lost] = await Promise.allSettled([committer.commit(late)]);
    expect(lost).to.include({ status: "rejected" });
    expect(await harness.db.collection("messages").countDocuments(ofSend(late))).to.equal(0);
    const tombstone = (await sends.findByKeys([free])).get(free);
    const next = checkedSend(rich, free);
    await committer.commit({ ...next, record: { ...next.record, replaces: tombstone?.id } });
    expect(await isStored(next)).to.equal(true);
    await committer.close();
  });
});

function ofSend({ messages }: CheckedSend) {
  return { _id: messages[0]?.id as never };
}

/** The same as a bulk send: many messages under one hold. */
function bulkOf(send: CheckedSend, count: number): CheckedSend {
  const { reservationId, tenantId } = send.messages[0] ?? {};
  const messages = Array.from({ length: count }, () =>
    messageIn("waiting", { reservationId, tenantId: tenantId ?? "" }),
  );
  const [firstMessageId, lastMessageId] = [messages[0]?.id ?? "", messages.at(-1)?.id ?? ""];
  const ends = { firstMessageId, lastMessageId };
  const hold = send.hold === undefined ? undefined : { ...send.hold, messageCount: count, ...ends };
  return { ...send, record: { ...send.record, ...ends }, messages, hold };
}

function checkedSend(tenant: TestTenant, key?: string): CheckedSend {
  const reservationId = newId("reservation");
  const message = messageIn("waiting", { reservationId, tenantId: tenant.id });
  return {
    record: {
      id: reservationId,
      tenantId: tenant.id,
      firstMessageId: message.id,
      lastMessageId: message.id,
      key,
      fingerprint: new Uint8Array(32),
      response: new Uint8Array(),
      keepMs: 60_000,
      replaces: undefined,
    },
    messages: [message],
    hold: {
      tenantId: tenant.id,
      reservationId,
      amount: PRICE,
      messageCount: 1,
      firstMessageId: message.id,
      lastMessageId: message.id,
      campaignId: "",
    },
    isGivenUp: () => false,
  };
}
