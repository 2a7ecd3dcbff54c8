/** The roles of people in a tenant, from the most to the least that they may do (`docs/contract.md#console`). */
export const ROLES = ["owner", "developer", "sender", "finance", "viewer"] as const;

/** One of the roles. */
export type Role = (typeof ROLES)[number];
