/** Conformance suite of the port `Idempotency` of services that store their own responses, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type { Idempotency } from "../../../services/shared/core/run-once.ts";
import {
  createKeyedAnswers,
  KEYED_ANSWER_SHAPES,
  saveKeyedAnswer,
} from "../../../services/shared/io/keyed-answers.ts";
import { shapeCollections } from "../../../services/shared/io/migration.ts";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import { exclusiveSuite, ONE, TWO } from "../../support/idempotency-suite.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const KEPT_MS = 3_600_000;
const RESPONSE = new Uint8Array([0, 1, 255]);

describe("the stored answers to idempotency keys", () => {
  const database = useStoreDatabase("keyed-answers", (db) =>
    shapeCollections(db, KEYED_ANSWER_SHAPES),
  );
  const open = (keptMs = KEPT_MS): Idempotency => createKeyedAnswers(database.parts().db, keptMs);
  const newAnswer = () => ({ scope: newId("request"), fingerprint: ONE, response: RESPONSE });

  it("are found under their key, in any process", async () => {
    const answer = newAnswer();
    expect(await open().find(answer)).to.equal(undefined);
    await open().save(answer);
    expect(await open().find(answer)).to.deep.equal(RESPONSE);
    expect(await open().find(newAnswer())).to.equal(undefined);
  });

  it("are refused to another request with the key", async () => {
    const answer = newAnswer();
    await open().save(answer);
    const other = open().find({ ...answer, fingerprint: TWO });
    expect(await codeOf(other)).to.equal("idempotency_key_reused");
  });

  it("are empty when the response is", async () => {
    const answer = { ...newAnswer(), response: new Uint8Array() };
    await open().save(answer);
    expect(await open().find(answer)).to.deep.equal(new Uint8Array());
  });

  it("are kept for the time of the setting and a margin, and then free their key", async () => {
    const answer = newAnswer();
    const sinceMs = Date.now();
    await open().save(answer);
    const removalMs = await database.removalMs("keyed_answers", answer.scope);
    expect(removalMs - sinceMs).to.be.within(KEPT_MS, KEPT_MS + 60_000);

    const { db } = database.parts();
    const answers = db.collection<{ _id: string }>("keyed_answers");
    // MongoDB removes expired documents within a minute; until then they must not be found.
    await answers.updateOne({ _id: answer.scope }, { $set: { expires_at: new Date() } });
    expect(await open().find(answer)).to.equal(undefined);
    const next = { ...answer, fingerprint: TWO, response: new Uint8Array([9]) };
    expect(await open().find(next)).to.equal(undefined);
    await open().save(next);
    expect(await open().find(next)).to.deep.equal(next.response);
    expect(await codeOf(open().find(answer))).to.equal("idempotency_key_reused");
  });

  it("commit with their effect, or not at all", async () => {
    const { client, db } = database.parts();
    const answer = newAnswer();
    const save = (isRefused: boolean) =>
      runTransaction(client, async (session) => {
        await saveKeyedAnswer(db, answer, KEPT_MS, session);
        expect(await open().find(answer), "before the commit").to.equal(undefined);
        if (isRefused) throw new Error("refused");
      });
    expect(await codeOf(save(true))).to.equal("internal_error");
    expect(await open().find(answer)).to.equal(undefined);
    await save(false);
    expect(await open().find(answer)).to.deep.equal(RESPONSE);
  });

  exclusiveSuite(
    () => (scope, fingerprint, work) => open().exclusively({ scope, fingerprint }, work),
  );
});
