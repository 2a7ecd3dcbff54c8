import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { answerOidcCallback, OIDC_COOKIE_MS } from "../../services/shared/web/oidc-callback.ts";
import { OIDC_COOKIE } from "../auth/oidc-cookie.ts";
import type { RequestState } from "../http/request-state.ts";
import { setHeader } from "../http/set-header.ts";
import { admitWithoutSession, type ConsoleRoute, limitByNetwork } from "./console-request.ts";

/** Begins a sign-in at the OpenID Connect provider: the page then opens the address in the response. */
export const beginOidc: ConsoleRoute = async (parts, context) => {
  await admitWithoutSession(parts, context);
  const { url, browserSecret } = await rpcAnswer(parts.tenants.beginOidcSignIn({}));
  setHeader(context, "Set-Cookie", OIDC_COOKIE.header(browserSecret, OIDC_COOKIE_MS));
  context.status = 201;
  context.body = { data: { object: "oidc_sign_in", url } };
};

/** Completes the sign-in with which the provider sends the browser back. */
export const completeOidc: ConsoleRoute = (parts, context) =>
  answerOidcCallback(context, {
    cookie: OIDC_COOKIE,
    signIn: "/console/sign-in",
    async admit() {
      await limitByNetwork(parts, context);
    },
    async complete(browserSecret) {
      const { query } = context.state as RequestState;
      const { token } = await rpcAnswer(parts.tenants.completeOidcSignIn({ browserSecret, query }));
      return token;
    },
  });
