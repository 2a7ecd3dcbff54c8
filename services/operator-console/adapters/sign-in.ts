/** The routes of a browser without a session: links, and sign-in through an OpenID Connect provider (ADR 171). */
import type { Context } from "koa";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { answerOidcCallback, OIDC_COOKIE_MS } from "../../shared/web/oidc-callback.ts";
import { createSecretCookie } from "../../shared/web/secret-cookie.ts";
import { type Admission, admitSignIn, limitSignIns } from "./admission.ts";
import { openSession } from "./sessions.ts";

type SignInRoute = (admission: Admission, context: Context) => Promise<void>;

/** The cookie of a browser that is at the provider. `Lax`: the provider's page sends the browser back. */
const OIDC_COOKIE = createSecretCookie("__Host-sms_operator_oidc", "oid", "Lax");

/** The routes by method and path below `/operators/api/`. */
export const signInRoutes: Readonly<Record<string, SignInRoute>> = {
  "POST session": openSession,
  "GET sign-in": async (admission, context) => {
    admitSignIn(admission, context);
    const { oidcName } = await rpcAnswer(admission.tenants.getOperatorSignInMethods({}));
    const oidc = oidcName === "" ? null : oidcName;
    context.body = { data: { object: "sign_in_methods", oidc } };
  },
  "POST oidc": async (admission, context) => {
    admitSignIn(admission, context);
    const begun = await rpcAnswer(admission.tenants.beginOperatorOidcSignIn({}));
    context.set("Set-Cookie", OIDC_COOKIE.header(begun.browserSecret, OIDC_COOKIE_MS));
    context.status = 201;
    context.body = { data: { object: "oidc_sign_in", url: begun.url } };
  },
  "GET oidc/callback": completeOidc,
};

/** Completes the sign-in with which the provider sends the browser back. */
function completeOidc(admission: Admission, context: Context): Promise<void> {
  return answerOidcCallback(context, {
    cookie: OIDC_COOKIE,
    signIn: "/operators/sign-in",
    admit: () => limitSignIns(admission),
    async complete(browserSecret) {
      const query = context.querystring;
      const { tenants } = admission;
      const { token } = await rpcAnswer(
        tenants.completeOperatorOidcSignIn({ browserSecret, query }),
      );
      return token;
    },
  });
}
