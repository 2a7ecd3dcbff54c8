import type { Context } from "koa";
import type { OperatorSession } from "../../../proto/gen/sms/v1/operator_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { operatorRoleName } from "../../shared/rpc/operator-role.ts";
import { mayCall, permittedMethods } from "../domain/role-table.ts";
import { type Admission, addressOf, admitSignIn, OPERATOR_COOKIE } from "./admission.ts";
import { readJson } from "./read-json.ts";
import type { Routes } from "./routes.ts";

/** Exchanges a link's token for a session, and sets its cookie. */
export async function openSession(admission: Admission, context: Context): Promise<void> {
  admitSignIn(admission, context);
  const { tenants } = admission;
  const { token } = (await readJson(context)) as { token?: unknown };
  const userAgent = String(context.req.headers["user-agent"] ?? "");
  // A session that the browser had before is not continued: the new one has a secret of its own (session fixation).
  const { session, secret } = await rpcAnswer(
    tenants.openOperatorSession({ token: String(token), address: addressOf(context), userAgent }),
  );
  if (session === undefined) throw new AppError("internal_error", "A session is missing.");
  const lifetimeMs = Number(session.expiresAtMs - session.createdAtMs);
  context.set("Set-Cookie", OPERATOR_COOKIE.header(secret, lifetimeMs));
  context.status = 201;
  context.body = { data: render(session, session.id) };
}

/** The routes for the operator's own sessions. */
export function sessionRoutes({ tenants }: Admission): Routes["fixed"] {
  return {
    "GET session": async ({ sessionId: id, person, role, expiresAtMs }) => ({
      data: {
        ...{ object: "session", id, name: person, role },
        methods: permittedMethods().filter((method) => mayCall(role, method)),
        expires_at: new Date(expiresAtMs).toISOString(),
      },
    }),
    "DELETE session": async ({ sessionId }, context) => {
      await rpcAnswer(tenants.endOperatorSession({ sessionId }));
      context.set("Set-Cookie", OPERATOR_COOKIE.removal);
      return undefined;
    },
    "GET sessions": async ({ sessionId }) => {
      const { sessions } = await rpcAnswer(tenants.listOperatorSessions({ sessionId }));
      return { data: sessions.map((one) => render(one, sessionId)) };
    },
    "DELETE sessions/:id": async ({ sessionId }, context) => {
      const endedSessionId = context.path.slice(context.path.lastIndexOf("/") + 1);
      await rpcAnswer(tenants.endOperatorSession({ sessionId, endedSessionId }));
      return undefined;
    },
  };
}

function render(session: OperatorSession, ownId: string) {
  const instant = (ms: bigint) => new Date(Number(ms)).toISOString();
  return {
    object: "session",
    id: session.id,
    name: session.person,
    role: operatorRoleName(session.role),
    current: session.id === ownId,
    created_at: instant(session.createdAtMs),
    last_seen_at: instant(session.lastSeenAtMs),
    expires_at: instant(session.expiresAtMs),
    address: session.address,
    user_agent: session.userAgent,
  };
}
