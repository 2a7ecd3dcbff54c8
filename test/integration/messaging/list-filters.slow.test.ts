/** Every combination of list filters among 100,000 messages of one tenant, by what MongoDB examines for a page. */
import { expect } from "chai";
import type { Db } from "mongodb";
import { encodeTime } from "ulid";
import type { ListFilter } from "../../../services/messaging/app/ports.ts";
import { migrate } from "../../../services/messaging/migrate.ts";
import { type MessageDocument, toDocument } from "../../../services/messaging/store/documents.ts";
import { createMessageLists } from "../../../services/messaging/store/lists.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type { Mongo } from "../../../services/shared/io/mongo.ts";
import { messageIn } from "../../support/messages.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const COUNT = 100_000;
const FIRST_MS = 1_700_000_000_000;
const PAGE = 50;
const tenantId = newId("tenant");
const CAMPAIGN = newId("campaign");
const OTHER_CAMPAIGN = newId("campaign");

type Filters = Partial<Omit<ListFilter, "tenantId">>;

/**
 * Nearly all messages have the same four values. Every thousandth differs in one of them, another one for each filter,
 * so each filter alone has very many messages and two filters together may have few or none.
 */
const COMMON = {
  from: "Acme",
  to: "+2348031234567",
  clientReference: "july",
  campaignId: CAMPAIGN,
} as const;
const RARE = {
  from: "Zeta",
  to: "+2348037654321",
  clientReference: "august",
  campaignId: OTHER_CAMPAIGN,
} as const;
type Name = keyof typeof COMMON;
const NAMES = Object.keys(COMMON) as Name[];

function nth(at: number): MessageDocument {
  const rare = at % 1000 < NAMES.length ? NAMES[at % 1000] : undefined;
  return toDocument(
    messageIn(at % 500 === 7 ? "failed" : "delivered", {
      id: `msg_${encodeTime(FIRST_MS + at * 10, 10)}${String(at).padStart(16, "0")}`,
      tenantId,
      source: at % 20 === 0 ? "quick_send" : "api",
      ...COMMON,
      ...(rare === undefined ? {} : { [rare]: RARE[rare] }),
    }),
  );
}

describe("a list with several filters", function () {
  this.timeout(120_000);
  let database: TestDatabase;
  let mongo: Mongo;
  before(async () => {
    database = await openTestDatabase("filters", migrate);
    mongo = database.mongo;
    const messages = mongo.db.collection<MessageDocument>("messages", {
      writeConcern: { w: 1, j: false },
    });
    for (let from = 0; from < COUNT; from += 5000) {
      const some = Array.from({ length: 5000 }, (_, at) => nth(from + at));
      await messages.insertMany(some, { ordered: false });
    }
  });
  after(() => database?.close());

  async function page(filters: Filters, beforeId?: string, allowsShort = true) {
    const filter = { ...NONE, ...filters, tenantId, beforeId };
    return await createMessageLists(mongo.db).page(filter, PAGE, { allowsShort });
  }

  /** The keys and documents that MongoDB examines for the first page, and the page. */
  async function examine(filters: Filters) {
    await mongo.db.command({ profile: 2 });
    const found = await page(filters);
    await mongo.db.command({ profile: 0 });
    const commands = await profileOf(mongo.db);
    const sum = (name: string) => commands.reduce((all, command) => all + Number(command[name]), 0);
    return { found, keys: sum("keysExamined"), documents: sum("docsExamined") };
  }

  const RANGES: Readonly<Record<string, Filters>> = {
    "": {},
    ", status": { statuses: ["failed"] },
    ", time range": { createdAfterMs: FIRST_MS + 100_000, createdBeforeMs: FIRST_MS + 900_000 },
    ", status, time range": {
      statuses: ["failed", "delivered"],
      createdAfterMs: FIRST_MS + 100_000,
      createdBeforeMs: FIRST_MS + 900_000,
    },
    ", source": { sources: ["quick_send"] },
    ", status, source, both modes": {
      statuses: ["failed", "delivered"],
      sources: ["api"],
      mode: undefined,
    },
  };
  /** Every set of one to four filters, each with its common and its rare value. */
  const sets = NAMES.reduce<Filters[]>(
    (all, name) =>
      all.flatMap((one) => [one, { ...one, [name]: COMMON[name] }, { ...one, [name]: RARE[name] }]),
    [{}],
  );

  for (const [what, range] of Object.entries(RANGES)) {
    it(`examines a small multiple of the page for every set of filters${what}`, async () => {
      for (const set of sets) {
        const { found, keys, documents } = await examine({ ...set, ...range });
        const label = `${Object.values(set).join(" ")}${what}`;
        // A page of the newest ones first reads some documents of all tenants for each that it shows.
        const preread = isNewest({ ...set, ...range }) ? 4 * (PAGE + 1) : 0;
        expect(documents, `documents: ${label}`).to.be.at.most(PAGE + 1 + preread);
        // The rarest value of a filter has 100 messages.
        expect(keys, `keys: ${label}`).to.be.at.most(4 * PAGE * Math.max(1, keysOf(set)) + preread);
        expect(found.messages.length === PAGE || !found.hasMore, `a full page: ${label}`).to.equal(
          true,
        );
      }
    });
  }

  it("has on its pages exactly the messages that have every filter", async () => {
    const all = Array.from({ length: COUNT }, (_, at) => nth(at)).reverse();
    for (const set of sets.filter((one) => keysOf(one) > 1)) {
      if (Object.values(set).every((value) => Object.values(COMMON).includes(value as never)))
        continue;
      const wanted = all.filter(
        (one) =>
          (set.from ?? one.from) === one.from &&
          (set.to ?? one.to) === one.to &&
          (set.clientReference ?? one.client_reference) === one.client_reference &&
          (set.campaignId ?? one.campaign_id) === one.campaign_id,
      );
      expect(await readAll(set)).to.deep.equal(wanted.map(({ _id }) => _id));
    }
  });

  it("filters that many messages match singly and none together end a page early and continue", async () => {
    const db = mongo.db.collection<MessageDocument>("messages");
    await db.updateMany({ _id: { $type: "string" }, from: "Acme" }, [
      { $set: { search: { $cond: [IS_EVEN, ["f:even"], ["r:odd"]] } } },
    ]);
    const filters = { from: "even", clientReference: "odd" };
    const first = await examine(filters);
    expect(first.keys).to.be.at.most(30_000);
    expect(first.found).to.deep.include({ messages: [], hasMore: true });
    expect(await readAll(filters)).to.deep.equal([]);
    const whole = await page(filters, undefined, false);
    expect(whole, "a caller that does not know short pages").to.include({ hasMore: false });
  });

  async function readAll(filters: Filters): Promise<string[]> {
    const seen: string[] = [];
    for (let beforeId: string | undefined; ; ) {
      const { messages, hasMore, nextBeforeId } = await page(filters, beforeId);
      seen.push(...messages.map(({ id }) => id));
      if (!hasMore) return seen;
      beforeId = nextBeforeId ?? messages.at(-1)?.id;
    }
  }
});

/** Whether the last digit of a document's id is even. */
const IS_EVEN = { $eq: [{ $mod: [{ $toInt: { $substrBytes: ["$_id", 29, 1] } }, 2] }, 0] };

const NONE: Omit<ListFilter, "tenantId"> = {
  mode: "live",
  statuses: [],
  sources: [],
  from: undefined,
  to: undefined,
  clientReference: undefined,
  campaignId: undefined,
  createdAfterMs: undefined,
  createdBeforeMs: undefined,
  beforeId: undefined,
};

function keysOf(filters: Filters): number {
  return Object.keys(filters).length;
}

/** Whether the first page is read from the newest messages of all tenants. */
function isNewest({ statuses, createdBeforeMs, to, clientReference, ...others }: Filters): boolean {
  const isApart = statuses ?? createdBeforeMs ?? to ?? clientReference;
  return isApart === undefined && (others.from === undefined || others.campaignId === undefined);
}

async function profileOf(db: Db) {
  const profile = db.collection("system.profile");
  const commands = await profile.find({ ns: `${db.databaseName}.messages` }).toArray();
  await profile.drop();
  return commands;
}
