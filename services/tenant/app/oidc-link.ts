import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { hashSecret } from "../domain/api-key.ts";
import { canonicalEmail } from "../domain/email.ts";
import { newSecretText } from "../domain/secrets.ts";
import { LINK_MS } from "../domain/sign-in-link.ts";
import type { PeopleStore, SessionStore } from "./identity-ports.ts";

/** A one-time link for the invited person of an address that the provider verified. Errors: `not_found`. */
export async function linkAfterOidc(
  parts: {
    readonly people: Pick<PeopleStore, "findPersonByEmail">;
    readonly sessions: Pick<SessionStore, "insertLink">;
    readonly clock: Clock;
  },
  email: string,
): Promise<string> {
  const { people, sessions, clock } = parts;
  const personId = await people.findPersonByEmail(canonicalEmail(email));
  if (personId === undefined) throw new AppError("not_found", "This address was not invited.");
  const token = newSecretText("oil");
  const expiresAtMs = clock.now() + LINK_MS.oidc;
  await sessions.insertLink(hashSecret(token), { kind: "oidc", expiresAtMs, personId });
  return token;
}
