/**
 * The lock of an idempotency key while its request runs (ADR 85). It only keeps other requests
 * away: the record holds the effect. A process renews its lock while it works; the lock of a dead
 * process expires.
 */
import { randomUUID } from "node:crypto";
import type { Collection, Db } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import {
  compareLock,
  type LockDocument,
  releaseLock,
  takeLock,
} from "../../shared/io/idempotency-locks.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import { keyReused } from "../app/idempotency.ts";

/** Locks by the id of their key. */
export type IdempotencyLocks = {
  /**
   * Runs work under the key's lock. Throws `conflict` or `idempotency_key_reused` if it is held.
   */
  run<T>(id: string, fingerprint: Uint8Array, work: () => Promise<T>): Promise<T>;
  /** Throws the errors of `run`; has no effect. */
  check(id: string, fingerprint: Uint8Array): Promise<void>;
};

/** How long a process that died or was paused keeps its locks. */
const LOCK_MS = 15_000;
const RENEW_MS = 5000;

export function createIdempotencyLocks(db: Db): IdempotencyLocks {
  const locks: Collection<LockDocument> = db.collection("fences");

  async function check(id: string, fingerprint: Uint8Array): Promise<void> {
    const lock = await guardMongo(locks.findOne({ _id: id }));
    if (lock === null || lock.until.getTime() <= Date.now()) return;
    throw refusal(compareLock(lock, fingerprint));
  }

  return {
    check,
    async run(id, fingerprint, work) {
      const owner = randomUUID();
      const nowMs = Date.now();
      const lock = { key: id, owner, fingerprint, untilMs: nowMs + LOCK_MS };
      const result = await takeLock(locks, lock, nowMs);
      if (result !== "taken") throw refusal(result);
      const renewing = setInterval(() => {
        const until = new Date(Date.now() + LOCK_MS);
        locks.updateOne({ _id: id, owner }, { $set: { until } }).catch(IGNORED);
      }, RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        await releaseLock(locks, lock).catch(IGNORED);
      }
    },
  };
}

/** A lock that could not be renewed or deleted expires. */
const IGNORED = () => undefined;

function refusal(result: "running" | "reused"): AppError {
  if (result === "reused") return keyReused();
  return new AppError("conflict", "A request with this idempotency key is still in progress.");
}
