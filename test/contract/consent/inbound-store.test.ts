/** Conformance suite of the port `InboundStore`, on MongoDB; with the replies that its messages leave. */
import { expect } from "chai";
import { createEventOutbox } from "../../../services/consent/adapters/events.ts";
import type { InboundStore, NewArrival, PartGroup } from "../../../services/consent/app/ports.ts";
import { groupKey, type InboundPart } from "../../../services/consent/domain/inbound.ts";
import type { Consent } from "../../../services/consent/domain/suppression.ts";
import { migrate } from "../../../services/consent/migrate.ts";
import { createInboundStore } from "../../../services/consent/store/inbound-store.ts";
import { createReplyStore } from "../../../services/consent/store/reply-store.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { idAt } from "../../support/ids-at.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";
import { openWatchedOutbox } from "../../support/watched-outbox.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WAIT_MS = 60_000;

describe("the store of inbound messages", () => {
  let database: TestDatabase;
  let outbox: Awaited<ReturnType<typeof openWatchedOutbox>>;
  let store: InboundStore;
  let other: InboundStore;
  // Later than now: an index removes old messages.
  const clock = createManualClock(Date.now());
  let serial = 0;
  before(async () => {
    database = await openTestDatabase("consent_inbound", migrate);
    const { client, db } = database.mongo;
    outbox = await openWatchedOutbox(db, "consent");
    const open = () => createInboundStore(client, db, createEventOutbox(outbox.outbox), clock);
    [store, other] = [open(), open()];
  });
  after(async () => {
    await outbox?.close();
    await database?.close();
  });
  const replies = () => createReplyStore(database.mongo.db);

  /** A part from a handset that no other test uses. */
  function part(about: Partial<InboundPart> = {}): InboundPart {
    serial += 1;
    return {
      ...{ connectorId: "smsc", from: `+23480300${String(serial).padStart(5, "0")}` },
      ...{ to: "38833", body: "Hello", encoding: "gsm7", carrierMessageId: "" },
      ...{ reference: 0, total: 1, sequence: 1, receivedAtMs: clock.now(), ...about },
    };
  }
  const groupOf = (first: InboundPart): PartGroup => ({
    ...{ key: groupKey(first), first, bodies: new Map([[first.sequence, first.body]]) },
  });

  /** A message of a group to a tenant that no other test uses. */
  function arrivalOf(
    group: PartGroup,
    about: { readonly tenantId?: string | undefined; readonly isOut?: boolean } = {},
  ): NewArrival {
    const { first } = group;
    const { tenantId = newId("tenant") } = about;
    const message = {
      ...{ id: idAt("inboundMessage", first.receivedAtMs), from: first.from, to: first.to },
      ...{ tenantId: "tenantId" in about ? about.tenantId : tenantId, body: first.body },
      ...{ encoding: first.encoding, parts: first.total, partsReceived: group.bodies.size },
      ...{ action: undefined, connectorId: first.connectorId, receivedAtMs: first.receivedAtMs },
    };
    const consent: Consent = {
      ...{ tenantId, number: first.from, sender: "", isOut: about.isOut ?? true },
      ...{ source: "keyword", reason: first.body, atMs: first.receivedAtMs },
    };
    const consents = about.isOut === undefined ? [] : [consent];
    return { group, arrival: { message, consents, reply: undefined }, isKnownNumber: true };
  }
  const tenantOf = ({ arrival }: NewArrival) => arrival.message.tenantId ?? "";
  const listOf = (tenantId: string | undefined, more: object = {}) =>
    store.list({
      ...{ tenantId, from: "", to: "", receivedAfterMs: 0, receivedBeforeMs: 2 ** 48 - 1 },
      ...{ limit: 100, beforeId: "", ...more },
    });

  describe("a message in one part", () => {
    it("is stored with its opt-out and its events, and read as it came", async () => {
      const item = arrivalOf(groupOf(part({ body: "STOP" })), { isOut: true });
      expect(await store.arrive([item])).to.deep.equal([item]);
      const { message } = item.arrival;
      expect(await store.find(message.tenantId, message.id)).to.deep.equal(message);
      expect(await store.find(newId("tenant"), message.id)).to.equal(undefined);
      expect(await outbox.events(tenantOf(item))).to.deep.equal(["received", "opted_out"]);
    });

    it("is stored once until it is confirmed, also when it arrives in two processes at once", async () => {
      const group = groupOf(part());
      const tenantId = newId("tenant");
      const repeats = Array.from({ length: 10 }, () => arrivalOf(group, { tenantId }));
      const stored = await Promise.all([
        ...repeats.slice(0, 6).map((one, at) => (at % 2 === 0 ? store : other).arrive([one])),
        store.arrive(repeats.slice(6)),
      ]);
      expect(stored.flat()).to.have.length(1);
      expect(await listOf(tenantId)).to.deep.equal(
        stored.flat().map(({ arrival }) => arrival.message),
      );
      expect(await outbox.events(tenantId)).to.deep.equal(["received"]);

      await store.confirm([group.key]);
      await store.confirm([group.key]);
      expect(await store.arrive([arrivalOf(group, { tenantId })])).to.have.length(1);
      expect(await listOf(tenantId)).to.have.length(2);
    });

    for (const [name, carrierMessageId, windowMs] of [
      ["an hour", "", HOUR_MS],
      ["a day, where the carrier names it", "id-1", DAY_MS],
    ] as const) {
      it(`without a confirmation is a repeat for ${name}, and a message of its own from then on`, async () => {
        const group = groupOf(part({ carrierMessageId }));
        const tenantId = newId("tenant");
        const arrive = () => store.arrive([arrivalOf(group, { tenantId })]);
        expect(await arrive()).to.have.length(1);
        clock.advance(windowMs - 1);
        expect(await arrive()).to.have.length(0);
        clock.advance(1);
        expect(await arrive()).to.have.length(1);
        expect(await arrive()).to.have.length(0);
      });
    }

    it("opts out again when it repeats, as a START may lie between; a repeated START changes nothing", async () => {
      const tenantId = newId("tenant");
      const [stop, start] = [part({ body: "STOP" }), part({ body: "START" })];
      const from = stop.from;
      const arrive = (body: InboundPart, isOut: boolean, atMs: number) =>
        store.arrive([
          arrivalOf(groupOf({ ...body, from, receivedAtMs: atMs }), { tenantId, isOut }),
        ]);
      const nowMs = clock.now();
      await arrive(stop, true, nowMs);
      await arrive(start, false, nowMs + 1);
      expect(await arrive(stop, true, nowMs + 2)).to.deep.equal([]);
      expect(await arrive(start, false, nowMs + 3)).to.deep.equal([]);
      expect(await outbox.events(tenantId)).to.have.members([
        ...["received", "opted_out", "received", "opted_in", "opted_out"],
      ]);
    });

    it("of no tenant is stored without an event, and counted", async () => {
      const before = await store.countUnowned();
      const item = arrivalOf(groupOf(part()), { tenantId: undefined });
      await store.arrive([item]);
      expect(await store.countUnowned()).to.equal(before + 1);
      expect(await store.find(undefined, item.arrival.message.id)).to.deep.equal(
        item.arrival.message,
      );
    });
  });

  describe("a reply", () => {
    const withReply = (item: NewArrival, createdAtMs: number): NewArrival => {
      const { id, from, to } = item.arrival.message;
      const reply = {
        ...{ id, tenantId: tenantOf(item), from: to, to: from, body: "Bye", createdAtMs },
      };
      return { ...item, arrival: { ...item.arrival, reply } };
    };

    it("is due with its message, oldest first, until it is done", async () => {
      const items = [3, 1, 2].map((at) =>
        withReply(arrivalOf(groupOf(part())), clock.now() - DAY_MS + at),
      );
      await store.arrive(items);
      const wanted = [items[1], items[2], items[0]].map((item) => item?.arrival.reply);
      expect(await replies().due(3)).to.deep.equal(wanted);
      expect(await replies().due(1)).to.deep.equal(wanted.slice(0, 1));
      for (const reply of wanted) await replies().done(reply?.id ?? "");
      await replies().done("inb_unknown");
      expect(await replies().due(3)).to.deep.equal([]);
    });

    it("is one in 24 hours to a number of a tenant; another tenant's handset gets its own", async () => {
      const [tenantId, second] = [newId("tenant"), newId("tenant")];
      const { from } = part();
      let atMs = clock.now();
      const arrive = async (of: string) => {
        const group = groupOf(part({ from, body: `Help ${atMs} ${of}` }));
        const item = withReply(arrivalOf(group, { tenantId: of }), atMs);
        await store.arrive([item]);
        const due = await replies().due(10);
        for (const { id } of due) await replies().done(id);
        return due.map(({ id }) => id === item.arrival.message.id);
      };
      expect(await arrive(tenantId)).to.deep.equal([true]);
      atMs += DAY_MS - 1;
      expect(await arrive(tenantId)).to.deep.equal([]);
      expect(await arrive(second)).to.deep.equal([true]);
      atMs += 1;
      expect(await arrive(tenantId)).to.deep.equal([true]);
    });
  });

  describe("a message in several parts", () => {
    const partsOf = (count: number, about: Partial<InboundPart> = {}) => {
      const first = part({ reference: 7, total: count, ...about });
      return Array.from({ length: count }, (_, at) => ({
        ...{ ...first, sequence: at + 1, body: `text ${at + 1}` },
      }));
    };
    const add = (parts: readonly InboundPart[], on = store) =>
      on.addParts(
        parts.map((one) => ({ key: groupKey(one), part: one })),
        WAIT_MS,
      );
    const bodiesOf = (groups: readonly PartGroup[]) => groups.map(({ bodies }) => [...bodies]);

    it("is whole with its last part, in any order over several processes, until it is stored", async () => {
      const [one, two, three] = partsOf(3) as [InboundPart, InboundPart, InboundPart];
      expect(await add([three])).to.deep.equal([]);
      expect(await add([three, three], other)).to.deep.equal([]);
      const whole = await Promise.all([add([one]), add([two], other)]);
      const [group] = whole.flat();
      expect(whole.flat()).to.have.length(1);
      const bodies = [one, two, three].map(({ sequence, body }) => [sequence, body]);
      expect(bodiesOf(whole.flat())).to.have.deep.members([bodies]);
      expect(group?.first).to.deep.equal(three);
      // The process that was to deliver it has died: each further part gives it again.
      expect(bodiesOf(await add([two], other))).to.have.deep.members([bodies]);

      const items = [group, group].map((one) => arrivalOf(one as PartGroup));
      const stored = await Promise.all(items.map((item) => store.arrive([item])));
      expect(stored.flat()).to.have.length(1);
      expect(await add([one, two])).to.deep.equal([]);
      expect(await store.arrive([items[0] as NewArrival])).to.deep.equal([]);
    });

    it("is overdue with the parts that came when it has waited long enough, oldest first", async () => {
      const [early, late] = [partsOf(2), partsOf(3)] as [InboundPart[], InboundPart[]];
      await add(early.slice(0, 1));
      clock.advance(1000);
      await add(late.slice(1));
      const overdue = async (atMs: number, limit = 10) =>
        (await store.findOverdue(atMs, limit)).map(({ key }) => key);
      const dueMs = clock.now() - 1000 + WAIT_MS;
      const [earlyKey, lateKey] = [early, late].map(([one]) => groupKey(one as InboundPart));
      expect(await overdue(dueMs - 1)).to.deep.equal([]);
      expect(await overdue(dueMs)).to.deep.equal([earlyKey]);
      expect(await overdue(dueMs + 1000)).to.deep.equal([earlyKey, lateKey]);
      expect(await overdue(dueMs + 1000, 1)).to.deep.equal([earlyKey]);
      const groups = await store.findOverdue(dueMs + 1000, 10);
      expect(bodiesOf(groups)).to.deep.equal([
        [[1, "text 1"]],
        [
          [2, "text 2"],
          [3, "text 3"],
        ],
      ]);
      await store.arrive(groups.map((group) => arrivalOf(group)));
      expect(await overdue(dueMs + 1000)).to.deep.equal([]);
      expect(await add(early), "a late part of a delivered message").to.deep.equal([]);
    });

    it("ends when another text uses its reference: the earlier one is overdue at once, both are kept", async () => {
      const [one, two] = partsOf(2) as [InboundPart, InboundPart];
      await add([one]);
      const again = [one, two].map((old) => ({ ...old, body: `other ${old.sequence}` }));
      expect(await add(again.slice(0, 1))).to.deep.equal([]);
      const overdue = await store.findOverdue(clock.now(), 10);
      expect(bodiesOf(overdue)).to.deep.equal([[[1, "text 1"]]]);
      expect(bodiesOf(await add(again.slice(1)))).to.deep.equal([
        [
          [1, "other 1"],
          [2, "other 2"],
        ],
      ]);
      await store.arrive(overdue.map((group) => arrivalOf(group)));
    });
  });

  describe("a list", () => {
    it("has a tenant's messages newest first, by sender, number and time, from an id on, up to a limit", async () => {
      const tenantId = newId("tenant");
      const atMs = clock.now();
      const items = [0, 1, 2, 3].map((at) =>
        arrivalOf(groupOf(part({ receivedAtMs: atMs + at * 1000, to: at % 2 === 0 ? "1" : "2" })), {
          tenantId,
        }),
      );
      await store.arrive([...items, arrivalOf(groupOf(part()))]);
      const [a, b, c, d] = items.map(({ arrival }) => arrival.message) as [M, M, M, M];
      type M = NewArrival["arrival"]["message"];
      const list = (more: object = {}) => listOf(tenantId, more);
      expect(await list()).to.deep.equal([d, c, b, a]);
      expect(await list({ to: "2" })).to.deep.equal([d, b]);
      expect(await list({ from: c.from })).to.deep.equal([c]);
      expect(await list({ receivedAfterMs: atMs + 1000 })).to.deep.equal([d, c, b]);
      expect(await list({ receivedBeforeMs: atMs + 1000 })).to.deep.equal([a]);
      expect(await list({ beforeId: c.id, limit: 1 })).to.deep.equal([b]);
      const beforeId = lowestIdAt("inboundMessage", atMs + 5000);
      expect(await list({ beforeId, receivedBeforeMs: atMs + 1000 })).to.deep.equal([a]);
    });
  });

  it("names each message that repeats an earlier one, which its unique key prevents", async () => {
    const tenantId = newId("tenant");
    const group = groupOf(part());
    await store.arrive([arrivalOf(group, { tenantId }), arrivalOf(groupOf(part()), { tenantId })]);
    const doubled = async () => {
      const found: (readonly [string, string])[] = [];
      for await (const pair of store.findDoubled(tenantId)) found.push(pair);
      return found;
    };
    expect(await store.hasRepeatKey()).to.equal(true);
    expect(await store.count(tenantId)).to.equal(2);
    expect(await doubled()).to.deep.equal([]);

    const inbound = database.mongo.db.collection<{ _id: string; message_key: string }>("inbound");
    const first = await inbound.findOne({ message_key: group.key });
    if (first === null) throw new Error("it is not stored");
    const copy = { ...first, _id: newId("inboundMessage"), repeat_key: "another" };
    await inbound.insertOne({ ...copy, stored_at: new Date(clock.now() + 5000) } as never);
    expect(await doubled()).to.deep.equal([[first._id, copy._id]]);
  });
});
