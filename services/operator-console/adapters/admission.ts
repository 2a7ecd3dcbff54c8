import { createHash } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import type { Context } from "koa";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import type { OperatorRole } from "../../shared/core/operator-roles.ts";
import type { TokenBucket } from "../../shared/flow/token-bucket.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { operatorRoleName } from "../../shared/rpc/operator-role.ts";
import { isFromConsole } from "../../shared/web/same-origin.ts";
import { createSecretCookie } from "../../shared/web/secret-cookie.ts";

/** The operator's cookie. Cookies do not know ports, so its name differs from that of the tenants' console. */
export const OPERATOR_COOKIE = createSecretCookie("__Host-sms_operator", "ops");

/** The dependencies of admission. */
export type Admission = {
  readonly tenants: Client<typeof TenantService>;
  /** The public origin of this console; empty when only the `Host` header names it. */
  readonly ownOrigin: string;
  /** Limits sign-ins of all browsers together, so that a flood of them does not reach the tenant service. */
  readonly signIns: TokenBucket;
};

/** A request of a signed-in operator. */
export type ConsoleCall = {
  readonly sessionId: string;
  readonly person: string;
  readonly role: OperatorRole;
  readonly address: string;
  readonly expiresAtMs: number;
};

/**
 * The signed-in operator of a request. The session is looked up each time: operators are few, and a revoked session
 * must end at once. Throws `origin_not_allowed` and `unauthenticated`.
 */
export async function admit(
  { tenants, ownOrigin }: Admission,
  context: Context,
): Promise<ConsoleCall> {
  checkOrigin(ownOrigin, context);
  const secret = OPERATOR_COOKIE.secretIn(context.req.headers);
  if (secret === undefined) throw new AppError("unauthenticated", "Sign in with a link.");
  const secretSha256 = createHash("sha256").update(secret).digest();
  const { session } = await rpcAnswer(
    tenants.authenticateOperator({ secretSha256 }, { timeoutMs: 5000 }),
  );
  if (session === undefined) {
    throw new AppError("unauthenticated", "The session has ended; sign in again.");
  }
  return {
    sessionId: session.id,
    person: session.person,
    role: operatorRoleName(session.role),
    address: addressOf(context),
    expiresAtMs: Number(session.expiresAtMs),
  };
}

/** Admits a request without a session: throws `origin_not_allowed`, and `rate_limited` in a flood. */
export function admitSignIn(admission: Admission, context: Context): void {
  checkOrigin(admission.ownOrigin, context);
  limitSignIns(admission);
}

/** Throws `rate_limited` in a flood of sign-ins. */
export function limitSignIns({ signIns }: Admission): void {
  if (!signIns.take(1)) throw new AppError("rate_limited", "Too many requests; wait a little.");
}

/** Throws `origin_not_allowed` for a request of another site's page. */
export function checkOrigin(ownOrigin: string, context: Context): void {
  if (isFromConsole(context.method, context.req.headers, ownOrigin)) return;
  throw new AppError("origin_not_allowed", "Only the console's own pages may do this.");
}

/** The address that the connection comes from. */
export function addressOf(context: Context): string {
  return context.req.socket.remoteAddress ?? "";
}
