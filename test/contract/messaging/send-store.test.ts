/** Conformance suite of the port `SendStore`, on MongoDB. */
import { expect } from "chai";
import type { AcceptedSend, Refusal, SendStore } from "../../../services/messaging/app/ports.ts";
import { createSendStore } from "../../../services/messaging/store/sends.ts";
import { lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { idAt } from "../../support/ids-at.ts";
import { messageIn, START_MS } from "../../support/messages.ts";
import { openMessagingDatabase } from "../../support/messaging-store-harness.ts";

const NOW_MS = START_MS + 1000;
const KEEP_MS = 60_000;
const DAY_MS = 86_400_000;

describe("the store of messaging's sends", () => {
  let database: Awaited<ReturnType<typeof openMessagingDatabase>>;
  let store: SendStore;
  before(async () => {
    database = await openMessagingDatabase();
    store = createSendStore(database.mongo.client, database.mongo.db);
  });
  after(() => database?.close());

  const newKey = () => `ten_a|single|${newId("request")}`;

  /** A send of one message. */
  function newSend(about: Partial<AcceptedSend["record"]> = {}): AcceptedSend {
    const id = idAt("reservation", START_MS);
    const message = messageIn("waiting", {
      ...{ id: idAt("message", START_MS), reservationId: id, tenantId: "ten_a" },
    });
    const record = {
      ...{ id, tenantId: "ten_a", firstMessageId: message.id, lastMessageId: message.id },
      ...{ key: undefined, fingerprint: new Uint8Array([7]), response: new Uint8Array([1, 2]) },
      ...{ keepMs: KEEP_MS, replaces: undefined },
      ...about,
    };
    return { record, messages: [message] };
  }

  const commit = (
    sends: readonly AcceptedSend[],
    refusals: readonly (Refusal | undefined)[] = [],
  ) => store.commit(sends, async () => sends.map((_, at) => refusals[at]), NOW_MS);

  /** The records and messages of sends that are stored. */
  async function stored(sends: readonly AcceptedSend[]) {
    const records = await store.findByIds(sends.map(({ record }) => record.id));
    const ids = sends.flatMap(({ messages }) => messages.map(({ id }) => id));
    const messages = database.mongo.db.collection<{ _id: string }>("messages");
    return { records, messages: await messages.countDocuments({ _id: { $in: ids } }) };
  }

  it("stores sends with their messages, and gives their record and response by key and id", async () => {
    const key = newKey();
    const sends = [newSend({ key }), newSend()];
    expect(await commit(sends)).to.deep.equal([undefined, undefined]);
    const [keyed, plain] = sends.map(({ record }) => record.id) as [string, string];
    const found = await stored(sends);
    expect([...found.records]).to.have.deep.members([
      [keyed, "sent"],
      [plain, "sent"],
    ]);
    expect(found.messages).to.equal(2);
    const byKey = (await store.findByKeys([key, newKey()])).get(key);
    expect(byKey?.id).to.equal(keyed);
    expect([...(byKey?.fingerprint ?? [])]).to.deep.equal([7]);
    expect(byKey?.expiresAtMs).to.be.at.least(NOW_MS + KEEP_MS);
    const responses = await store.readResponses([keyed, plain, "rsv_unknown"]);
    expect([...responses].map(([id, response]) => [id, [...response]])).to.have.deep.members([
      [keyed, [1, 2]],
      [plain, []],
    ]);
  });

  it("stores nothing of a refused send, and everything of the others of its batch", async () => {
    const sends = [newSend(), newSend(), newSend(), newSend()];
    const refusal = new Error("too little");
    const results = await commit(sends, [undefined, refusal, "given_up", "hold_late"]);
    expect(results).to.deep.equal([undefined, refusal, "given_up", "hold_late"]);
    const { records, messages } = await stored(sends);
    expect([...records.keys()]).to.deep.equal([sends[0]?.record.id]);
    expect(messages).to.equal(1);
  });

  it("asks for admission before each attempt, and returns only after it", async () => {
    const key = newKey();
    await commit([newSend({ key })]);
    const sends = [newSend({ key }), newSend()];
    let isAdmitted = false;
    let admissions = 0;
    const results = await store.commit(
      sends,
      async () => {
        admissions += 1;
        await new Promise((resolve) => setImmediate(resolve));
        isAdmitted = true;
        return [undefined, undefined];
      },
      NOW_MS,
    );
    expect([isAdmitted, results]).to.deep.equal([true, ["duplicate", undefined]]);
    expect(admissions).to.be.at.least(2);
    expect((await stored(sends)).messages).to.equal(1);
  });

  it("takes the place of an expired record only once", async () => {
    const key = newKey();
    const first = newSend({ key });
    await commit([first]);
    const replaces = first.record.id;
    const [second, third] = [newSend({ key, replaces }), newSend({ key, replaces })];
    expect(await commit([second])).to.deep.equal([undefined]);
    expect(await commit([third])).to.deep.equal(["duplicate"]);
    expect((await store.findByKeys([key])).get(key)?.id).to.equal(second.record.id);
  });

  it("lets a tombstone and a send of one id exclude each other", async () => {
    const [sent, late] = [newSend(), newSend()];
    await commit([sent]);
    expect(await store.putTombstone(sent.record.id, NOW_MS)).to.equal("sent");
    for (const time of ["first", "again"]) {
      expect(await store.putTombstone(late.record.id, NOW_MS), time).to.equal("tombstone");
    }
    expect(await commit([late])).to.deep.equal(["duplicate"]);
    expect([...(await stored([sent, late])).records]).to.have.deep.members([
      [sent.record.id, "sent"],
      [late.record.id, "tombstone"],
    ]);
    expect((await stored([late])).messages).to.equal(0);
  });

  it("closes free and expired keys, and leaves live ones as they are", async () => {
    const [free, expired, live] = [newKey(), newKey(), newKey()];
    const sends = [newSend({ key: expired, keepMs: 0 }), newSend({ key: live })];
    await commit(sends);
    const laterMs = NOW_MS + KEEP_MS / 2;
    const found = await store.closeKeys([free, expired, live, free], laterMs);
    expect([...found.keys()]).to.deep.equal([live]);
    for (const key of [free, expired]) {
      // A request that began before the refusal believes that the key is free, or that the old record is in its place.
      const believed = key === expired ? sends[0]?.record.id : undefined;
      expect(await commit([newSend({ key, replaces: believed })])).to.deep.equal(["duplicate"]);
      const closed = (await store.findByKeys([key])).get(key);
      expect(closed?.expiresAtMs, "expired from the start").to.be.below(START_MS);
      expect(await commit([newSend({ key, replaces: closed?.id })])).to.deep.equal([undefined]);
    }
  });

  it("locks a key for one request at a time, and only its owner releases it", async () => {
    const fingerprint = new Uint8Array([1]);
    const lock = { key: newKey(), owner: "one", fingerprint, untilMs: NOW_MS + 5000 };
    const other = { ...lock, owner: "two" };
    expect(await store.takeLock(lock, NOW_MS)).to.equal("taken");
    expect(await store.takeLock(other, NOW_MS)).to.equal("running");
    const reused = { ...other, fingerprint: new Uint8Array([2]) };
    expect(await store.takeLock(reused, NOW_MS)).to.equal("reused");
    await store.releaseLock(other);
    expect(await store.takeLock(other, NOW_MS)).to.equal("running");
    await store.releaseLock(lock);
    expect(await store.takeLock(other, NOW_MS)).to.equal("taken");
    const later = { ...lock, untilMs: NOW_MS + 10_000 };
    expect(await store.takeLock(later, NOW_MS + 5001), "after its end").to.equal("taken");
  });

  it("deletes records that are expired and old enough, and no others", async () => {
    const [short, long] = [0, 400 * DAY_MS].map((keepMs, at) =>
      newSend({ id: lowestIdAt("reservation", START_MS + at), keepMs }),
    ) as [AcceptedSend, AcceptedSend];
    await commit([short, long]);
    const laterMs = NOW_MS + 2 * DAY_MS;
    while ((await store.deleteExpired(laterMs, 3 * DAY_MS)) > 0);
    expect((await stored([short, long])).records.size, "younger than the age").to.equal(2);
    while ((await store.deleteExpired(laterMs, DAY_MS)) > 0);
    const { records } = await stored([short, long]);
    expect([...records.keys()]).to.deep.equal([long.record.id]);
    expect(await store.count()).to.be.at.least(1);
  });
});
