import type { Role } from "../../shared/core/roles.ts";

const VIEWER = [
  "messages:read",
  "campaigns:read",
  "inbound:read",
  "sender_ids:read",
  "balance:read",
  "usage:read",
] as const;

const DEVELOPER = [
  ...VIEWER,
  "messages:send",
  "webhooks:manage",
  "campaigns:manage",
  "suppressions:manage",
  "sender_ids:manage",
  "keys:manage",
  "audit:read",
] as const;

/**
 * The scopes of a session by its role. `people:manage` is a scope of sessions alone: no API key can have it, so a
 * stolen key cannot let people in.
 */
const SCOPES_OF: Readonly<Record<Role, readonly string[]>> = {
  owner: [...DEVELOPER, "wallet:read", "account:manage", "people:manage"],
  developer: DEVELOPER,
  sender: [...VIEWER, "messages:send", "campaigns:manage", "suppressions:manage"],
  finance: ["balance:read", "wallet:read", "usage:read", "messages:read"],
  viewer: VIEWER,
};

/** The scopes of a session with that role. */
export function scopesOf(role: Role): readonly string[] {
  return SCOPES_OF[role];
}
