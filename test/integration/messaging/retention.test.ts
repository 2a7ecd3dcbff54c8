import { expect } from "chai";
import type { CheckedSend } from "../../../services/messaging/app/commit-sends.ts";
import { insertAll } from "../../../services/messaging/store/bulk-writes.ts";
import { type MessageDocument, toDocument } from "../../../services/messaging/store/documents.ts";
import {
  createMessageStore,
  type EventOutbox,
} from "../../../services/messaging/store/messages.ts";
import { createSendStore } from "../../../services/messaging/store/sends.ts";
import { lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import { messageIn } from "../../support/messages.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

const HOUR_MS = 3_600_000;
const KEEP_MS = 25 * HOUR_MS;

describe("retention", () => {
  const { harness } = openMessagingSuite({ routes: {} });

  const openSends = () => createSendStore(harness.mongo, harness.db);
  const admitted = (sends: readonly unknown[]) => async () => sends.map(() => undefined);
  const kept = async (ids: readonly string[]) =>
    (
      await harness.db
        .collection("sends")
        .find({ _id: { $in: ids as never[] } })
        .toArray()
    ).map(({ _id }) => ids.indexOf(String(_id)));

  it("records of sends go when their key's time is over, tombstones when no commit can be late any more", async () => {
    const store = openSends();
    const nowMs = Date.now();
    const old = nowMs - 26 * HOUR_MS;
    const ended = sendAt(old, 24 * HOUR_MS);
    const longer = sendAt(old, 48 * HOUR_MS);
    const young = sendAt(nowMs, 1);
    for (const send of [ended, longer]) await store.commit([send], admitted([send]), old);
    await store.commit([young], admitted([young]), nowMs);
    const tombstone = idAt(old);
    await store.putTombstone(tombstone, old);
    const closed = `${newId("tenant")}|single|closed`;
    await store.closeKeys([closed], old);
    const ids = [ended, longer, young].map(({ record }) => record.id).concat(tombstone);

    expect(await store.deleteExpired(nowMs, KEEP_MS)).to.equal(1);
    expect(await kept(ids)).to.have.members([1, 2, 3]);
    expect(await store.deleteExpired(nowMs, KEEP_MS), "and nothing again").to.equal(0);
    expect((await store.findByKeys([closed])).size, "a refused request's tombstone").to.equal(1);
    expect(await store.deleteExpired(nowMs + 8 * 24 * HOUR_MS, KEEP_MS)).to.equal(4);
    expect(await kept(ids)).to.deep.equal([]);
    expect((await store.findByKeys([closed])).size).to.equal(0);
  });

  it("tombstones are deleted under any reservation id, and no other document is", async () => {
    const store = openSends();
    const nowMs = Date.now();
    const old = nowMs - 8 * 24 * HOUR_MS;
    const names = ["hold-1", "RSV", "rsv_1", "rsv_hold", "s", "snd", "snd_9", "snd_hold", "zz"];
    for (const name of names) {
      await store.putTombstone(name, old);
      await store.putTombstone(`${name}-young`, nowMs);
    }
    const send = sendAt(nowMs, 1);
    await store.commit([send], admitted([send]), nowMs);
    const refused = `${newId("tenant")}|single|refused`;
    await store.closeKeys([refused], nowMs);

    expect(await store.deleteExpired(nowMs + HOUR_MS, KEEP_MS)).to.equal(names.length);
    expect(await kept(names)).to.deep.equal([]);
    const young = names.map((name) => `${name}-young`);
    expect(await kept([...young, send.record.id])).to.have.length(names.length + 1);
    expect((await store.findByKeys([refused])).size).to.equal(1);
  });

  it("test messages go when their time since the final status is over, and no others", async () => {
    const nowMs = Date.now();
    const tenantId = newId("tenant");
    const old = nowMs - 40 * 24 * HOUR_MS;
    const make = (mode: "live" | "test", createdMs: number, completedAtMs: number | undefined) =>
      messageIn(completedAtMs === undefined ? "waiting" : "delivered", {
        ...{ tenantId, mode, completedAtMs },
        id: lowestIdAt("message", createdMs).slice(0, -16) + newId("message").slice(-16),
      });
    const gone = [make("test", old, old + 1), make("test", old, old + 5000)];
    const stays = [
      make("live", old, old),
      make("test", old, undefined),
      make("test", old, nowMs - HOUR_MS),
      make("test", nowMs - HOUR_MS, nowMs),
    ];
    const messages = harness.db.collection<MessageDocument>("messages");
    await messages.insertMany([...gone, ...stays].map(toDocument));
    const store = createMessageStore(harness.mongo, harness.db, {} as EventOutbox, {
      write: async () => undefined,
    });
    const beforeMs = nowMs - 30 * 24 * HOUR_MS;
    expect(await store.deleteTestBefore(beforeMs)).to.equal(gone.length);
    expect(await store.deleteTestBefore(beforeMs)).to.equal(0);
    const left = await messages.find({ tenant_id: tenantId }).sort({ _id: 1 }).toArray();
    expect(left.map(({ _id }) => _id)).to.have.members(stays.map(({ id }) => id));
  });

  it("the tenants with test messages are found by one seek each", async () => {
    const query = { tenant_id: { $gt: "" }, mode: "test" };
    const plan = await harness.db.command({
      explain: { distinct: "messages", key: "tenant_id", query },
      verbosity: "queryPlanner",
    });
    expect(JSON.stringify(plan.queryPlanner.winningPlan)).to.include("DISTINCT_SCAN");
  });

  it("a send may have more messages than one command can hold", async () => {
    const reservationId = newId("reservation");
    const messages = Array.from({ length: 10_000 }, () =>
      messageIn("waiting", { reservationId, body: "€".repeat(765) }),
    );
    await runTransaction(harness.mongo, (session) =>
      insertAll(harness.db, "messages", messages.map(toDocument), session),
    );
    const ofSend = { reservation_id: reservationId };
    expect(await harness.db.collection("messages").countDocuments(ofSend)).to.equal(10_000);
    const again = runTransaction(harness.mongo, (session) => {
      const documents = [...messages.slice(0, 300).map(() => messageIn("waiting")), messages[7]];
      return insertAll(
        harness.db,
        "messages",
        documents.map((one) => toDocument(one as never)),
        session,
      );
    });
    expect(await again.catch((error: { index?: number }) => error.index)).to.equal(300);
  });
});

/** An id of an instant in the past, to which `newId` never goes back. */
function idAt(atMs: number): string {
  return lowestIdAt("reservation", atMs).slice(0, -16) + newId("reservation").slice(-16);
}

/** A send whose id is of that instant. */
function sendAt(atMs: number, keepMs: number): CheckedSend {
  const reservationId = idAt(atMs);
  const message = messageIn("waiting", { reservationId });
  return {
    record: {
      id: reservationId,
      tenantId: message.tenantId,
      firstMessageId: message.id,
      lastMessageId: message.id,
      key: `${message.tenantId}|single|${reservationId}`,
      fingerprint: new Uint8Array(32),
      response: new Uint8Array(),
      keepMs,
      replaces: undefined,
    },
    messages: [message],
    hold: undefined,
    isGivenUp: () => false,
  };
}
