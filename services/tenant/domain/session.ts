import { AppError } from "../../shared/core/errors.ts";
import type { Role } from "../../shared/core/roles.ts";

/** A session, also an operator's, ends 12 hours after the sign-in, and before when it was idle for an hour. */
export const SESSION_MS = 12 * 3_600_000;
export const IDLE_MS = 3_600_000;
/** Shortest time between two writes of a session in use: `lastSeenAtMs` is exact to the minute. */
export const SEEN_EVERY_MS = 60_000;

/** When a session was opened and last used, and when it ends. */
export type SessionTimes = {
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  readonly expiresAtMs: number;
};

/** The browser that signs in. */
export type Browser = { readonly address: string; readonly userAgent: string };

/** A signed-in browser of a tenant's person, without its secret. */
export type Session = SessionTimes &
  Browser & {
    readonly id: string;
    readonly tenantId: string;
    /** Absent for a session of a portal link. */
    readonly personId?: string;
    /** The e-mail address of the person, or the display name of the portal link. */
    readonly name: string;
    /** The role at the sign-in. A person's present role is that of the membership. */
    readonly role: Role;
  };

const TEXT_MAX = 200;

/** The times of a session that begins now. */
export function newSessionTimes(nowMs: number): SessionTimes {
  return { createdAtMs: nowMs, lastSeenAtMs: nowMs, expiresAtMs: nowMs + SESSION_MS };
}

/** The address and user agent as they are stored. They are cut, because any client can send them. */
export function shortBrowser({ address, userAgent }: Browser): Browser {
  return { address: address.slice(0, TEXT_MAX), userAgent: userAgent.slice(0, TEXT_MAX) };
}

/** Whether a session is open: neither over its lifetime nor idle for too long. */
export function isOpen(session: SessionTimes, nowMs: number): boolean {
  return nowMs < session.expiresAtMs && nowMs - session.lastSeenAtMs < IDLE_MS;
}

/** Returns a session that is open; throws `not_found` for another one, and for none. */
export function checkOpen<S extends SessionTimes>(session: S | undefined, nowMs: number): S {
  if (session !== undefined && isOpen(session, nowMs)) return session;
  throw noSession();
}

/** The error for a session that does not exist, has ended or belongs to another person. */
export function noSession(): AppError {
  return new AppError("not_found", "There is no such session.");
}

/** Whether the session's last use must be stored again. */
export function isSeenLongAgo(session: SessionTimes, nowMs: number): boolean {
  return nowMs - session.lastSeenAtMs >= SEEN_EVERY_MS;
}
