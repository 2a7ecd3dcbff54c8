import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { Role } from "../../shared/core/roles.ts";
import { hashSecret } from "../domain/api-key.ts";
import { canonicalEmail } from "../domain/email.ts";
import { signInMail } from "../domain/mails.ts";
import { newSecretText } from "../domain/secrets.ts";
import {
  type Browser,
  checkOpen,
  isOpen,
  isSeenLongAgo,
  newSessionTimes,
  noSession,
  type Session,
  shortBrowser,
} from "../domain/session.ts";
import { askedLifetime, LINK_MS, refusedLink, type SignInLink } from "../domain/sign-in-link.ts";
import type { Tenant } from "../domain/tenant.ts";
import type {
  Mailer,
  Member,
  PeopleStore,
  SessionInvalidation,
  SessionStore,
} from "./identity-ports.ts";
import { limitAttempts } from "./limit-attempts.ts";
import type { SecondFactorService } from "./second-factors.ts";
import type { TenantService } from "./tenants.ts";

/** An open session with its present role, and its tenant. */
export type SignedIn = { readonly session: Session; readonly tenant: Tenant };

/** The use cases of sign-in and sessions. */
export type SessionService = ReturnType<typeof createSessionService>;

const TOO_MANY_LINKS = "Too many sign-in links were asked for; wait a little.";
const SESSIONS_LISTED_MAX = 100;
const NAME_MAX = 100;

export function createSessionService(parts: {
  readonly store: SessionStore;
  readonly people: PeopleStore;
  readonly tenants: Pick<TenantService, "getTenant" | "findTenants">;
  readonly factors: Pick<SecondFactorService, "checkSignIn">;
  readonly mailer: Mailer;
  readonly invalidation: SessionInvalidation;
  readonly linkUrl: (token: string) => string;
  readonly clock: Clock;
}) {
  const { store, people, tenants, factors, mailer, invalidation, linkUrl, clock } = parts;

  /** The open sessions of secrets, in order, each with the present role of its person. */
  async function authenticate(hashes: readonly Uint8Array[]): Promise<(SignedIn | undefined)[]> {
    const nowMs = clock.now();
    const found = (await store.findSessions(hashes)).map((one) =>
      one !== undefined && isOpen(one, nowMs) ? one : undefined,
    );
    const open = found.filter((one) => one !== undefined);
    if (open.length === 0) return found.map(() => undefined);
    const members = await people.findMembers(
      open.flatMap(({ tenantId, personId }) =>
        personId === undefined ? [] : [{ tenantId, personId }],
      ),
    );
    const roles = new Map(members.map((one) => [`${one.tenantId} ${one.id}`, one.role]));
    const ids = [...new Set(open.map(({ tenantId }) => tenantId))];
    const byId = new Map((await tenants.findTenants(ids)).map((one) => [one.id, one]));
    const seen = open.filter((one) => isSeenLongAgo(one, nowMs)).map(({ id }) => id);
    if (seen.length > 0) await store.touchSessions(seen, nowMs);
    return found.map((session) => {
      const tenant = byId.get(session?.tenantId ?? "");
      if (session === undefined || tenant === undefined) return undefined;
      if (session.personId === undefined) return { session, tenant };
      const role = roles.get(`${session.tenantId} ${session.personId}`);
      return role === undefined ? undefined : { session: { ...session, role }, tenant };
    });
  }

  /** The membership that a link opens: that of its tenant, or the person's first one. */
  async function memberOf(link: SignInLink): Promise<Member | undefined> {
    if (link.personId === undefined) return undefined;
    const memberships = await people.membershipsOf(link.personId);
    return link.tenantId === undefined
      ? memberships[0]
      : memberships.find(({ tenantId }) => tenantId === link.tenantId);
  }

  async function findOpen(sessionId: string): Promise<Session> {
    return checkOpen(await store.findSession(sessionId), clock.now());
  }

  return {
    authenticate,

    /**
     * Sends a sign-in link. The answer is the same for an address without an account, and the mail leaves after it:
     * a stranger does not learn who has an account. Errors: `validation_error`, `rate_limited`,
     * `service_unavailable`.
     */
    async requestSignIn(emailText: string, address: string): Promise<void> {
      const email = canonicalEmail(emailText);
      const key = (kind: string, text: string) => `${kind}:${hashSecret(text).toString("hex")}`;
      const keys = [key("address", address), key("email", email)];
      await limitAttempts({ store, clock }, keys, TOO_MANY_LINKS);
      const personId = await people.findPersonByEmail(email);
      if (personId === undefined) return;
      const token = newSecretText("sgn");
      const expiresAtMs = clock.now() + LINK_MS.sign_in;
      await store.insertLink(hashSecret(token), { kind: "sign_in", expiresAtMs, personId });
      // When the process dies before the mail has left, the person asks again.
      mailer.send(signInMail(email, linkUrl(token)));
    },

    /** Errors: `not_found`, `validation_error`. */
    async createPortalLink(input: {
      readonly tenantId: string;
      readonly role: Role;
      readonly displayName: string;
      readonly lifetimeMs: number;
    }): Promise<{ url: string; expiresAtMs: number }> {
      const name = input.displayName.trim() || "portal";
      if (name.length > NAME_MAX) {
        throw invalidField("display_name", "out_of_range", `has more than ${NAME_MAX} characters`);
      }
      const lifetimeMs = askedLifetime(input.lifetimeMs);
      const tenant = await tenants.getTenant(input.tenantId);
      const token = newSecretText("ptl");
      const expiresAtMs = clock.now() + lifetimeMs;
      await store.insertLink(hashSecret(token), {
        kind: "portal",
        expiresAtMs,
        tenantId: tenant.id,
        role: input.role,
        name,
      });
      return { url: linkUrl(token), expiresAtMs };
    },

    /**
     * Exchanges a link's token for a session, once. When the answer is lost, so is the session: the link is used up,
     * and its owner asks for another. "code_needed": the person has a second factor, and the link is not used up.
     * Errors: `not_found`, `validation_error` for a wrong code, `rate_limited`.
     */
    async openSession(
      token: string,
      browser: Browser,
      code: string,
    ): Promise<{ session: Session; secret: string } | "code_needed"> {
      const linkHash = hashSecret(token);
      const link = await store.findLink(linkHash);
      const nowMs = clock.now();
      if (link === undefined || nowMs >= link.expiresAtMs) throw refusedLink();
      const member = await memberOf(link);
      const tenantId = member?.tenantId ?? link.tenantId;
      const role = member?.role ?? link.role;
      const isOfNobody = link.personId !== undefined && member === undefined;
      if (isOfNobody || tenantId === undefined || role === undefined) throw refusedLink();
      const used = member && (await factors.checkSignIn(member.id, code));
      if (used === "needed") return "code_needed";
      const session: Session = {
        id: newId("session"),
        tenantId,
        ...(member === undefined ? {} : { personId: member.id }),
        name: member?.email ?? link.name ?? "portal",
        role,
        ...newSessionTimes(nowMs),
        ...shortBrowser(browser),
      };
      const secret = newSecretText("ses");
      // The mail with this link has arrived, so the address is the person's own.
      const verifiesEmail = member?.role === "owner";
      const options = { verifiesEmail, ...(used === undefined ? {} : { used }) };
      const isOpened = await store.openSession(linkHash, session, hashSecret(secret), options);
      if (!isOpened) throw refusedLink();
      return { session, secret };
    },

    /** Moves to another tenant of the person, under a new secret. Errors: `not_found`. */
    async switchTenant(
      sessionId: string,
      tenantId: string,
    ): Promise<{ session: Session; secret: string }> {
      const before = await findOpen(sessionId);
      const memberships =
        before.personId === undefined ? [] : await people.membershipsOf(before.personId);
      const member = memberships.find((one) => one.tenantId === tenantId);
      if (member === undefined) throw new AppError("not_found", "There is no such account.");
      // The lifetime stays that of the sign-in.
      const after: Session = { ...before, id: newId("session"), tenantId, role: member.role };
      const secret = newSecretText("ses");
      const ended = await store.replaceSession(before, after, hashSecret(secret));
      if (ended === undefined) throw noSession();
      invalidation.sessionEnded(ended);
      return { session: after, secret };
    },

    /** The tenants of the session's person, with their names. Errors: `not_found`. */
    async listMemberships(sessionId: string) {
      const { personId, tenantId, role } = await findOpen(sessionId);
      const own: readonly Pick<Member, "tenantId" | "role">[] =
        personId === undefined ? [{ tenantId, role }] : await people.membershipsOf(personId);
      const found = await tenants.findTenants(own.map((one) => one.tenantId));
      const names = new Map(found.map((one) => [one.id, one.name]));
      return own.map((one) => ({ ...one, tenantName: names.get(one.tenantId) ?? "" }));
    },

    /** Errors: `not_found`. */
    async listSessions(sessionId: string): Promise<readonly Session[]> {
      const own = await findOpen(sessionId);
      if (own.personId === undefined) return [own];
      const sessions = await store.listSessions(own.personId, SESSIONS_LISTED_MAX);
      return sessions.filter((one) => isOpen(one, clock.now()));
    },

    /** Ends a session of the person behind `sessionId`. Errors: `not_found`. */
    async endSession(sessionId: string, endedId: string): Promise<void> {
      if (endedId !== sessionId) {
        const [own, other] = await Promise.all([findOpen(sessionId), findOpen(endedId)]);
        if (own.personId === undefined || own.personId !== other.personId) throw noSession();
      }
      const hash = await store.endSession(endedId);
      if (hash !== undefined) invalidation.sessionEnded(hash);
    },
  };
}
