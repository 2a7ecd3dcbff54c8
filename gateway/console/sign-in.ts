import type { Context } from "koa";
import type { OpenSessionResponse } from "../../proto/gen/sms/v1/identity_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { networkOf } from "../auth/caller-address.ts";
import { SESSION_COOKIE } from "../auth/session-cookie.ts";
import { setHeader } from "../http/set-header.ts";
import {
  admitWithoutSession,
  type ConsoleRoute,
  compileBody,
  readJson,
} from "./console-request.ts";
import { renderSession } from "./sessions.ts";

const validateSignIn = compileBody({ email: { type: "string", minLength: 1, maxLength: 254 } });
const validateToken = compileBody(
  { token: { type: "string", minLength: 1, maxLength: 128 } },
  { code: { type: "string", maxLength: 64 } },
);

/** How people may sign in. */
export const listSignInMethods: ConsoleRoute = async (parts, context) => {
  await admitWithoutSession(parts, context);
  const { email, oidcName } = await rpcAnswer(parts.tenants.getSignInMethods({}));
  context.body = {
    data: { object: "sign_in_methods", email, oidc: oidcName === "" ? null : oidcName },
  };
};

/** Asks for a link by e-mail. */
export const signIn: ConsoleRoute = async (parts, context) => {
  const address = await admitWithoutSession(parts, context);
  const { email } = await readJson(parts, context, validateSignIn);
  // The tenant service counts attempts by network.
  const network = networkOf(address);
  await rpcAnswer(parts.tenants.requestSignIn({ email: String(email), address: network }));
  // The same answer for an address without an account.
  context.status = 202;
  context.body = { data: { object: "sign_in_request" } };
};

/** Exchanges a link's token for a session; with a second factor also a code. */
export const openSession: ConsoleRoute = async (parts, context) => {
  const address = await admitWithoutSession(parts, context);
  const { token, code = "" } = await readJson(parts, context, validateToken);
  const userAgent = String(context.req.headers["user-agent"] ?? "");
  // A session that the browser had before is not continued: the new one has a secret of its own, so an attacker
  // cannot make a person use a session whose secret he knows (session fixation).
  const opened = await rpcAnswer(
    parts.tenants.openSession({ token: String(token), address, userAgent, code: String(code) }),
  );
  if (opened.codeNeeded) {
    // The link still works: the person types a code, and the page sends both.
    context.body = { data: { object: "second_factor_request" } };
    return;
  }
  respondWithSession(context, opened);
};

/** Sets the cookie of a new session. */
export function respondWithSession(
  context: Context,
  { session, secret }: OpenSessionResponse,
): void {
  if (session === undefined) throw new AppError("internal_error", "A session is missing.");
  setHeader(
    context,
    "Set-Cookie",
    SESSION_COOKIE.header(secret, Number(session.expiresAtMs - session.createdAtMs)),
  );
  context.status = 201;
  context.body = { data: renderSession(session, session.id) };
}
