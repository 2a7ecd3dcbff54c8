/**
 * The lock of an idempotency key while its request is running. It only keeps other requests of the key waiting;
 * results are in the key's record. The lock of a dead process expires.
 */
import { Binary, type Collection } from "mongodb";
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
export function compareLock(
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
