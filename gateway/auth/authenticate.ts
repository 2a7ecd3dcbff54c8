import type { IncomingHttpHeaders } from "node:http";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { isFromConsole } from "../../services/shared/web/same-origin.ts";
import type { Caller } from "./caller.ts";
import { type CallerCache, isCaller } from "./caller-cache.ts";
import { refusedKey } from "./refused-key.ts";
import { SESSION_COOKIE } from "./session-cookie.ts";

/** The headers and address that identify a caller. `authorization` is undefined also when it was sent twice. */
export type Credentials = {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly authorization: string | undefined;
};

/** Resolves a request to its caller; throws `unauthenticated`, or `origin_not_allowed` for a session. */
export type Authenticator = { authenticate(credentials: Credentials): Promise<Caller> };

const BEARER = /^Bearer +([A-Za-z0-9_-]{20,128})$/i;

/**
 * A request is authenticated by an API key, or else by the cookie of a console session. With an `Authorization` header
 * the cookie is not read, so that one request never has two callers.
 */
export function createAuthenticator(options: {
  readonly keys: Pick<CallerCache, "find">;
  readonly sessions: Pick<CallerCache, "find">;
  /** The public origin of this gateway; empty when only the `Host` header names it. */
  readonly ownOrigin: string;
}): Authenticator {
  const { keys, sessions, ownOrigin } = options;

  async function ofSession({ method, headers }: Credentials): Promise<Caller | undefined> {
    const secret = SESSION_COOKIE.secretIn(headers);
    if (secret === undefined) return undefined;
    const caller = await sessions.find(secret);
    if (!isCaller(caller)) return undefined;
    if (!isFromConsole(method, headers, ownOrigin)) {
      throw new AppError(
        "origin_not_allowed",
        "A console session works on the console's own pages.",
      );
    }
    // A key has a mode; a person chooses one for each request.
    return headers["sms-mode"] === "test" ? { ...caller, mode: Mode.TEST } : caller;
  }

  return {
    async authenticate(credentials) {
      const { headers, authorization } = credentials;
      const secret = BEARER.exec(authorization ?? "")?.[1];
      const found =
        headers.authorization === undefined
          ? await ofSession(credentials)
          : secret === undefined
            ? undefined
            : await keys.find(secret);
      if (isCaller(found)) return found;
      throw refusedKey(authorization, found);
    },
  };
}
