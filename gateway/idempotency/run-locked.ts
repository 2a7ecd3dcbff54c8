/**
 * One request per idempotency key at a time. Whether a key was used before is decided by the service that stored the
 * first response: for sends `services/messaging/app/idempotency.ts`.
 */
import { AppError, isUnavailable } from "../../services/shared/core/errors.ts";
import { answerWithin } from "../../services/shared/flow/backoff.ts";
import type { KeyLocks } from "./lock.ts";

/** How long a request waits to read whether the previous one with its key has just finished. */
const BUSY_LOOKUP_MS = 500;

/** How long a refusal waits for the release of its key; a lock that is not released expires. */
const RELEASE_WAIT_MS = 250;

/** A request that carries an idempotency key. */
export type KeyedRequest<T> = {
  /** Tenant, operation and key: what the key belongs to. */
  readonly scope: string;
  readonly fingerprint: Buffer;
  /** Reads the stored first response, if the key has one; without effect. */
  readonly lookup: (timeoutMs?: number) => Promise<T | undefined>;
  /** Executes the request. `isLocked` is false when a duplicate may run at the same time. */
  readonly run: (isLocked: boolean) => Promise<T>;
};

/**
 * Runs a request under the lock of its key. Errors: `conflict` while the same request runs,
 * `idempotency_key_reused` while a request with another body runs. A stored response takes precedence over a
 * busy lock. The holder of the lock may have finished and be about to release it. Or the stored response may belong
 * to this request, and the holder, with another body, is about to be refused.
 */
export async function runLocked<T>(locks: KeyLocks, request: KeyedRequest<T>): Promise<T> {
  const lock = await locks.acquire(request.scope, request.fingerprint);
  if (lock.state === "busy_other" || lock.state === "busy_same") {
    const stored = await request.lookup(BUSY_LOOKUP_MS).catch((error: unknown) => {
      // During an outage `conflict` is still right when the holder has the same body. With another body it is not
      // known which of the two requests owns the key.
      if (isUnavailable(error) && lock.state === "busy_same") return undefined;
      throw error;
    });
    if (stored !== undefined) return stored;
    if (lock.state === "busy_other") {
      throw new AppError(
        "idempotency_key_reused",
        "This Idempotency-Key is in use by a different request. Use a new key.",
      );
    }
    throw new AppError(
      "conflict",
      "The first request with this Idempotency-Key is still running. Repeat this one in a second.",
    );
  }
  try {
    const response = await request.run(lock.state === "acquired");
    void lock.release();
    return response;
  } catch (error) {
    // After a refusal the client may use the key again at once, at any gateway.
    await answerWithin(lock.release(), RELEASE_WAIT_MS);
    throw error;
  }
}
