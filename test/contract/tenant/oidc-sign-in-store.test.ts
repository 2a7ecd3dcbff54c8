/** Conformance suite of the port `OidcSignInStore`, on MongoDB: for tenants' people and for operators. */
import { expect } from "chai";
import { Binary } from "mongodb";
import { newId } from "../../../services/shared/core/ids.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import type { OidcChecks, OidcSignInStore } from "../../../services/tenant/app/identity-ports.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import {
  createOidcSignInStore,
  type OidcSignInCollection,
} from "../../../services/tenant/store/oidc-sign-in-store.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const EXPIRES_AT_MS = Date.now() + 600_000;
const COLLECTIONS: Readonly<Record<OidcSignInCollection, string>> = {
  oidc_sign_ins: "tenants' people",
  operator_oidc_sign_ins: "operators",
};
const boxOf = (key: number) =>
  createSecretBox(`k${key}:${Buffer.alloc(32, key).toString("base64")}`);
const newHash = () => hashSecret(newId("request"));
const newChecks = (): OidcChecks => ({
  ...{ state: newId("request"), nonce: newId("request"), verifier: newId("request") },
});

for (const [collection, people] of Object.entries(COLLECTIONS)) {
  describe(`the store of sign-ins of ${people} at the provider`, () => {
    const database = useStoreDatabase("oidc_store", migrate);
    const open = (name = collection as OidcSignInCollection, key = 1) =>
      createOidcSignInStore(database.parts().db, boxOf(key), name);
    let store: OidcSignInStore;
    let other: OidcSignInStore;
    before(() => {
      store = open();
      other = open();
    });

    it("returns a sign-in as it was stored to the browser that began it, once", async () => {
      const [hash, checks] = [newHash(), newChecks()];
      await store.insert(hash, checks, EXPIRES_AT_MS);
      await store.insert(newHash(), newChecks(), EXPIRES_AT_MS);
      expect(await other.take(newHash())).to.equal(undefined);
      expect(await other.take(hash)).to.deep.equal({ checks, expiresAtMs: EXPIRES_AT_MS });
      expect(await store.take(hash)).to.equal(undefined);
    });

    it("gives it to one of fifteen returns at once on two processes", async () => {
      const hash = newHash();
      await store.insert(hash, newChecks(), EXPIRES_AT_MS);
      const taken = await Promise.all(
        Array.from({ length: 15 }, (_, at) => (at % 2 === 0 ? store : other).take(hash)),
      );
      expect(taken.filter((found) => found !== undefined)).to.have.length(1);
    });

    it("keeps the first sign-in of a browser's secret", async () => {
      const [hash, checks] = [newHash(), newChecks()];
      await store.insert(hash, checks, EXPIRES_AT_MS);
      expect(await codeOf(store.insert(hash, newChecks(), EXPIRES_AT_MS))).not.to.equal("done");
      expect((await store.take(hash))?.checks).to.deep.equal(checks);
    });

    it("removes one that never comes back when it expires", async () => {
      const hash = newHash();
      await store.insert(hash, newChecks(), EXPIRES_AT_MS);
      expect(await database.removalMs(collection, new Binary(hash))).to.equal(EXPIRES_AT_MS);
    });

    it("stores the checks encrypted; without the key a sign-in is used up and refused", async () => {
      const [hash, checks] = [newHash(), newChecks()];
      await store.insert(hash, checks, EXPIRES_AT_MS);
      const { db } = database.parts();
      const stored = await db.collection(collection).findOne({ _id: new Binary(hash) as never });
      const text = JSON.stringify(stored);
      for (const value of Object.values(checks)) expect(text).not.to.include(value);
      const keyless = open(collection as OidcSignInCollection, 2);
      expect(await codeOf(keyless.take(hash))).to.equal("internal_error");
      expect(await store.take(hash)).to.equal(undefined);
    });

    it("returns no sign-in that was begun for the other console", async () => {
      const hash = newHash();
      await store.insert(hash, newChecks(), EXPIRES_AT_MS);
      for (const name of Object.keys(COLLECTIONS) as OidcSignInCollection[]) {
        if (name === collection) continue;
        expect(await open(name).take(hash)).to.equal(undefined);
      }
      expect(await store.take(hash)).not.to.equal(undefined);
    });
  });
}
