import type { Role } from "../../shared/core/roles.ts";
import type { Attempts } from "../domain/attempts.ts";
import type { Session } from "../domain/session.ts";
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
  listMembers(tenantId: string): Promise<readonly Member[]>;
  changeRole(tenantId: string, personId: string, role: Role): Promise<MemberChange>;
  /** Also ends the person's sessions of the tenant; returns the hashes of their secrets. */
  removeMember(
    tenantId: string,
    personId: string,
  ): Promise<{ readonly hashes: readonly Buffer[] } | "not_found" | "last_owner">;
  /** The person of an address; undefined when it is in no tenant. */
  findPersonByEmail(email: string): Promise<string | undefined>;
  /** In the order in which the person was invited. */
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
   * Uses up the link and stores the session, both or neither; false when another call has used it. With a person the
   * membership counts as joined, and as `verifiesEmail` the tenant's e-mail address as verified.
   */
  openSession(
    linkHash: Buffer,
    session: Session,
    secretHash: Buffer,
    options: { readonly verifiesEmail: boolean },
  ): Promise<boolean>;
  /** Replaces the session of `before` by another one; false when it had ended. */
  replaceSession(before: Session, after: Session, secretHash: Buffer): Promise<Buffer | undefined>;
  /** In the order of the hashes. */
  findSessions(hashes: readonly Uint8Array[]): Promise<readonly (Session | undefined)[]>;
  findSession(id: string): Promise<Session | undefined>;
  /** Newest first. */
  listSessions(personId: string, max: number): Promise<readonly Session[]>;
  /** Returns the hash of the secret; undefined when there is no such session. */
  endSession(id: string): Promise<Buffer | undefined>;
  touchSessions(ids: readonly string[], nowMs: number): Promise<void>;
  findAttempts(key: string): Promise<Attempts | undefined>;
  /** Stores unless another call has counted since `before`; returns whether it did. */
  storeAttempts(key: string, before: Attempts | undefined, after: Attempts): Promise<boolean>;
};

/** A mail to one person. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/** Sends mails in the background. Throws `service_unavailable` when there is no mail server or too much waits. */
export type Mailer = { send(mail: Mail): void };

/** Removes ended sessions from the caches of gateways. */
export type SessionInvalidation = { sessionEnded(hash: Uint8Array): void };
