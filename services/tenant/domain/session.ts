import type { Role } from "../../shared/core/roles.ts";

/** A session ends 12 hours after the sign-in, and before when it was idle for an hour. */
export const SESSION_MS = 12 * 3_600_000;
export const IDLE_MS = 3_600_000;
/** A session in use is written once in this time: `lastSeenAtMs` is exact to the minute. */
export const SEEN_EVERY_MS = 60_000;

/** A signed-in browser, without its secret. */
export type Session = {
  readonly id: string;
  readonly tenantId: string;
  /** Absent for a session of a portal link. */
  readonly personId?: string;
  /** The e-mail address of the person, or the display name of the portal link. */
  readonly name: string;
  /** The role at the sign-in. A person's present role is that of the membership. */
  readonly role: Role;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  readonly expiresAtMs: number;
  readonly address: string;
  readonly userAgent: string;
};

/** Whether a session still is one. */
export function isOpen(session: Session, nowMs: number): boolean {
  return nowMs < session.expiresAtMs && nowMs - session.lastSeenAtMs < IDLE_MS;
}

/** Whether its use is to be written down. */
export function isSeenLongAgo(session: Session, nowMs: number): boolean {
  return nowMs - session.lastSeenAtMs >= SEEN_EVERY_MS;
}
