/** Conformance suites of the ports `ConsentStore` and `SettingsStore`, on MongoDB. */
import { expect } from "chai";
import { createEventOutbox } from "../../../services/consent/adapters/events.ts";
import type { ConsentStore, SettingsStore } from "../../../services/consent/app/ports.ts";
import type { InboundNumber } from "../../../services/consent/domain/inbound.ts";
import { NO_KEYWORDS } from "../../../services/consent/domain/keywords.ts";
import type { Consent } from "../../../services/consent/domain/suppression.ts";
import { migrate } from "../../../services/consent/migrate.ts";
import { createConsentStore } from "../../../services/consent/store/consent-store.ts";
import { createSettingsStore } from "../../../services/consent/store/settings-store.ts";
import { asAppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";
import { openWatchedOutbox } from "../../support/watched-outbox.ts";

const AT_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const numberAt = (at: number) => `+23480300${String(at).padStart(5, "0")}`;

describe("the stores of consent", () => {
  let database: TestDatabase;
  let outbox: Awaited<ReturnType<typeof openWatchedOutbox>>;
  /** Two processes. */
  let stores: readonly [ConsentStore, ConsentStore];
  let store: ConsentStore;
  let settings: SettingsStore;
  before(async () => {
    database = await openTestDatabase("consent_store", migrate);
    const { client, db } = database.mongo;
    outbox = await openWatchedOutbox(db, "consent");
    const audit = createAuditLog(db, DAY_MS);
    const open = () => createConsentStore(client, db, createEventOutbox(outbox.outbox), audit);
    stores = [open(), open()];
    [store] = stores;
    settings = createSettingsStore(client, db, audit);
  });
  after(async () => {
    await outbox?.close();
    await database?.close();
  });

  const consentOf = (tenantId: string, about: Partial<Consent> = {}): Consent => ({
    ...{ tenantId, number: numberAt(1), sender: "", isOut: true },
    ...{ source: "api", reason: "asked", atMs: AT_MS, ...about },
  });
  const all = (tenantId: string) => store.list({ tenantId, number: "", after: "", limit: 100_000 });

  describe("an opt-out", () => {
    it("is listed as it was saved, raises its tenant's version and makes one event", async () => {
      const tenantId = newId("tenant");
      expect(await store.version(tenantId)).to.equal(0);
      const consent = consentOf(tenantId, { sender: "acme" });
      expect(await store.save([consent])).to.equal(1);
      expect(await all(tenantId)).to.deep.equal([consent]);
      expect(await store.version(tenantId)).to.equal(1);
      expect(await outbox.events(tenantId)).to.deep.equal(["opted_out"]);
    });

    it("changes nothing a second time, and keeps the later reason", async () => {
      const tenantId = newId("tenant");
      await store.save([consentOf(tenantId)]);
      const again = consentOf(tenantId, { reason: "again", atMs: AT_MS + 1 });
      expect(await store.save([again])).to.equal(0);
      expect(await all(tenantId)).to.deep.equal([again]);
      expect(await store.version(tenantId)).to.equal(1);
      expect(await outbox.events(tenantId)).to.deep.equal(["opted_out"]);
    });

    it("is ended by a later opt-in and not by an earlier one, in each order of saving them", async () => {
      const [optOut, early, late] = [
        { isOut: true, atMs: AT_MS },
        { isOut: false, atMs: AT_MS - 1 },
        { isOut: false, atMs: AT_MS + 1 },
      ];
      for (const [order, isListed] of [
        [[optOut, early], true],
        [[early, optOut], true],
        [[optOut, late], false],
        [[late, optOut], false],
      ] as const) {
        for (const isOneCall of [true, false]) {
          const tenantId = newId("tenant");
          const items = order.map((about) => consentOf(tenantId, about));
          for (const some of isOneCall ? [items] : items.map((item) => [item])) {
            await store.save(some);
          }
          expect((await all(tenantId)).length, JSON.stringify(order)).to.equal(isListed ? 1 : 0);
        }
      }
    });

    it("of a sender blocks that sender, and one without a sender blocks all, of its tenant alone", async () => {
      const [tenantId, another] = [newId("tenant"), newId("tenant")];
      const [ofAll, ofAcme, none] = [1, 2, 3].map(numberAt) as [string, string, string];
      await store.save([
        consentOf(tenantId, { number: ofAll }),
        consentOf(tenantId, { number: ofAcme, sender: "acme" }),
        consentOf(tenantId, { number: none, isOut: false }),
        consentOf(another, { number: none }),
      ]);
      const numbers = [none, ofAcme, ofAll];
      expect(await store.check(tenantId, "acme", numbers)).to.have.members([ofAll, ofAcme]);
      expect(await store.check(tenantId, "other", numbers)).to.deep.equal([ofAll]);
      expect(await store.check(another, "acme", numbers)).to.deep.equal([none]);
      expect(await store.check(tenantId, "acme", [])).to.deep.equal([]);
    });

    it("is saved with the others of its call, or none of them is", async () => {
      const tenantId = newId("tenant");
      const malformed = consentOf(tenantId, { number: "no number" });
      const saved = store.save([consentOf(tenantId), malformed]);
      expect(
        await saved.then(
          () => "saved",
          () => "refused",
        ),
      ).to.equal("refused");
      expect(await all(tenantId)).to.deep.equal([]);
      expect(await store.version(tenantId)).to.equal(0);
      expect(await outbox.events(tenantId)).to.deep.equal([]);
    });

    it("of one tenant and those of others are all kept when several processes save at once", async () => {
      const tenantId = newId("tenant");
      const saves = Array.from({ length: 12 }, (_, at) =>
        (stores[at % 2] as ConsentStore).save([consentOf(tenantId, { number: numberAt(at) })]),
      );
      expect(await Promise.all(saves)).to.deep.equal(saves.map(() => 1));
      expect(await all(tenantId)).to.have.length(12);
      expect(await store.version(tenantId)).to.equal(12);
    });
  });

  it("lists suppressions by number and sender, of one number, after a place, up to a limit", async () => {
    const tenantId = newId("tenant");
    const rows = [
      consentOf(tenantId, { number: numberAt(1) }),
      consentOf(tenantId, { number: numberAt(1), sender: "acme" }),
      consentOf(tenantId, { number: numberAt(1), sender: "shop" }),
      consentOf(tenantId, { number: numberAt(2), sender: "acme" }),
    ];
    await store.save(rows.toReversed());
    await store.save([consentOf(newId("tenant"))]);
    const list = (more: object) =>
      store.list({ ...{ tenantId, number: "", after: "", limit: 10 }, ...more });
    expect(await list({})).to.deep.equal(rows);
    expect(await list({ limit: 2 })).to.deep.equal(rows.slice(0, 2));
    const after = `${numberAt(1)}|acme`;
    expect(await list({ after })).to.deep.equal(rows.slice(2));
    expect(await list({ number: numberAt(1) })).to.deep.equal(rows.slice(0, 3));
    expect(await list({ number: numberAt(1), after })).to.deep.equal(rows.slice(2, 3));
    expect(await list({ number: numberAt(9) })).to.deep.equal([]);
    expect(await store.table(tenantId, 10)).to.deep.equal(rows);
    expect(await store.table(tenantId, 3)).to.deep.equal(rows.slice(0, 3));
  });

  describe("a number that handsets write to", () => {
    let serial = 0;
    const numberOf = (about: Partial<InboundNumber> = {}): InboundNumber => {
      serial += 1;
      return {
        ...{ id: newId("inboundNumber"), number: `388${serial}`, tenantId: newId("tenant") },
        ...{ keyword: "", sender: "", createdAtMs: AT_MS, ...about },
      };
    };

    it("is listed by its tenant and by its digits as it was added", async () => {
      const own = numberOf({ keyword: "SHOP", sender: "acme" });
      const shared = numberOf({ number: own.number, keyword: "" });
      for (const one of [own, shared, numberOf()]) await settings.addNumber(one);
      expect(await settings.listNumbers(own.tenantId)).to.deep.equal([own]);
      expect(await settings.numbersOf([own.number, "1"])).to.deep.equal([shared, own]);
      expect(await settings.listNumbers(undefined)).to.deep.include.members([own, shared]);
      expect(await settings.numbersOf([])).to.deep.equal([]);
    });

    it("has one owner for each keyword, also when several are added at once", async () => {
      const { number } = numberOf();
      const adds = [1, 2, 3].map(() => settings.addNumber(numberOf({ number, keyword: "WIN" })));
      const codes = await Promise.all(
        adds.map((add) =>
          add.then(
            () => "added",
            (error: unknown) => asAppError(error).code,
          ),
        ),
      );
      expect(codes.toSorted()).to.deep.equal(["added", "already_exists", "already_exists"]);
      expect(await settings.numbersOf([number])).to.have.length(1);
    });

    it("is removed by its tenant, once", async () => {
      const own = numberOf();
      await settings.addNumber(own);
      expect(await settings.removeNumber(newId("tenant"), own.id)).to.equal(false);
      expect(await settings.removeNumber(own.tenantId, own.id)).to.equal(true);
      expect(await settings.removeNumber(own.tenantId, own.id)).to.equal(false);
      expect(await settings.numbersOf([own.number])).to.deep.equal([]);
    });
  });

  it("gives a tenant's words as they were set last, and none of those who have set none", async () => {
    const [tenantId, without] = [newId("tenant"), newId("tenant")];
    const words = {
      ...{ optOut: ["ARRET"], optIn: ["OUI"], help: ["AIDE"] },
      replies: { opt_out: "Bye", opt_in: "", help: "Help" },
    };
    await settings.setKeywords(tenantId, NO_KEYWORDS);
    await settings.setKeywords(tenantId, words);
    expect(await settings.keywords(tenantId)).to.deep.equal(words);
    expect(await settings.keywords(without)).to.deep.equal(NO_KEYWORDS);
    expect([...(await settings.keywordsOf([without, tenantId]))]).to.deep.equal([
      [tenantId, words],
    ]);
  });
});
