import type { Context } from "koa";
import { AppError } from "../../services/shared/core/errors.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { OIDC_COOKIE, OIDC_COOKIE_MS } from "../auth/oidc-cookie.ts";
import type { RequestState } from "../http/request-state.ts";
import { setHeader } from "../http/set-header.ts";
import { admitWithoutSession, type ConsoleRoute, limitByNetwork } from "./console-request.ts";

const SIGN_IN = "/console/sign-in";

/** Refusals that the sign-in page has a text for. */
const SHOWN: ReadonlySet<string> = new Set([
  "email_not_verified",
  "not_found",
  "rate_limited",
  "service_unavailable",
]);

/** Begins a sign-in at the OpenID Connect provider: the page then opens the address in the response. */
export const beginOidc: ConsoleRoute = async (parts, context) => {
  await admitWithoutSession(parts, context);
  const { url, browserSecret } = await rpcAnswer(parts.tenants.beginOidcSignIn({}));
  setHeader(context, "Set-Cookie", OIDC_COOKIE.header(browserSecret, OIDC_COOKIE_MS));
  context.status = 201;
  context.body = { data: { object: "oidc_sign_in", url } };
};

/**
 * Where the provider sends the browser back to. It leads to the sign-in page with a one-time link, or a refusal's name,
 * and nowhere else: no part of the request's address is in the answer's.
 */
export const completeOidc: ConsoleRoute = async (parts, context) => {
  setHeader(context, "Set-Cookie", OIDC_COOKIE.removal);
  // A browser sends the address of the page to links on it; the provider's code is in this one.
  setHeader(context, "Referrer-Policy", "no-referrer");
  try {
    await limitByNetwork(parts, context);
    const { query } = context.state as RequestState;
    const browserSecret = OIDC_COOKIE.secretIn(context.req.headers);
    if (browserSecret === undefined) {
      throw new AppError("unauthenticated", "Another browser began this sign-in.");
    }
    const { token } = await rpcAnswer(parts.tenants.completeOidcSignIn({ browserSecret, query }));
    redirect(context, `${SIGN_IN}#${token}`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal_error") throw error;
    redirect(context, `${SIGN_IN}?refused=${SHOWN.has(error.code) ? error.code : "refused"}`);
  }
};

function redirect(context: Context, path: string): void {
  context.status = 303;
  setHeader(context, "Location", path);
  context.body = "";
}
