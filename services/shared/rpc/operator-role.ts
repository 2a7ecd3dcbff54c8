import { OperatorRole as WireRole } from "../../../proto/gen/sms/v1/operator_pb.js";
import { invert } from "../core/invert.ts";
import { checkKnown } from "../core/limits.ts";
import type { OperatorRole } from "../core/operator-roles.ts";

/** Our roles of operators in the protocol. */
export const WIRE_OPERATOR_ROLE: Readonly<Record<OperatorRole, WireRole>> = {
  support: WireRole.SUPPORT,
  operator: WireRole.OPERATOR,
  finance: WireRole.FINANCE,
  admin: WireRole.ADMIN,
};

const NAMES = invert<WireRole, OperatorRole>(WIRE_OPERATOR_ROLE);

/** Reads a role; undefined when none is given. Throws `validation_error` for an unknown one. */
export function readOperatorRole(role: WireRole): OperatorRole | undefined {
  return role === WireRole.UNSPECIFIED ? undefined : checkKnown("role", NAMES.get(role));
}

/** The name of a role; a role of a newer release has the fewest rights. */
export function operatorRoleName(role: WireRole): OperatorRole {
  return NAMES.get(role) ?? "support";
}
