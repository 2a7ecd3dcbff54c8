import { AppError } from "../../shared/core/errors.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { readTarget } from "../domain/url-rules.ts";

/** Limit for resolving the name: several silent name servers would take longer than the caller waits. */
const RESOLVE_TIMEOUT_MS = 5000;

/**
 * Checks a URL when it is saved. Throws validation_error with field `url` for every reason: different
 * errors would let callers map a private network.
 */
export async function checkUrl(
  url: string,
  allowedPorts: readonly number[],
  resolve: (host: string) => Promise<unknown>,
): Promise<void> {
  const target = readTarget(url, allowedPorts);
  try {
    if (target === undefined) throw new Error("the URL breaks a rule");
    const isResolved = await answerWithin(
      resolve(target.host).then(() => true),
      RESOLVE_TIMEOUT_MS,
    );
    if (isResolved !== true) throw new Error("no name server responded in time");
  } catch (cause) {
    const message =
      "The URL must use HTTPS on port 443 or 8443, name a public host, and have no user name or password.";
    throw new AppError("validation_error", "The URL cannot be used.", {
      cause,
      fields: [{ field: "url", code: url === "" ? "required" : "invalid_value", message }],
    });
  }
}
