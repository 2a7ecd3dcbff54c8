/** The roles of operators (`docs/operators.md#roles`). */
export const OPERATOR_ROLES = ["support", "operator", "finance", "admin"] as const;

/** One of the roles. */
export type OperatorRole = (typeof OPERATOR_ROLES)[number];
