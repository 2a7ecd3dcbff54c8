import { Role as WireRole } from "../../../proto/gen/sms/v1/identity_pb.js";
import { invert } from "../core/invert.ts";
import { checkKnown } from "../core/limits.ts";
import type { Role } from "../core/roles.ts";

/** Our roles in the protocol. */
export const WIRE_ROLE: Readonly<Record<Role, WireRole>> = {
  owner: WireRole.OWNER,
  developer: WireRole.DEVELOPER,
  sender: WireRole.SENDER,
  finance: WireRole.FINANCE,
  viewer: WireRole.VIEWER,
};

const NAMES = invert<WireRole, Role>(WIRE_ROLE);

/** Reads a role; throws `validation_error` for an unknown one. */
export function readRole(role: WireRole): Role {
  return checkKnown("role", NAMES.get(role));
}

/** The name of a role; a role of a newer release has the fewest rights. */
export function roleName(role: WireRole): Role {
  return NAMES.get(role) ?? "viewer";
}
