/** The routes of a browser without a session: links, and sign-in through an OpenID Connect provider (ADR 171). */
import type { Context } from "koa";
import { AppError } from "../../shared/core/errors.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { createSecretCookie } from "../../shared/web/secret-cookie.ts";
import { type Admission, admitStranger, limitStranger } from "./admission.ts";
import { openSession } from "./sessions.ts";

type StrangerRoute = (admission: Admission, context: Context) => Promise<void>;

/** The cookie of a browser that is at the provider. `Lax`: the provider's page sends the browser back. */
const OIDC_COOKIE = createSecretCookie("__Host-sms_operator_oidc", "oid", "Lax");
/** As long as tenant keeps a sign-in that is at the provider. */
const OIDC_COOKIE_MS = 600_000;

const SIGN_IN = "/operators/sign-in";

/** Refusals that the sign-in page has a text for. */
const SHOWN: ReadonlySet<string> = new Set([
  "email_not_verified",
  "not_found",
  "rate_limited",
  "service_unavailable",
]);

/** By method and path below `/operators/api/`. */
export const signInRoutes: Readonly<Record<string, StrangerRoute>> = {
  "POST session": openSession,
  "GET sign-in": async (admission, context) => {
    admitStranger(admission, context);
    const { oidcName } = await rpcAnswer(admission.tenants.getOperatorSignInMethods({}));
    const oidc = oidcName === "" ? null : oidcName;
    context.body = { data: { object: "sign_in_methods", oidc } };
  },
  "POST oidc": async (admission, context) => {
    admitStranger(admission, context);
    const begun = await rpcAnswer(admission.tenants.beginOperatorOidcSignIn({}));
    context.set("Set-Cookie", OIDC_COOKIE.header(begun.browserSecret, OIDC_COOKIE_MS));
    context.status = 201;
    context.body = { data: { object: "oidc_sign_in", url: begun.url } };
  },
  "GET oidc/callback": completeOidc,
};

/**
 * Where the provider sends the browser back to. It leads to the sign-in page with a one-time link, or a refusal's name,
 * and nowhere else: no part of the request's address is in the answer's.
 */
async function completeOidc(admission: Admission, context: Context): Promise<void> {
  context.set("Set-Cookie", OIDC_COOKIE.removal);
  // A browser sends the address of the page to links on it; the provider's code is in this one.
  context.set("Referrer-Policy", "no-referrer");
  try {
    limitStranger(admission);
    const browserSecret = OIDC_COOKIE.secretIn(context.req.headers);
    if (browserSecret === undefined) {
      throw new AppError("unauthenticated", "Another browser began this sign-in.");
    }
    const query = context.querystring;
    const { token } = await rpcAnswer(
      admission.tenants.completeOperatorOidcSignIn({ browserSecret, query }),
    );
    lead(context, `${SIGN_IN}#${token}`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal_error") throw error;
    lead(context, `${SIGN_IN}?refused=${SHOWN.has(error.code) ? error.code : "refused"}`);
  }
}

function lead(context: Context, path: string): void {
  context.status = 303;
  context.set("Location", path);
  context.body = "";
}
