/** Permissions of API keys and console sessions (docs/contract.md#authentication). */
export const SCOPES = [
  "messages:send",
  "messages:read",
  "balance:read",
  "sender_ids:read",
  "webhooks:manage",
  "campaigns:read",
  "campaigns:manage",
  "inbound:read",
  "suppressions:manage",
  "sender_ids:manage",
  "keys:manage",
  "wallet:read",
  "usage:read",
  "account:manage",
  "audit:read",
] as const;

/** One of the scopes. */
export type Scope = (typeof SCOPES)[number];
