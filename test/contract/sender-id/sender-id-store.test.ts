/** Conformance suite of the port `SenderIdStore`, on MongoDB. */
import { expect } from "chai";
import { toSenderIdEvent } from "../../../services/sender-id/adapters/events.ts";
import type { SenderIdStore } from "../../../services/sender-id/app/sender-ids.ts";
import {
  createSenderId,
  type Review,
  type SenderId,
  type SenderIdStatus,
} from "../../../services/sender-id/domain/sender-id.ts";
import { migrate } from "../../../services/sender-id/migrate.ts";
import { createSenderIdStore } from "../../../services/sender-id/store/sender-id-store.ts";
import { asAppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createKeyedAnswers } from "../../../services/shared/io/keyed-answers.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";
import { openWatchedOutbox } from "../../support/watched-outbox.ts";

const AT_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const NO_ANSWER = () => undefined;

describe("the store of sender IDs", () => {
  let database: TestDatabase;
  let outbox: Awaited<ReturnType<typeof openWatchedOutbox>>;
  let store: SenderIdStore;
  let other: SenderIdStore;
  before(async () => {
    database = await openTestDatabase("sender_id_store", migrate);
    const { client, db } = database.mongo;
    outbox = await openWatchedOutbox(db, "sender_id");
    const open = () =>
      createSenderIdStore({
        ...{ client, db, outbox: outbox.outbox, encodeEvent: toSenderIdEvent },
        ...{ audit: createAuditLog(db, DAY_MS), keyTtlMs: DAY_MS },
      });
    [store, other] = [open(), open()];
  });
  after(async () => {
    await outbox?.close();
    await database?.close();
  });

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: unknown) => asAppError(error).code,
    );
  const auditOf = (tenantId: string) =>
    database.mongo.db.collection("audit").countDocuments({ tenant_id: tenantId });
  const senderIdOf = (tenantId: string, name: string, about: Partial<SenderId> = {}): SenderId => ({
    ...createSenderId({
      ...{ id: newId("senderId"), tenantId, name, isApproved: false, nowMs: AT_MS },
    }),
    ...about,
  });
  async function insert(tenantId: string, name: string, about: Partial<SenderId> = {}) {
    const senderId = senderIdOf(tenantId, name, about);
    await store.insert(senderId);
    return senderId;
  }

  it("gives a sender ID by its id and by its name in any case, as it was inserted", async () => {
    const [tenantId, another] = [newId("tenant"), newId("tenant")];
    const promo = await insert(tenantId, "Acme Shop", {
      ...{ trafficClass: "promotional", useCase: "Offers", sample: "Buy now" },
      ...{ status: "rejected", rejectionReason: "Too vague." },
    });
    const plain = await insert(another, "ACME SHOP");
    expect(await store.find(promo.id)).to.deep.equal(promo);
    expect(await store.find(newId("senderId"))).to.equal(undefined);
    const key = "acme shop";
    const names = [
      { tenantId, key },
      { tenantId: another, key },
      { tenantId: another, key: "none" },
    ];
    expect(await store.findByNames(names)).to.have.deep.members([promo, plain]);
    expect(await store.findByNames(names.slice(0, 1))).to.deep.equal([promo]);
    expect(await store.findByNames([])).to.deep.equal([]);
    expect(await auditOf(tenantId)).to.equal(1);
  });

  it("keeps one sender ID of a tenant's name, in any case, also when several come at once", async () => {
    const tenantId = newId("tenant");
    const names = ["Acme", "ACME", "acme"];
    const codes = await Promise.all(names.map((name) => codeOf(insert(tenantId, name))));
    expect(codes.toSorted()).to.deep.equal(["already_exists", "already_exists", "done"]);
    expect(await auditOf(tenantId)).to.equal(1);
  });

  it("lists a tenant's by name, by status, of one name, after a name, up to a limit", async () => {
    const tenantId = newId("tenant");
    const c = await insert(tenantId, "Charlie");
    const a = await insert(tenantId, "alpha", { status: "approved" });
    const b = await insert(tenantId, "Bravo", { status: "suspended" });
    const foreign = await insert(newId("tenant"), "alpha");
    const list = (more: object) =>
      store.list(tenantId, { ...{ statuses: [], nameKey: "", limit: 10, afterKey: "" }, ...more });
    expect(await list({})).to.deep.equal([a, b, c]);
    expect(await list({ statuses: ["approved", "pending"] })).to.deep.equal([a, c]);
    expect(await list({ afterKey: "alpha", limit: 1 })).to.deep.equal([b]);
    expect(await list({ nameKey: "bravo" })).to.deep.equal([b]);
    expect(await list({ nameKey: "bravo", afterKey: "bravo" })).to.deep.equal([]);

    const own = new Set([a, b, c, foreign].map(({ id }) => id));
    const listAll = async (statuses: readonly SenderIdStatus[], limit: number, afterId: string) =>
      (await store.listAll(statuses, limit, afterId)).filter(({ id }) => own.has(id));
    expect(await listAll([], 10_000, "")).to.deep.equal([c, a, b, foreign]);
    expect(await listAll(["pending"], 10_000, "")).to.deep.equal([c, foreign]);
    expect(await listAll([], 1, c.id)).to.deep.equal([a]);
  });

  describe("a request", () => {
    it("is decided on the tenant's present sender ID and its counts, and stored with its answer", async () => {
      const tenantId = newId("tenant");
      const old = await insert(tenantId, "Acme", { status: "rejected", rejectionReason: "No." });
      await insert(tenantId, "Other");
      const answer = {
        ...{ scope: `${tenantId}|request`, fingerprint: new Uint8Array([1]) },
        response: new Uint8Array([2]),
      };
      const again: SenderId = { ...old, status: "pending", rejectionReason: "", useCase: "Codes" };
      const given: unknown[] = [];
      await store.request(
        { tenantId, key: "acme" },
        (present, counts) => {
          given.push(present, counts);
          return again;
        },
        (made) => {
          expect(made).to.deep.equal(again);
          return answer;
        },
      );
      expect(given.slice(-2)).to.deep.equal([old, { all: 2, pending: 1 }]);
      expect(await store.find(old.id)).to.deep.equal(again);
      const answers = createKeyedAnswers(database.mongo.db, DAY_MS);
      expect(await answers.find(answer)).to.deep.equal(answer.response);
      expect(await auditOf(tenantId)).to.equal(3);
    });

    it("that is refused stores nothing", async () => {
      const tenantId = newId("tenant");
      const refused = store.request(
        { tenantId, key: "acme" },
        () => {
          throw new Error("no");
        },
        NO_ANSWER,
      );
      expect(await codeOf(refused)).to.equal("internal_error");
      expect(await store.findByNames([{ tenantId, key: "acme" }])).to.deep.equal([]);
      expect(await auditOf(tenantId)).to.equal(0);
    });

    it("is counted before the next one of its tenant is decided, over all processes", async () => {
      const tenantId = newId("tenant");
      const request = (at: number) =>
        (at % 2 === 0 ? store : other).request(
          { tenantId, key: `name ${at}` },
          (_present, { pending }) => {
            if (pending >= 3) throw new Error("too many");
            return senderIdOf(tenantId, `Name ${at}`);
          },
          NO_ANSWER,
        );
      const codes = await Promise.all(Array.from({ length: 9 }, (_, at) => codeOf(request(at))));
      expect(codes.filter((code) => code === "done")).to.have.length(3);
      const filter = { statuses: [], nameKey: "", limit: 10, afterKey: "" };
      expect(await store.list(tenantId, filter)).to.have.length(3);
    });
  });

  describe("a review", () => {
    const review = (senderId: SenderId, action: Review, status: SenderIdStatus, on = store) =>
      on.saveReview(
        { senderId: { ...senderId, status, updatedAtMs: AT_MS + 1 }, action, isTenantActive: true },
        senderId.status,
      );

    it("is stored with its event, once, unless the status has changed since it was read", async () => {
      const tenantId = newId("tenant");
      const senderId = await insert(tenantId, "Acme");
      const saved = await Promise.all([
        review(senderId, "approve", "approved"),
        review(senderId, "reject", "rejected", other),
        review(senderId, "approve", "approved", other),
      ]);
      expect(saved.filter(Boolean)).to.have.length(1);
      const status = saved[1] ? "rejected" : "approved";
      expect(await store.find(senderId.id)).to.deep.equal({
        ...{ ...senderId, status, updatedAtMs: AT_MS + 1 },
      });
      expect(await review(senderId, "approve", "approved")).to.equal(false);
      expect(await outbox.events(tenantId)).to.have.length(1);
      expect(await auditOf(tenantId)).to.equal(2);
    });

    it("of a sender ID that does not exist is not stored", async () => {
      const stray = senderIdOf(newId("tenant"), "Acme");
      expect(await review(stray, "approve", "approved")).to.equal(false);
      expect(await outbox.events(stray.tenantId)).to.deep.equal([]);
    });
  });
});
