import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { countAttempt } from "../domain/sign-in-attempts.ts";
import type { SessionStore } from "./identity-ports.ts";

/** Counts an attempt under each key. Throws `rate_limited` with `text` when one comes too early. */
export async function limitAttempts(
  { store, clock }: { readonly store: AttemptStore; readonly clock: Clock },
  keys: readonly string[],
  text: string,
): Promise<void> {
  for (const key of keys) {
    const before = await store.findAttempts(key);
    const counted = countAttempt(before, clock.now());
    // Another request was counted at the same moment: refuse this one for a second.
    const waitMs =
      "waitMs" in counted
        ? counted.waitMs
        : (await store.storeAttempts(key, before, counted.after))
          ? 0
          : 1000;
    if (waitMs > 0) throw new AppError("rate_limited", text, { retryAfterMs: waitMs });
  }
}

type AttemptStore = Pick<SessionStore, "findAttempts" | "storeAttempts">;
