/** Conformance suite of the port `SecondFactorStore`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import type { SecondFactorStore } from "../../../services/tenant/app/identity-ports.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import {
  newFactorSecret,
  type SecondFactor,
} from "../../../services/tenant/domain/second-factor.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createSecondFactorStore } from "../../../services/tenant/store/second-factor-store.ts";
import { useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const TENANT = newId("tenant");
const boxOf = (key: number) =>
  createSecretBox(`k${key}:${Buffer.alloc(32, key).toString("base64")}`);

describe("the store of second factors", () => {
  const database = useStoreDatabase("second_factor_store", migrate);
  let store: SecondFactorStore;
  let other: SecondFactorStore;
  const open = (key = 1) => {
    const { client, db, audit } = database.parts();
    return createSecondFactorStore(client, db, audit, boxOf(key));
  };
  before(() => {
    store = open();
    other = open();
  });

  /** Stores a new secret, and returns the factor as it is read. */
  async function begin(personId: string, secret = newFactorSecret()): Promise<SecondFactor> {
    expect(await store.begin(personId, secret)).to.equal(true);
    const factor = await other.find(personId);
    if (factor === undefined) throw new Error("there is no factor");
    return factor;
  }
  const enabledOf = (factor: SecondFactor): SecondFactor => ({
    ...{ ...factor, enabledAtMs: AT_MS, lastStep: 59_000_000 },
    recoveryHashes: ["one", "two"].map(hashSecret),
  });
  /** A person whose factor is on. */
  async function enable(): Promise<SecondFactor> {
    const factor = await begin(newId("person"));
    expect(await store.enable(TENANT, factor, enabledOf(factor))).to.equal(true);
    return enabledOf(factor);
  }

  it("has no factor of an unknown person", async () => {
    const personId = newId("person");
    expect(await store.find(personId)).to.equal(undefined);
    expect(await store.remove(TENANT, personId)).to.equal(false);
  });

  it("keeps a secret that is not confirmed until the next one replaces it, and records neither", async () => {
    const personId = newId("person");
    const secrets = [newFactorSecret(), newFactorSecret()];
    for (const secret of secrets) {
      expect(await begin(personId, secret)).to.deep.equal({
        ...{ personId, secret, lastStep: 0, recoveryHashes: [] },
      });
    }
    expect(await store.findEnabled([personId])).to.deep.equal(new Set());
    expect(await store.remove(TENANT, personId), "it is not on").to.equal(false);
    expect(await database.auditOf(personId)).to.deep.equal([]);
  });

  it("is turned on once, of several calls at once on two processes, with one audit entry", async () => {
    const factor = await begin(newId("person"));
    const results = await Promise.all(
      [store, other, store, other].map((on) => on.enable(TENANT, factor, enabledOf(factor))),
    );
    expect(results.filter(Boolean)).to.have.length(1);
    expect(await store.find(factor.personId)).to.deep.equal(enabledOf(factor));
    expect(await database.auditOf(factor.personId)).to.deep.equal([
      { before: { second_factor: false }, after: { second_factor: true } },
    ]);
  });

  it("is not turned on by the code of a secret that was replaced", async () => {
    const personId = newId("person");
    const first = await begin(personId);
    const second = await begin(personId);
    expect(await store.enable(TENANT, first, enabledOf(first))).to.equal(false);
    expect(await store.find(personId)).to.deep.equal(second);
    const unknown = { ...first, personId: newId("person") };
    expect(await store.enable(TENANT, unknown, enabledOf(unknown))).to.equal(false);
  });

  it("is on with the secret that was confirmed when a new one is asked for at the same moment", async () => {
    for (let round = 0; round < 8; round += 1) {
      const factor = await begin(newId("person"));
      const { personId } = factor;
      const secret = newFactorSecret();
      const [isOn, isReplaced] = await Promise.all([
        store.enable(TENANT, factor, enabledOf(factor)),
        other.begin(personId, secret),
      ]);
      expect(isOn, `round ${round}`).not.to.equal(isReplaced);
      const begun = { personId, secret, lastStep: 0, recoveryHashes: [] };
      expect(await store.find(personId)).to.deep.equal(isOn ? enabledOf(factor) : begun);
    }
  });

  it("that is on refuses a new secret and stays as it is", async () => {
    const factor = await enable();
    expect(await store.begin(factor.personId, newFactorSecret())).to.equal(false);
    expect(await store.find(factor.personId)).to.deep.equal(factor);
  });

  it("is turned off once with an audit entry, and may be set up again", async () => {
    const { personId } = await enable();
    const results = await Promise.all([store, other].map((on) => on.remove(TENANT, personId)));
    expect(results.filter(Boolean)).to.have.length(1);
    expect(await store.find(personId)).to.equal(undefined);
    const [, ...changes] = await database.auditOf(personId);
    expect(changes).to.deep.equal([
      { before: { second_factor: true }, after: { second_factor: false } },
    ]);
    const again = await begin(personId);
    expect(await store.enable(TENANT, again, enabledOf(again))).to.equal(true);
  });

  it("is turned neither on nor off without its audit entry", async () => {
    const begun = await begin(newId("person"));
    const on = await enable();
    const changes: readonly [string, () => Promise<unknown>][] = [
      [begun.personId, () => store.enable(TENANT, begun, enabledOf(begun))],
      [on.personId, () => store.remove(TENANT, on.personId)],
    ];
    for (const [personId, change] of changes) {
      expect(await database.withoutAudit(personId, change)).to.equal("internal_error");
    }
    expect(await store.find(begun.personId)).to.deep.equal(begun);
    expect(await store.find(on.personId)).to.deep.equal(on);
  });

  it("is found among the people whose factor is on", async () => {
    const [on, begun] = [await enable(), await begin(newId("person"))];
    const ids = [begun.personId, newId("person"), on.personId];
    expect(await store.findEnabled(ids)).to.deep.equal(new Set([on.personId]));
    expect(await store.findEnabled([])).to.deep.equal(new Set());
  });

  it("is stored encrypted for its person alone", async () => {
    const { personId, secret } = await enable();
    const factors = database
      .parts()
      .db.collection<{ _id: string; secret: string }>("second_factors");
    const stored = await factors.findOne({ _id: personId });
    expect(stored?.secret).not.to.include(Buffer.from(secret).toString("base64"));
    const outcome = (work: Promise<unknown>) =>
      work.then(
        () => "read",
        () => "refused",
      );
    expect(await outcome(open(2).find(personId)), "another key").to.equal("refused");
    const thief = await enable();
    await factors.updateOne({ _id: thief.personId }, { $set: { secret: stored?.secret ?? "" } });
    expect(await outcome(store.find(thief.personId)), "another person's").to.equal("refused");
    expect(await outcome(store.find(personId))).to.equal("read");
  });
});
