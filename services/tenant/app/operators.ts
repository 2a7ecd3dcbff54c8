import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import { hashSecret } from "../domain/api-key.ts";
import { canonicalEmail } from "../domain/email.ts";
import { type Operator, type OperatorSession, roleAfter } from "../domain/operator.ts";
import { newSecretText } from "../domain/secrets.ts";
import {
  type Browser,
  checkOpen,
  isOpen,
  isSeenLongAgo,
  newSessionTimes,
  noSession,
  shortBrowser,
} from "../domain/session.ts";
import { askedLifetime, LINK_MS, refusedLink } from "../domain/sign-in-link.ts";
import type { OperatorStore } from "./operator-ports.ts";

/** An open session and the present role of its person. */
export type SignedInOperator = {
  readonly session: OperatorSession;
  readonly role: OperatorRole;
};

/** The use cases of operators. */
export type OperatorService = ReturnType<typeof createOperatorService>;

/** The name travels as a header with each call, for the audit trails (`shared/rpc/call-context.ts`). */
const PERSON = /^[\x21-\x7e]{1,128}$/;
const LISTED_MAX = 1000;
const SESSIONS_LISTED_MAX = 100;

export function createOperatorService(parts: {
  readonly store: OperatorStore;
  readonly linkUrl: (token: string) => string;
  readonly clock: Clock;
}) {
  const { store, linkUrl, clock } = parts;

  async function findOpen(sessionId: string): Promise<OperatorSession> {
    return checkOpen(await store.findSession(sessionId), clock.now());
  }

  return {
    /** Errors: `validation_error`. */
    async createLink(
      personText: string,
      role: OperatorRole | undefined,
      wantedMs: number,
    ): Promise<{ url: string; expiresAtMs: number; operator: Operator }> {
      const person = canonicalEmail(personText);
      if (!PERSON.test(person)) {
        throw invalidField("person", "invalid_format", "must be ASCII, 128 characters at most");
      }
      const lifetimeMs = askedLifetime(wantedMs);
      const token = newSecretText("opl");
      const nowMs = clock.now();
      const link = { person, expiresAtMs: nowMs + lifetimeMs };
      const decide = (present: OperatorRole | undefined) => roleAfter(role, present);
      const operator = await store.addLink(hashSecret(token), link, decide, nowMs);
      return { url: linkUrl(token), expiresAtMs: link.expiresAtMs, operator };
    },

    /** A link for an operator whose address a provider verified; the role stays. Errors: `not_found`. */
    async linkAfterOidc(email: string): Promise<string> {
      const person = canonicalEmail(email);
      const token = newSecretText("opl");
      const nowMs = clock.now();
      // The provider says who a person is, not who is an operator: that is only what `smsctl` has stored.
      const keepRole = (present: OperatorRole | undefined) => {
        if (present !== undefined) return present;
        throw new AppError("not_found", "This address is no operator's.");
      };
      const link = { person, expiresAtMs: nowMs + LINK_MS.oidc };
      await store.addLink(hashSecret(token), link, keepRole, nowMs);
      return token;
    },

    /** Exchanges a link's token for a session, once. Errors: `not_found`. */
    async openSession(
      token: string,
      browser: Browser,
    ): Promise<SignedInOperator & { secret: string }> {
      const linkHash = hashSecret(token);
      const link = await store.findLink(linkHash);
      const nowMs = clock.now();
      if (link !== undefined && nowMs < link.expiresAtMs) {
        const session: OperatorSession = {
          id: newId("session"),
          person: link.person,
          ...newSessionTimes(nowMs),
          ...shortBrowser(browser),
        };
        const secret = newSecretText("ops");
        const operator = await store.openSession(linkHash, session, hashSecret(secret));
        if (operator !== undefined) return { session, role: operator.role, secret };
      }
      throw refusedLink();
    },

    /** The open session of a secret, with the present role of its person. */
    async authenticate(secretHash: Uint8Array): Promise<SignedInOperator | undefined> {
      const session = await store.findByHash(secretHash);
      const nowMs = clock.now();
      if (session === undefined || !isOpen(session, nowMs)) return undefined;
      // Read each time: another role or a removal holds from the next request on.
      const operator = await store.findOperator(session.person);
      if (operator === undefined) return undefined;
      if (isSeenLongAgo(session, nowMs)) await store.touchSession(session.id, nowMs);
      return { session, role: operator.role };
    },

    /** Errors: `not_found`. */
    async listSessions(sessionId: string): Promise<readonly SignedInOperator[]> {
      const { person } = await findOpen(sessionId);
      const operator = await store.findOperator(person);
      if (operator === undefined) throw noSession();
      const sessions = await store.listSessions(person, SESSIONS_LISTED_MAX);
      const open = sessions.filter((one) => isOpen(one, clock.now()));
      return open.map((session) => ({ session, role: operator.role }));
    },

    /** Ends a session of the operator behind `sessionId`. Errors: `not_found`. */
    async endSession(sessionId: string, endedId: string): Promise<void> {
      if (endedId !== sessionId) {
        const [own, other] = await Promise.all([findOpen(sessionId), findOpen(endedId)]);
        if (own.person !== other.person) throw noSession();
      }
      await store.endSession(endedId);
    },

    listOperators: (): Promise<readonly Operator[]> => store.listOperators(LISTED_MAX),

    /** Errors: `not_found`. */
    async removeOperator(personText: string): Promise<void> {
      if (await store.removeOperator(canonicalEmail(personText))) return;
      throw new AppError("not_found", "There is no such operator.");
    },
  };
}
