import { Binary, type Db } from "mongodb";
import type { SecretBox } from "../../shared/io/encryption.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { OidcChecks, OidcSignInStore } from "../app/identity-ports.ts";

/** A document of `oidc_sign_ins`; it is removed when the browser returns from the provider, or expires. */
type OidcSignInDocument = {
  /** SHA-256 of the browser's secret. */
  _id: Binary;
  /** State, nonce and PKCE verifier, encrypted. */
  checks: string;
  expires_at: Date;
};

const CONTEXT = "oidc_sign_in";

/** The collections of sign-ins: a browser that began one for a console cannot complete it for the other. */
export type OidcSignInCollection = "oidc_sign_ins" | "operator_oidc_sign_ins";

/** The MongoDB adapter of sign-ins that are at the provider. */
export function createOidcSignInStore(
  db: Db,
  box: SecretBox,
  name: OidcSignInCollection = "oidc_sign_ins",
): OidcSignInStore {
  const signIns = db.collection<OidcSignInDocument>(name);
  return {
    async insert(hash, checks, expiresAtMs) {
      await guardMongo(
        signIns.insertOne({
          _id: new Binary(hash),
          checks: box.seal(JSON.stringify(checks), CONTEXT),
          expires_at: new Date(expiresAtMs),
        }),
      );
    },
    async take(hash) {
      const found = await guardMongo(signIns.findOneAndDelete({ _id: new Binary(hash) }));
      if (found === null) return undefined;
      const checks = JSON.parse(box.open(found.checks, CONTEXT)) as OidcChecks;
      return { checks, expiresAtMs: found.expires_at.getTime() };
    },
  };
}
