/**
 * The lock of a key whose request is running. It only keeps others away meanwhile: what was done under
 * a key is in its record. A living process keeps its lock for as long as it works; one that dies
 * leaves it behind, and it ends by itself.
 */
import { randomUUID } from "node:crypto";
import type { Collection, Db } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import {
  dropFence,
  type FenceDocument,
  meetFence,
  takeFence,
} from "../../shared/io/idempotency-locks.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import { keyReused } from "../app/idempotency.ts";

/** Fences by the id of their key. */
export type IdempotencyLocks = {
  /** Runs work behind the key's lock. Throws `conflict` or `idempotency_key_reused` if it is up. */
  run<T>(id: string, fingerprint: Uint8Array, work: () => Promise<T>): Promise<T>;
  /** Throws what `run` would, and does nothing. */
  check(id: string, fingerprint: Uint8Array): Promise<void>;
};

/** How long a key stays fenced by a process that died, or stood still. */
const LOCK_MS = 15_000;
const RENEW_MS = 5000;

/** Makes them over `fences`. */
export function createIdempotencyLocks(db: Db): IdempotencyLocks {
  const fences: Collection<FenceDocument> = db.collection("fences");

  async function check(id: string, fingerprint: Uint8Array): Promise<void> {
    const lock = await guardMongo(fences.findOne({ _id: id }));
    if (lock === null || lock.until.getTime() <= Date.now()) return;
    throw refusal(meetFence(lock, fingerprint));
  }

  return {
    check,
    async run(id, fingerprint, work) {
      const owner = randomUUID();
      const nowMs = Date.now();
      const lock = { key: id, owner, fingerprint, untilMs: nowMs + LOCK_MS };
      const taken = await takeFence(fences, lock, nowMs);
      if (taken !== "taken") throw refusal(taken);
      const renewing = setInterval(() => {
        const until = new Date(Date.now() + LOCK_MS);
        fences.updateOne({ _id: id, owner }, { $set: { until } }).catch(IGNORED);
      }, RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        await dropFence(fences, lock).catch(IGNORED);
      }
    },
  };
}

/** A lock that could not be renewed or removed ends by itself. */
const IGNORED = () => undefined;

function refusal(taken: "running" | "reused"): AppError {
  if (taken === "reused") return keyReused();
  return new AppError("conflict", "A request with this idempotency key is still in progress.");
}
