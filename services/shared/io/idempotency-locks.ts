/**
 * The lock of an idempotency key while its request is running (ADR 85). It only keeps other requests of the key away;
 * results are in the key's record. The lock of a dead process expires.
 */
import { randomUUID } from "node:crypto";
import { Binary, type Collection, type Db } from "mongodb";
import { AppError } from "../core/errors.ts";
import { guardMongo, isDuplicateKey } from "./mongo-errors.ts";

/** A key and the request that holds its lock. */
export type IdempotencyLock = {
  readonly key: string;
  /** Unique per request: only the owner releases its lock. */
  readonly owner: string;
  readonly fingerprint: Uint8Array;
  readonly untilMs: number;
};

/**
 * The result of an attempt to lock a key: `taken` by this request, held by the same request (`running`), or
 * held by a different request (`reused`).
 */
export type LockResult = "taken" | "running" | "reused";

/** Locks by key, which their requests renew while they run. */
export type IdempotencyLocks = {
  /** Runs work under the key's lock. Throws `conflict` or `idempotency_key_reused` if it is held. */
  run<T>(key: string, fingerprint: Uint8Array, work: () => Promise<T>): Promise<T>;
  /** Throws the errors of `run`; has no effect. */
  check(key: string, fingerprint: Uint8Array): Promise<void>;
};

/** How long a process that died or was paused keeps its locks, and how often a running one renews them. */
const LOCK_MS = 15_000;
const RENEW_MS = 5000;

/** The locks in a service's database. */
export function createIdempotencyLocks(db: Db): IdempotencyLocks {
  const locks: Collection<LockDocument> = db.collection("fences");
  return {
    async check(key, fingerprint) {
      const lock = await guardMongo(locks.findOne({ _id: key }));
      if (lock === null || lock.until.getTime() <= Date.now()) return;
      throw refusal(compareLock(lock, fingerprint));
    },
    async run(key, fingerprint, work) {
      const owner = randomUUID();
      const nowMs = Date.now();
      const lock = { key, owner, fingerprint, untilMs: nowMs + LOCK_MS };
      const result = await takeLock(locks, lock, nowMs);
      if (result !== "taken") throw refusal(result);
      const renewing = setInterval(() => {
        const until = new Date(Date.now() + LOCK_MS);
        locks.updateOne({ _id: key, owner }, { $set: { until } }).catch(IGNORED);
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

/** A lock that could not be renewed or deleted expires; until then later requests with the key get `conflict`. */
const IGNORED = () => undefined;

function refusal(result: "running" | "reused"): AppError {
  if (result === "reused") return keyReused();
  return new AppError("conflict", "A request with this idempotency key is still in progress.");
}

/** The error for a key that belongs to another request. */
export function keyReused(): AppError {
  return new AppError(
    "idempotency_key_reused",
    "This idempotency key was used with a different request.",
  );
}

/** A stored lock; `_id` is its key. */
export type LockDocument = { _id: string; owner: string; fingerprint: Binary; until: Date };

/** Takes the lock unless another request holds one that has not expired. */
export async function takeLock(
  locks: Collection<LockDocument>,
  { key, owner, fingerprint, untilMs }: IdempotencyLock,
  nowMs: number,
): Promise<LockResult> {
  const document = { owner, fingerprint: new Binary(fingerprint), until: new Date(untilMs) };
  try {
    // The filter matches only an expired lock. While a lock is valid, the upsert inserts a second document with
    // the same `_id` and fails.
    const over = { _id: key, until: { $lte: new Date(nowMs) } };
    await guardMongo(locks.updateOne(over, { $set: document }, { upsert: true }));
    return "taken";
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    const present = await guardMongo(locks.findOne({ _id: key }));
    // The other request has just finished; the caller's next read finds its result.
    return present === null ? "running" : compareLock(present, fingerprint);
  }
}

/** Compares a request with the holder of the lock. */
function compareLock(
  lock: Pick<LockDocument, "fingerprint">,
  fingerprint: Uint8Array,
): Exclude<LockResult, "taken"> {
  return Buffer.from(lock.fingerprint.buffer).equals(fingerprint) ? "running" : "reused";
}

/** Releases a lock. */
export async function releaseLock(
  locks: Collection<LockDocument>,
  { key, owner }: Pick<IdempotencyLock, "key" | "owner">,
): Promise<void> {
  await guardMongo(locks.deleteOne({ _id: key, owner }));
}
