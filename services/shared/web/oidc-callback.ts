/** The end of a sign-in through an OpenID Connect provider, in the browser. */
import type { Context } from "koa";
import { AppError } from "../core/errors.ts";
import type { SecretCookie } from "./secret-cookie.ts";

/** Lifetime of the browser's cookie: as long as the tenant service keeps an unfinished sign-in. */
export const OIDC_COOKIE_MS = 600_000;

/** Refusals that the sign-in pages have a text for. */
const SHOWN: ReadonlySet<string> = new Set([
  "email_not_verified",
  "not_found",
  "rate_limited",
  "service_unavailable",
]);

/**
 * Answers the request with which a browser returns from the provider. It redirects to the sign-in page only, with a
 * one-time link or the name of a refusal, and copies no part of the request's address.
 */
export async function answerOidcCallback(
  context: Context,
  parts: {
    readonly cookie: SecretCookie;
    /** The path of the sign-in page. */
    readonly signIn: string;
    /** Throws `rate_limited` when there are too many sign-ins. */
    readonly admit: () => Promise<void> | void;
    /** Returns the token of the one-time link. */
    readonly complete: (browserSecret: string) => Promise<string>;
  },
): Promise<void> {
  const { cookie, signIn } = parts;
  context.set("Set-Cookie", cookie.removal);
  // A browser sends the address of the page to links on it; the provider's code is in this one.
  context.set("Referrer-Policy", "no-referrer");
  try {
    await parts.admit();
    const browserSecret = cookie.secretIn(context.req.headers);
    if (browserSecret === undefined) {
      throw new AppError("unauthenticated", "Another browser began this sign-in.");
    }
    redirect(context, `${signIn}#${await parts.complete(browserSecret)}`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal_error") throw error;
    redirect(context, `${signIn}?refused=${SHOWN.has(error.code) ? error.code : "refused"}`);
  }
}

function redirect(context: Context, path: string): void {
  context.status = 303;
  context.set("Location", path);
  context.body = "";
}
