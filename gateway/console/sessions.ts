import type { Session } from "../../proto/gen/sms/v1/identity_pb.js";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { roleName } from "../../services/shared/rpc/role.ts";
import type { Caller, ConsoleSession } from "../auth/caller.ts";
import { SESSION_COOKIE } from "../auth/session-cookie.ts";
import type { RequestState } from "../http/request-state.ts";
import { setHeader } from "../http/set-header.ts";
import { admitPerson, asPerson, type ConsoleRoute } from "./console-request.ts";

export const showSession: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { memberships } = await rpcAnswer(parts.tenants.listMemberships({ sessionId: session.id }));
  context.body = {
    data: {
      ...renderOwn(caller, session),
      memberships: memberships.map((one) => ({
        tenant_id: one.tenantId,
        name: one.tenantName,
        role: roleName(one.role),
      })),
    },
  };
};

export const signOut: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.endSession({ sessionId: session.id })),
  );
  setHeader(context, "Set-Cookie", SESSION_COOKIE.removal);
  context.status = 204;
};

export const listSessions: ConsoleRoute = async (parts, context) => {
  const { session } = await admitPerson(parts, context);
  const { sessions } = await rpcAnswer(parts.tenants.listSessions({ sessionId: session.id }));
  context.body = { data: sessions.map((one) => renderSession(one, session.id)) };
};

export const endSession: ConsoleRoute = async (parts, context) => {
  const { caller, session } = await admitPerson(parts, context);
  const { path } = context.state as RequestState;
  const endedSessionId = path.slice(path.lastIndexOf("/") + 1);
  await asPerson(context, caller, () =>
    rpcAnswer(parts.tenants.endSession({ sessionId: session.id, endedSessionId })),
  );
  context.status = 204;
};

function renderOwn(caller: Caller, session: ConsoleSession) {
  return {
    object: "session",
    id: session.id,
    name: session.name,
    role: session.role,
    scopes: [...caller.scopes],
    tenant: {
      id: caller.tenantId,
      name: session.tenantName,
      currency: caller.currency,
      suspended: caller.isSuspended,
      email_verified: caller.isEmailVerified,
      bulk_max: caller.bulkMax,
    },
    expires_at: new Date(session.expiresAtMs).toISOString(),
  };
}

/** A session as the person sees it. */
export function renderSession(session: Session, ownId: string) {
  return {
    object: "session",
    id: session.id,
    name: session.name,
    role: roleName(session.role),
    tenant_id: session.tenantId,
    current: session.id === ownId,
    created_at: new Date(Number(session.createdAtMs)).toISOString(),
    last_seen_at: new Date(Number(session.lastSeenAtMs)).toISOString(),
    expires_at: new Date(Number(session.expiresAtMs)).toISOString(),
    address: session.address,
    user_agent: session.userAgent,
  };
}
