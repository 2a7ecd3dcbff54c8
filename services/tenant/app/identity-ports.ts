import type { Role } from "../../shared/core/roles.ts";
import type { SecondFactor, UsedCode } from "../domain/second-factor.ts";
import type { Session } from "../domain/session.ts";
import type { Attempts } from "../domain/sign-in-attempts.ts";
import type { SignInLink } from "../domain/sign-in-link.ts";

/** A person of a tenant. */
export type Member = {
  readonly id: string;
  readonly tenantId: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedAtMs: number;
  /** Absent until the first sign-in. */
  readonly joinedAtMs?: number;
  /** Present only in the list of members. */
  readonly hasSecondFactor?: boolean;
};

/** The storage of second factors. Turning a factor on or off is one transaction with its audit entry. */
export type SecondFactorStore = {
  find(personId: string): Promise<SecondFactor | undefined>;
  /** Stores a secret that is not confirmed yet; false when the person's factor is on. */
  begin(personId: string, secret: Uint8Array): Promise<boolean>;
  /** Turns the factor on; false when it is on, or `before` has another secret than the stored one. */
  enable(tenantId: string, before: SecondFactor, after: SecondFactor): Promise<boolean>;
  /** Turns the factor off; false when it is off already. */
  remove(tenantId: string, personId: string): Promise<boolean>;
  /** The ids of the people whose factor is on. */
  findEnabled(personIds: readonly string[]): Promise<ReadonlySet<string>>;
};

/** How a change of a tenant's people ended. */
export type MemberChange = { readonly member: Member } | "not_found" | "last_owner";

/** The storage of people and their roles. Each change and its audit entry are one transaction. */
export type PeopleStore = {
  /**
   * Adds a member, or returns the one that was invited before and has not joined, with the link that invites.
   * "member": the person has joined before. "too_many": the tenant has `max` people.
   */
  invite(
    invited: Member,
    link: { readonly hash: Buffer; readonly link: SignInLink },
    max: number,
  ): Promise<{ readonly member: Member } | "member" | "too_many">;
  /** Lists the members in the order of their e-mail addresses. */
  listMembers(tenantId: string): Promise<readonly Member[]>;
  changeRole(tenantId: string, personId: string, role: Role): Promise<MemberChange>;
  /** Also ends the person's sessions of the tenant; returns the hashes of their secrets. */
  removeMember(
    tenantId: string,
    personId: string,
  ): Promise<{ readonly hashes: readonly Buffer[] } | "not_found" | "last_owner">;
  /** The person of an address; undefined when it is in no tenant. */
  findPersonByEmail(email: string): Promise<string | undefined>;
  /** The person's memberships, in the order of their invitations. */
  membershipsOf(personId: string): Promise<readonly Member[]>;
  /** The memberships that exist, in any order. */
  findMembers(
    pairs: readonly { readonly tenantId: string; readonly personId: string }[],
  ): Promise<readonly Member[]>;
};

/** The storage of links, sessions and attempts. */
export type SessionStore = {
  insertLink(hash: Buffer, link: SignInLink): Promise<void>;
  findLink(hash: Buffer): Promise<SignInLink | undefined>;
  /**
   * Uses up the link and stores the session; false when another call has used it, or the person is no member. For a
   * person the membership then counts as joined; with `verifiesEmail` the tenant's e-mail address counts as verified.
   * With `used` the code is used up too; throws `validation_error` and keeps the link when another call has used it.
   */
  openSession(
    linkHash: Buffer,
    session: Session,
    secretHash: Buffer,
    options: { readonly verifiesEmail: boolean; readonly used?: UsedCode },
  ): Promise<boolean>;
  /**
   * Replaces the session of `before` by another one, and returns the hash of the ended secret. Undefined when `before`
   * had ended, or its person is no member of the tenant of `after`.
   */
  replaceSession(before: Session, after: Session, secretHash: Buffer): Promise<Buffer | undefined>;
  /** The sessions in the order of the hashes; undefined for an unknown one. */
  findSessions(hashes: readonly Uint8Array[]): Promise<readonly (Session | undefined)[]>;
  findSession(id: string): Promise<Session | undefined>;
  /** The person's sessions, newest first. */
  listSessions(personId: string, max: number): Promise<readonly Session[]>;
  /** Ends a session and returns the hash of its secret; undefined when there is no such session. */
  endSession(id: string): Promise<Buffer | undefined>;
  touchSessions(ids: readonly string[], nowMs: number): Promise<void>;
  findAttempts(key: string): Promise<Attempts | undefined>;
  /** Stores `after` unless another call has changed the attempts since `before`; returns whether it stored. */
  storeAttempts(key: string, before: Attempts | undefined, after: Attempts): Promise<boolean>;
  forgetAttempts(key: string): Promise<void>;
};

/** The values that the provider must send back to complete a sign-in. */
export type OidcChecks = {
  readonly state: string;
  readonly nonce: string;
  /** The PKCE verifier (RFC 7636). */
  readonly verifier: string;
};

/** The identity that the provider confirmed. */
export type OidcIdentity = { readonly email: string; readonly isEmailVerified: boolean };

/** An OpenID Connect provider. Both calls throw `service_unavailable` when it does not answer. */
export type OidcProvider = {
  /** The address for the browser, and the values that must come back. */
  begin(): Promise<{ readonly url: string; readonly checks: OidcChecks }>;
  /** Exchanges the query of the browser's return; throws `unauthenticated` unless every check passes. */
  complete(query: string, checks: OidcChecks): Promise<OidcIdentity>;
};

/** The storage of sign-ins that are at the provider. */
export type OidcSignInStore = {
  insert(browserHash: Buffer, checks: OidcChecks, expiresAtMs: number): Promise<void>;
  /** Removes and returns the sign-in, so that a browser can complete it only once. */
  take(
    browserHash: Buffer,
  ): Promise<{ readonly checks: OidcChecks; readonly expiresAtMs: number } | undefined>;
};

/** A mail to one person. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/** Sends mails in the background. Throws `service_unavailable` without a mail server, or when too many mails wait. */
export type Mailer = { send(mail: Mail): void };

/** Removes ended sessions from the caches of gateways. */
export type SessionInvalidation = { sessionEnded(hash: Uint8Array): void };
