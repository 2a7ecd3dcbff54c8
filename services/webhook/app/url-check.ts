import { AppError } from "../../shared/core/errors.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import { readTarget } from "../domain/url-rules.ts";

/** Several name servers that do not answer are each asked for longer than who saves the URL waits. */
const VET_TIME_MAX_MS = 5000;

/**
 * Checks a URL when it is saved. Throws validation_error with field `url`, whatever the reason:
 * telling a closed door from a missing one would let callers map a network they cannot see.
 */
export async function checkUrl(
  url: string,
  allowedPorts: readonly number[],
  vet: (host: string) => Promise<unknown>,
): Promise<void> {
  const target = readTarget(url, allowedPorts);
  try {
    if (target === undefined) throw new Error("the URL breaks a rule");
    const isVetted = await answerWithin(
      vet(target.host).then(() => true),
      VET_TIME_MAX_MS,
    );
    if (isVetted !== true) throw new Error("no name server has answered in time");
  } catch (cause) {
    const message =
      "The URL must use HTTPS on an allowed port, name a public host, and carry no credentials.";
    throw new AppError("validation_error", "The URL cannot be used.", {
      cause,
      fields: [{ field: "url", code: url === "" ? "required" : "invalid_value", message }],
    });
  }
}
