/** Conformance suite of the port `Idempotency`, on MongoDB. */
import { expect } from "chai";
import type { ClientSession } from "mongodb";
import { newId } from "../../../services/shared/core/ids.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import type { Codec, Idempotency, RequestKey } from "../../../services/webhook/app/idempotency.ts";
import { migrate } from "../../../services/webhook/migrate.ts";
import { createIdempotency } from "../../../services/webhook/store/idempotency.ts";
import { exclusiveSuite, ONE, TWO } from "../../support/idempotency-suite.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";
import { TEST_ENCRYPTION_KEYS } from "../../support/webhook-harness.ts";

const KEPT_MS = 3_600_000;
const TEXT: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => Buffer.from(bytes).toString(),
};

describe("the idempotency records of the webhook service", () => {
  const database = useStoreDatabase("idempotency", async (db) => {
    await migrate(db);
    await db.createCollection("effects");
  });
  /** The same records, as one of several processes has them. */
  function open(): Idempotency<ClientSession> {
    const { client, db } = database.parts();
    return createIdempotency(client, db, createSecretBox(TEST_ENCRYPTION_KEYS), KEPT_MS);
  }
  const newKey = (about: Partial<RequestKey> = {}): RequestKey => ({
    ...{ tenantId: newId("tenant"), operation: "create", key: "one", fingerprint: ONE },
    ...about,
  });
  const idOf = ({ tenantId, operation, key }: RequestKey) => `${tenantId}|${operation}|${key}`;
  const records = () =>
    database.parts().db.collection<{ _id: string; response: string }>("idempotency");

  /** An effect that the database can roll back. */
  const effect = (text: string) => async (session: ClientSession) => {
    await database.parts().db.collection("effects").insertOne({ text }, { session });
    return text;
  };
  const countOf = (text: string) =>
    database.parts().db.collection("effects").countDocuments({ text });
  const find = (key: RequestKey) => open().find(key, TEXT);
  const run = (key: RequestKey, text: string) => open().run(key, TEXT, effect(text));

  it("keep the response of a key's first request, for every process", async () => {
    const key = newKey();
    expect(await find(key)).to.equal(undefined);
    expect(await open().check(key)).to.equal(false);
    const text = newId("request");
    expect(await run(key, text)).to.deep.equal({ response: text, replayed: false });
    expect(await find(key)).to.equal(text);
    expect(await open().check(key)).to.equal(true);
    expect(await countOf(text)).to.equal(1);
  });

  it("refuse another request with the key, and roll its effect back", async () => {
    const key = newKey();
    const [first, second] = [newId("request"), newId("request")];
    await run(key, first);
    const other = { ...key, fingerprint: TWO };
    for (const work of [find, (one: RequestKey) => open().check(one)]) {
      expect(await codeOf(work(other))).to.equal("idempotency_key_reused");
    }
    expect(await codeOf(run(other, second))).to.equal("idempotency_key_reused");
    expect(await countOf(second)).to.equal(0);
    expect(await find(key)).to.equal(first);
  });

  it("belong to a key of one tenant and operation", async () => {
    const key = newKey();
    await run(key, newId("request"));
    for (const other of [{ tenantId: newId("tenant") }, { operation: "rotate" }, { key: "two" }]) {
      const elsewhere = { ...key, ...other, fingerprint: TWO };
      expect(await find(elsewhere)).to.equal(undefined);
      expect(await open().check(elsewhere)).to.equal(false);
      expect((await run(elsewhere, newId("request"))).replayed).to.equal(false);
    }
  });

  it("are not written when the effect fails", async () => {
    const key = newKey();
    const text = newId("request");
    const failing = open().run(key, TEXT, async (session) => {
      await effect(text)(session);
      throw new Error("a fault");
    });
    expect(await codeOf(failing)).to.equal("internal_error");
    expect([await find(key), await countOf(text)]).to.deep.equal([undefined, 0]);
  });

  it("are rolled back with the transaction of the effect", async () => {
    const key = newKey();
    const text = newId("request");
    let attempts = 0;
    const killed = open().run(key, TEXT, async (session) => {
      attempts += 1;
      if (attempts > 1) throw new Error("a fault");
      const made = await effect(text)(session);
      await database
        .parts()
        .client.db("admin")
        .command({ killSessions: [session.id] });
      return made;
    });
    expect(await codeOf(killed)).to.equal("internal_error");
    expect(attempts).to.equal(2);
    expect([await find(key), await countOf(text)]).to.deep.equal([undefined, 0]);
  });

  it("roll the effect back when another request of the key committed first", async () => {
    const key = newKey();
    const [winner, loser] = [newId("request"), newId("request")];
    let isFirst = true;
    const late = await open().run(key, TEXT, async (session) => {
      const made = await effect(loser)(session);
      if (isFirst) await run(key, winner);
      isFirst = false;
      return made;
    });
    expect(late).to.deep.equal({ response: winner, replayed: true });
    expect([await countOf(winner), await countOf(loser)]).to.deep.equal([1, 0]);
  });

  it("leave one effect of many requests of a key at once", async () => {
    const key = newKey();
    const texts = Array.from({ length: 8 }, () => newId("request"));
    const results = await Promise.all(texts.map((text) => run(key, text)));
    const [first, ...others] = new Set(results.map(({ response }) => response));
    expect(others).to.deep.equal([]);
    expect(results.filter(({ replayed }) => !replayed)).to.have.length(1);
    const counts = await Promise.all(texts.map(countOf));
    expect(counts).to.deep.equal(texts.map((text) => (text === first ? 1 : 0)));
  });

  it("are kept for the time of the setting and a margin, and then free their key", async () => {
    const key = newKey();
    const sinceMs = Date.now();
    await run(key, newId("request"));
    const removalMs = await database.removalMs("idempotency", idOf(key));
    expect(removalMs - sinceMs).to.be.within(KEPT_MS, KEPT_MS + 60_000);

    // MongoDB removes expired documents within a minute; until then they must not be found.
    await records().updateOne({ _id: idOf(key) }, { $set: { expires_at: new Date() } });
    const other = { ...key, fingerprint: TWO };
    expect([await find(key), await find(other)]).to.deep.equal([undefined, undefined]);
    expect(await open().check(other)).to.equal(false);
    const text = newId("request");
    expect(await run(other, text)).to.deep.equal({ response: text, replayed: false });
    expect(await find(other)).to.equal(text);
    expect(await codeOf(find(key))).to.equal("idempotency_key_reused");
  });

  it("hold the response encrypted, for their own key only", async () => {
    const [key, other] = [newKey(), newKey()];
    await run(key, "whsec_1");
    await run(other, "whsec_2");
    const record = await records().findOne({ _id: idOf(key) });
    const response = record?.response ?? "";
    expect(response).to.be.a("string").and.not.equal("");
    for (const text of ["whsec_1", Buffer.from("whsec_1").toString("base64")]) {
      expect(response).to.not.include(text);
    }
    await records().updateOne({ _id: idOf(other) }, { $set: { response } });
    expect(await codeOf(find(other))).to.equal("internal_error");
  });

  it("do not exist for requests without a key: each has its effect", async () => {
    const key = newKey({ key: "" });
    const text = newId("request");
    const nested = open().exclusively(key, () => open().exclusively(key, () => run(key, text)));
    expect(await nested).to.deep.equal({ response: text, replayed: false });
    expect(await run(key, text)).to.deep.equal({ response: text, replayed: false });
    expect([await find(key), await open().check(key)]).to.deep.equal([undefined, false]);
    expect(await countOf(text)).to.equal(2);
    expect(await records().countDocuments({ _id: idOf(key) })).to.equal(0);
  });

  it("are checked without an effect while a request with the key runs", async () => {
    const key = newKey();
    await open().exclusively(key, async () => {
      expect(await codeOf(open().check(key))).to.equal("conflict");
      const other = { ...key, fingerprint: TWO };
      expect(await codeOf(open().check(other))).to.equal("idempotency_key_reused");
      expect(await codeOf(open().check(newKey()))).to.equal("done");
    });
    expect(await codeOf(open().check(key))).to.equal("done");
    expect(await open().exclusively(key, async () => 1), "the check took no lock").to.equal(1);
  });

  exclusiveSuite(
    () => (key, fingerprint, work) =>
      open().exclusively(newKey({ tenantId: "ten_1", key, fingerprint }), work),
  );
});
