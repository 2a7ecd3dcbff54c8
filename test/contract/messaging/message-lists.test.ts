/** Conformance suite of the port `MessageLists`, on MongoDB. What a page costs is in `list-filters.slow.test.ts`. */
import { expect } from "chai";
import type { ListFilter, MessageLists } from "../../../services/messaging/app/ports.ts";
import type { Message } from "../../../services/messaging/domain/message.ts";
import { createMessageLists } from "../../../services/messaging/store/lists.ts";
import { idTimeMs, lowestIdAt, newId } from "../../../services/shared/core/ids.ts";
import { idAt } from "../../support/ids-at.ts";
import { messageIn, START_MS } from "../../support/messages.ts";
import { openMessagingDatabase } from "../../support/messaging-store-harness.ts";

const NO_FILTER: Omit<ListFilter, "tenantId"> = {
  ...{ mode: undefined, statuses: [], sources: [], from: undefined, to: undefined },
  ...{ clientReference: undefined, campaignId: undefined },
  ...{ createdAfterMs: undefined, createdBeforeMs: undefined, beforeId: undefined },
};

describe("the lists of messages", () => {
  let database: Awaited<ReturnType<typeof openMessagingDatabase>>;
  let lists: MessageLists;
  before(async () => {
    database = await openMessagingDatabase();
    lists = createMessageLists(database.mongo.db);
  });
  after(() => database?.close());

  /** Messages of a tenant that no other test uses, and pages of them. */
  function ownTenant() {
    const tenantId = newId("tenant");
    const make = (
      about: Partial<Message> = {},
      state: Parameters<typeof messageIn>[0] = "waiting",
    ) => messageIn(state, { id: idAt("message", START_MS), tenantId, ...about });
    const page = (filter: Partial<ListFilter> = {}, size = 100) =>
      lists.page({ ...NO_FILTER, tenantId, ...filter }, size, { allowsShort: false });
    const idsOf = async (filter: Partial<ListFilter>) =>
      (await page(filter)).messages.map(({ id }) => id);
    return { tenantId, make, page, idsOf };
  }

  it("give a tenant's messages newest first, and say exactly whether more follow", async () => {
    const { make, page } = ownTenant();
    const messages = [1, 2, 3, 4].map(() => make());
    await database.put([...messages, ownTenant().make()]);
    const newest = messages.toReversed();
    const whole = { messages: newest, hasMore: false, nextBeforeId: undefined };
    expect(await page()).to.deep.equal(whole);
    expect(await page({}, 4)).to.deep.equal(whole);
    const first = { ...whole, messages: newest.slice(0, 3), hasMore: true };
    expect(await page({}, 3)).to.deep.equal(first);
    // The last id that is well-formed: its instant is beyond any clock.
    const last = `msg_${"Z".repeat(26)}`;
    expect(await page({ beforeId: last }, 3)).to.deep.equal(first);
    const beforeId = newest[2]?.id;
    expect(await page({ beforeId }, 3)).to.deep.equal({ ...whole, messages: newest.slice(3) });
    expect(await page({ beforeId: messages[0]?.id })).to.deep.equal({ ...whole, messages: [] });
  });

  it("are the same from the newest messages of all tenants and from those of one", async () => {
    const nowMs = Date.now();
    const [busy, rare] = [ownTenant(), ownTenant()];
    const at = (ms: number) => ({ id: idAt("message", ms) });
    const hour = Array.from({ length: 60 }, (_, minute) => nowMs - minute * 60_000).reverse();
    const busyOnes = hour.flatMap((ms) => [1, 2, 3].map(() => busy.make(at(ms), "delivered")));
    const rareOnes = hour.map((ms) => rare.make(at(ms)));
    await database.put([...busyOnes, ...rareOnes]);
    for (const [{ page }, stored] of [
      [busy, busyOnes],
      [rare, rareOnes],
    ] as const) {
      for (const size of [2, 7]) {
        const seen: string[] = [];
        for (let hasMore = true; hasMore; ) {
          const found = await page({ beforeId: seen.at(-1), createdAfterMs: hour[1] }, size);
          seen.push(...found.messages.map(({ id }) => id));
          hasMore = found.hasMore;
        }
        const wanted = stored.filter(({ id }) => idTimeMs(id) >= (hour[1] ?? 0));
        expect(seen).to.deep.equal(wanted.map(({ id }) => id).toReversed());
      }
      const test = await page({ mode: "test" }, 2);
      expect(test.messages).to.deep.equal([]);
    }
  });

  it("have the messages with every value that is asked for, of each filter and of several together", async () => {
    const { make, idsOf } = ownTenant();
    const campaignId = newId("campaign");
    const other = "+2348037654321";
    const [plain, test, quick, named, sent] = [
      make(),
      make({ mode: "test", to: other }),
      make({ source: "quick_send", from: "Zeta" }),
      make({ source: "campaign", campaignId, clientReference: "july", to: other }),
      make({ clientReference: "july" }, "sent"),
    ] as const;
    await database.put([plain, test, quick, named, sent]);
    for (const [filter, wanted] of [
      [{ mode: "live" }, [sent, named, quick, plain]],
      [{ mode: "test" }, [test]],
      [{ statuses: ["sent", "failed"] }, [sent]],
      [{ statuses: ["queued"], mode: "live" }, [named, quick, plain]],
      [{ sources: ["quick_send", "campaign"] }, [named, quick]],
      [{ from: "Zeta" }, [quick]],
      [{ to: other }, [named, test]],
      [{ clientReference: "july" }, [sent, named]],
      [{ campaignId }, [named]],
      [{ clientReference: "july", to: other }, [named]],
      [{ clientReference: "july", to: other, mode: "test" }, []],
      [{ clientReference: "july", statuses: ["sent"] }, [sent]],
      [{ from: "Acme", to: other, campaignId, clientReference: "july" }, [named]],
    ] as const) {
      const ids = wanted.map(({ id }) => id);
      expect(await idsOf(filter), JSON.stringify(filter)).to.deep.equal(ids);
    }
  });

  it("begin at an instant and end before one, and before an id where that is earlier", async () => {
    const { make, idsOf } = ownTenant();
    const [a, b, c] = [0, 1, 2].map((at) => make({ id: idAt("message", START_MS + at) })) as [
      ...[Message, Message, Message],
    ];
    await database.put([a, b, c]);
    const ids = (...messages: readonly Message[]) => messages.map(({ id }) => id);
    expect(await idsOf({ createdAfterMs: START_MS + 1 })).to.deep.equal(ids(c, b));
    expect(await idsOf({ createdBeforeMs: START_MS + 1 })).to.deep.equal(ids(a));
    const both = { createdAfterMs: START_MS + 1, createdBeforeMs: START_MS + 2 };
    expect(await idsOf(both)).to.deep.equal(ids(b));
    expect(await idsOf({ beforeId: c.id, createdBeforeMs: START_MS + 1 })).to.deep.equal(ids(a));
    const beforeId = lowestIdAt("message", START_MS + 1);
    expect(await idsOf({ beforeId, createdBeforeMs: START_MS + 9 })).to.deep.equal(ids(a));
  });

  it("end a page early when its texts are very long, and go on from its last message", async () => {
    const { make, page } = ownTenant();
    // Each text counts as 1.2 million bytes, of the 3 MiB that a page may have.
    const messages = [1, 2, 3, 4].map(() => make({ body: "x".repeat(400_000) }));
    await database.put(messages);
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let beforeId: string | undefined; ; beforeId = seen.at(-1)) {
      const { messages: found, hasMore } = await page({ beforeId });
      seen.push(...found.map(({ id }) => id));
      sizes.push(found.length);
      if (!hasMore) break;
    }
    expect(seen).to.deep.equal(messages.map(({ id }) => id).toReversed());
    expect(sizes).to.deep.equal([2, 2]);
  });

  it("give the tenants that have messages in order, after a tenant, up to a limit", async () => {
    const tenants = [ownTenant(), ownTenant(), ownTenant()];
    for (const { make } of tenants) await database.put([make(), make({ mode: "test" })]);
    const [a, b, c] = tenants.map(({ tenantId }) => tenantId) as [string, string, string];
    expect(await lists.tenantsAfter(a, 10)).to.deep.equal([b, c]);
    expect(await lists.tenantsAfter(a, 1)).to.deep.equal([b]);
    expect(await lists.tenantsAfter(c, 10)).to.deep.equal([]);
    expect((await lists.tenantsAfter("", 100)).slice(-3)).to.deep.equal([a, b, c]);
  });
});
