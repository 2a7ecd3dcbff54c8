/** Conformance suite of the port `MessageStore`, on MongoDB. */
import { expect } from "chai";
import type { ChangeSet, MessageStore } from "../../../services/messaging/app/ports.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { createMessageStore } from "../../../services/messaging/store/messages.ts";
import { createSendStore } from "../../../services/messaging/store/sends.ts";
import { lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { idAt } from "../../support/ids-at.ts";
import { messageIn, QUIET_MS, START_MS } from "../../support/messages.ts";
import { openMessagingDatabase } from "../../support/messaging-store-harness.ts";

const NOW_MS = START_MS + 1000;
const DAY_MS = 86_400_000;
const NOTHING = { events: [], records: [] };
const ALL_IDS = { firstId: "msg_", lastId: "msg_~" };

describe("the store of messages", () => {
  let database: Awaited<ReturnType<typeof openMessagingDatabase>>;
  let store: MessageStore;
  const published: unknown[] = [];
  before(async () => {
    database = await openMessagingDatabase();
    const { client, db } = database.mongo;
    const outbox = {
      write: async () => undefined,
      publish: (ticket: unknown) => published.push(ticket),
    };
    store = createMessageStore(client, db, outbox, { write: async () => undefined });
  });
  after(() => database?.close());

  /** Messages of a tenant that no other test uses. */
  function atOwnTenant() {
    const tenantId = newId("tenant");
    const make = (state: Parameters<typeof messageIn>[0], overrides: Partial<Message> = {}) =>
      messageIn(state, { id: idAt("message", START_MS), tenantId, ...overrides });
    return { tenantId, make };
  }
  const idsOf = (messages: readonly { readonly id: string }[]) => messages.map(({ id }) => id);

  const touched = (message: Message): Message => ({
    ...message,
    carrierCode: "touched",
    revision: message.revision + 1,
  });
  const touchAll = (loaded: readonly Message[]): ChangeSet => ({
    ...NOTHING,
    changes: loaded.map((before) => ({ before, after: touched(before) })),
  });

  it("gives a message as it was stored, in each of its states", async () => {
    const { make } = atOwnTenant();
    for (const state of ["scheduled", "waiting", "quiet", "sending", "sent", "rejected"] as const) {
      const message = make(state);
      await database.put([message]);
      expect(await store.find(message.id), state).to.deep.equal(message);
    }
    expect(await store.find("msg_unknown")).to.equal(undefined);
  });

  it("gives the charges of a hold in a closed range of ids, in order, up to a limit", async () => {
    const { tenantId, make } = atOwnTenant();
    const reservationId = newId("reservation");
    const own = [1, 2, 3, 4].map(() => make("waiting", { reservationId }));
    await database.put([
      ...own.toReversed(),
      make("waiting", { reservationId: newId("reservation") }),
      atOwnTenant().make("waiting", { reservationId }),
    ]);
    const [first, second, third] = idsOf(own) as [string, string, string];
    const read = async (range: typeof ALL_IDS, limit: number) =>
      idsOf(await store.findReserved(tenantId, reservationId, range, { limit }));
    expect(await read({ firstId: first, lastId: third }, 10)).to.deep.equal(idsOf(own.slice(0, 3)));
    expect(await read({ firstId: second, lastId: third }, 10)).to.deep.equal([second, third]);
    expect(await read(ALL_IDS, 3)).to.deep.equal(idsOf(own.slice(0, 3)));
    const sent = make("sent", { reservationId });
    await database.put([sent, make("scheduled", { reservationId })]);
    const options = { limit: 10, omitWaiting: true };
    const moved = await store.findReserved(tenantId, reservationId, ALL_IDS, options);
    expect(idsOf(moved)).to.deep.equal([sent.id]);
  });

  it("gives the charges of several ids that exist, of any tenant", async () => {
    const messages = [atOwnTenant().make("waiting"), atOwnTenant().make("sent")];
    await database.put(messages);
    const found = await store.findCharges([...idsOf(messages), newId("message")]);
    expect(idsOf(found).sort()).to.deep.equal(idsOf(messages).sort());
    expect(await store.findCharges([])).to.deep.equal([]);
  });

  it("writes a change of several messages, and publishes after the commit", async () => {
    const { make } = atOwnTenant();
    const messages = [make("waiting"), make("sent")];
    await database.put(messages);
    const before = published.length;
    const missing = newId("message");
    expect(await store.change([...idsOf(messages), missing], touchAll, NOW_MS)).to.equal(undefined);
    expect(published).to.have.length(before + 1);
    for (const message of messages) {
      expect(await store.find(message.id)).to.deep.equal(touched(message));
    }
  });

  it("reads and decides again when another writer changes a message at the same time", async () => {
    const { make } = atOwnTenant();
    const message = make("waiting");
    await database.put([message]);
    let decisions = 0;
    const both = [1, 2, 3, 4].map(() =>
      store.change(
        [message.id],
        (loaded) => {
          decisions += 1;
          return touchAll(loaded);
        },
        NOW_MS,
      ),
    );
    await Promise.all(both);
    expect((await store.find(message.id))?.revision).to.equal(message.revision + 4);
    expect(decisions).to.be.at.least(4);
  });

  it("writes nothing when the decision throws, or another request holds the key of a record", async () => {
    const { tenantId, make } = atOwnTenant();
    const message = make("waiting");
    await database.put([message]);
    const refusal = new Error("no");
    const failed = store.change(
      [message.id],
      () => {
        throw refusal;
      },
      NOW_MS,
    );
    expect(await failed.catch((error) => error)).to.equal(refusal);

    const key = `${tenantId}|cancel|one`;
    const record = (id: string, own: string) => ({
      ...{ id, tenantId, firstMessageId: undefined, lastMessageId: undefined, key: own },
      ...{ fingerprint: new Uint8Array(), response: new Uint8Array() },
      ...{ keepMs: DAY_MS, replaces: undefined },
    });
    const { client, db } = database.mongo;
    const holder = record(newId("send"), key);
    await createSendStore(client, db).commit(
      [{ record: holder, messages: [] }],
      async () => [undefined],
      NOW_MS,
    );
    const records = [record(newId("send"), `${key} free`), record(newId("send"), key)];
    const position = await store.change(
      [message.id],
      (loaded) => ({ ...touchAll(loaded), records }),
      NOW_MS,
    );
    expect(position).to.equal(1);
    expect(await store.find(message.id)).to.deep.equal(message);
  });

  it("finds due messages, the longest overdue first, of the given statuses", async () => {
    const { tenantId, make } = atOwnTenant();
    const [early, late] = [make("scheduled", { dueAtMs: 1000 }), make("sent", { dueAtMs: 2000 })];
    await database.put([late, early, make("sent", { dueAtMs: 3001 }), make("quiet")]);
    const due = async (
      nowMs: number,
      limit: number,
      statuses?: readonly ("sent" | "scheduled")[],
    ) => (await store.findDue(nowMs, limit, statuses)).filter((one) => one.tenantId === tenantId);
    const { id, from, to, status, trafficClass } = early;
    expect((await due(3000, 10))[0]).to.deep.equal({
      id,
      tenantId,
      from,
      to,
      status,
      trafficClass,
    });
    expect(idsOf(await due(3000, 10))).to.deep.equal([early.id, late.id]);
    expect(idsOf(await due(3000, 1))).to.deep.equal([early.id]);
    expect(idsOf(await due(3000, 10, ["sent"]))).to.deep.equal([late.id]);
    expect(await due(999, 10)).to.deep.equal([]);
  });

  it("finds messages whose quiet hours have ended, each tenant with an equal share", async () => {
    const [many, few] = [atOwnTenant(), atOwnTenant()];
    const quietUntilMs = START_MS + QUIET_MS;
    const mine = [1, 2, 3, 4, 5, 6].map(() => many.make("quiet", { quietUntilMs }));
    const [other] = [few.make("quiet", { quietUntilMs })];
    const later = few.make("quiet", { quietUntilMs: quietUntilMs + 1 });
    await database.put([...mine, other, later]);
    expect(await store.countQuiet(100)).to.be.at.least(8);
    expect(await store.countQuiet(3)).to.equal(3);
    expect(idsOf(await store.findQuiet(quietUntilMs - 1, 100))).not.to.include(other.id);
    const found = idsOf(await store.findQuiet(quietUntilMs, 6));
    expect(found).to.include(other.id).and.not.include(later.id);
    expect(found.length).to.be.within(4, 7);

    const soonMs = START_MS + 500;
    await store.endQuietAt(soonMs);
    expect((await store.find(later.id))?.quietUntilMs).to.equal(soonMs);
    expect((await store.find(later.id))?.revision).to.equal(later.revision + 1);
    expect(idsOf(await store.findQuiet(soonMs, 100))).to.include.members(idsOf([...mine, later]));
  });

  it("pages through the messages of a campaign in order of id, of the given statuses", async () => {
    const { tenantId, make } = atOwnTenant();
    const campaignId = newId("campaign");
    const about = { campaignId, source: "campaign" } as const;
    const messages = [make("waiting", about), make("sent", about), make("waiting", about)];
    await database.put([...messages, make("waiting"), atOwnTenant().make("waiting", about)]);
    const page = (afterId: string, statuses: readonly "queued"[] | undefined, limit: number) =>
      store.findCampaign(tenantId, campaignId, { afterId, statuses }, limit);
    const ids = idsOf(messages);
    expect(await page("", undefined, 10)).to.deep.equal(ids);
    expect(await page("", undefined, 2)).to.deep.equal(ids.slice(0, 2));
    expect(await page(ids[0] ?? "", undefined, 10)).to.deep.equal(ids.slice(1));
    expect(await page("", ["queued"], 10)).to.deep.equal([ids[0], ids[2]]);
  });

  it("deletes messages that were created before an instant, and test messages that were final then", async () => {
    const { make } = atOwnTenant();
    let createdMs = START_MS - 10 * DAY_MS;
    const id = () => lowestIdAt("message", createdMs++);
    const old = make("sent", { id: id() });
    const test = { mode: "test" } as const;
    const completedAtMs = START_MS - 9 * DAY_MS;
    const ended = make("delivered", { ...test, id: id(), completedAtMs });
    const lateEnd = make("delivered", { ...test, id: id(), completedAtMs: START_MS });
    const young = make("delivered", { ...test, completedAtMs: START_MS });
    await database.put([old, ended, lateEnd, young]);
    const left = async () =>
      (await Promise.all([old, ended, lateEnd, young].map((one) => store.find(one.id)))).map(
        (found) => found !== undefined,
      );
    expect(await store.deleteTestBefore(START_MS - 8 * DAY_MS)).to.equal(1);
    expect(await left()).to.deep.equal([true, false, true, true]);
    expect(await store.deleteBefore(START_MS - 8 * DAY_MS)).to.equal(2);
    expect(await left()).to.deep.equal([false, false, false, true]);
  });
});
