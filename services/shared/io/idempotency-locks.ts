/**
 * The fence of an idempotency key whose request is running. It only keeps others away meanwhile: what
 * was done under a key is in its record. Whoever dies leaves a fence behind that ends by itself.
 */
import { Binary, type Collection } from "mongodb";
import { guardMongo, isDuplicateKey } from "./mongo-errors.ts";

/** A key with the request that holds it. */
export type KeyFence = {
  readonly key: string;
  /** Differs from request to request: only the owner takes its fence down. */
  readonly owner: string;
  readonly fingerprint: Uint8Array;
  readonly untilMs: number;
};

/** What another request of the key meets: the same request that is running, or another one. */
export type FenceOutcome = "taken" | "running" | "reused";

/** A fence as it is stored; `_id` is its key. */
export type FenceDocument = { _id: string; owner: string; fingerprint: Binary; until: Date };

/** Puts a fence up, unless one is up whose time is not over. */
export async function takeFence(
  fences: Collection<FenceDocument>,
  { key, owner, fingerprint, untilMs }: KeyFence,
  nowMs: number,
): Promise<FenceOutcome> {
  const document = { owner, fingerprint: new Binary(fingerprint), until: new Date(untilMs) };
  try {
    // The filter finds the document only when its lease is over, so a living one makes the
    // upsert insert a second `_id`, which fails.
    const over = { _id: key, until: { $lte: new Date(nowMs) } };
    await guardMongo(fences.updateOne(over, { $set: document }, { upsert: true }));
    return "taken";
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    const present = await guardMongo(fences.findOne({ _id: key }));
    // Its request has ended this moment; the next look finds the answer.
    return present === null ? "running" : meetFence(present, fingerprint);
  }
}

/** What a request meets in a fence that is up. */
export function meetFence(
  fence: Pick<FenceDocument, "fingerprint">,
  fingerprint: Uint8Array,
): Exclude<FenceOutcome, "taken"> {
  return Buffer.from(fence.fingerprint.buffer).equals(fingerprint) ? "running" : "reused";
}

/** Takes a fence down. */
export async function dropFence(
  fences: Collection<FenceDocument>,
  { key, owner }: Pick<KeyFence, "key" | "owner">,
): Promise<void> {
  await guardMongo(fences.deleteOne({ _id: key, owner }));
}
