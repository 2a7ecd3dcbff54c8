import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import type { Browser, SessionTimes } from "./session.ts";

/** A person who looks after the installation. Operators belong to no tenant. */
export type Operator = {
  /** The e-mail address. */
  readonly person: string;
  readonly role: OperatorRole;
  readonly createdAtMs: number;
  /** Absent until the first sign-in. */
  readonly lastSignInAtMs?: number;
};

/** A browser in which an operator is signed in, without its secret. The role is that of the operator. */
export type OperatorSession = SessionTimes &
  Browser & { readonly id: string; readonly person: string };

/** The role of an operator for whom a link is made: the asked one, else the present one, else the least. */
export function roleAfter(
  asked: OperatorRole | undefined,
  present: OperatorRole | undefined,
): OperatorRole {
  return asked ?? present ?? "support";
}
