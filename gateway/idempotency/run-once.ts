import { AppError, asAppError } from "../../services/shared/core/errors.ts";
import { answerWithin } from "../../services/shared/flow/backoff.ts";
import type { KeyLocks } from "./lock.ts";

/** How long a request waits to learn whether the one before it has just finished. */
const BUSY_LOOKUP_MS = 500;

/** How long a refusal waits until its key is free; a lock that stays is gone after its time. */
const RELEASE_WAIT_MS = 250;

/** A request that carries an idempotency key. */
export type KeyedRequest<T> = {
  /** Tenant, operation and key: what the key belongs to. */
  readonly scope: string;
  readonly fingerprint: Buffer;
  /** The stored first answer, if the key has one; no effect. It may be given less time. */
  readonly lookup: (timeoutMs?: number) => Promise<T | undefined>;
  /** Carries the request out. `isLocked` is false when nobody keeps a twin from running too. */
  readonly run: (isLocked: boolean) => Promise<T>;
};

/**
 * Runs a request behind its key's lock. Errors: `conflict` while the same request runs,
 * `idempotency_key_reused` while one with another body does. Where an answer is stored already that
 * decides, whoever has the lock: its request may have finished (the release is on its way), or be
 * another one that will hear that the key is this one's.
 */
export async function runOnce<T>(keyLocks: KeyLocks, request: KeyedRequest<T>): Promise<T> {
  const lock = await keyLocks.take(request.scope, request.fingerprint);
  if (lock.state === "busy_other" || lock.state === "busy_same") {
    const stored = await request.lookup(BUSY_LOOKUP_MS).catch((error: unknown) => {
      // Whoever cannot look in time may still tell the same request to wait; of another one it is not
      // known whose the key is.
      const isAway = asAppError(error).code === "service_unavailable";
      if (isAway && lock.state === "busy_same") return undefined;
      throw error;
    });
    if (stored !== undefined) return stored;
    if (lock.state === "busy_other") {
      throw new AppError(
        "idempotency_key_reused",
        "This Idempotency-Key is in use by a request with another body.",
      );
    }
    throw new AppError("conflict", "A request with this Idempotency-Key is still in progress.");
  }
  try {
    const answer = await request.run(lock.state === "taken");
    void lock.release();
    return answer;
  } catch (error) {
    // The key is free again: who hears of the refusal may use it at once, at any gateway.
    await answerWithin(lock.release(), RELEASE_WAIT_MS);
    throw error;
  }
}
