/**
 * The fence of a key whose request is running. It only keeps others away meanwhile: what was done under
 * a key is in its record. A living process keeps its fence for as long as it works; one that dies
 * leaves it behind, and it ends by itself.
 */
import { randomUUID } from "node:crypto";
import { Binary, type Collection, type Db } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import { keyReused } from "../service/idempotency.ts";

/** Fences by the id of their key. */
export type KeyFences = {
  /** Runs work behind the key's fence. Throws `conflict` or `idempotency_key_reused` if it is up. */
  run<T>(id: string, fingerprint: Uint8Array, work: () => Promise<T>): Promise<T>;
  /** Throws what `run` would, and does nothing. */
  check(id: string, fingerprint: Uint8Array): Promise<void>;
};

type FenceDocument = { _id: string; owner: string; fingerprint: Binary; until: Date };

/** How long a key stays fenced by a process that died, or stood still. */
const FENCE_MS = 15_000;
const RENEW_MS = 5000;

/** Makes them over `fences`. */
export function createKeyFences(db: Db): KeyFences {
  const fences: Collection<FenceDocument> = db.collection("fences");

  async function check(id: string, fingerprint: Uint8Array): Promise<void> {
    const fence = await guardMongo(fences.findOne({ _id: id }));
    if (fence !== null && fence.until.getTime() > Date.now()) throw refusal(fence, fingerprint);
  }

  async function take(id: string, owner: string, fingerprint: Uint8Array): Promise<void> {
    const now = Date.now();
    const fence = {
      owner,
      fingerprint: new Binary(fingerprint),
      until: new Date(now + FENCE_MS),
    };
    try {
      // The filter finds only a fence that is over, so beside a living one the upsert inserts a
      // second document of this id, which fails.
      const over = { _id: id, until: { $lte: new Date(now) } };
      await guardMongo(fences.updateOne(over, { $set: fence }, { upsert: true }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const other = await guardMongo(fences.findOne({ _id: id }));
      // Its request has ended this moment; the next look finds the answer.
      if (other === null) throw inProgress();
      throw refusal(other, fingerprint);
    }
  }

  return {
    check,
    async run(id, fingerprint, work) {
      const owner = randomUUID();
      await take(id, owner, fingerprint);
      const renewing = setInterval(() => {
        const until = new Date(Date.now() + FENCE_MS);
        fences.updateOne({ _id: id, owner }, { $set: { until } }).catch(IGNORED);
      }, RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        await fences.deleteOne({ _id: id, owner }).catch(IGNORED);
      }
    },
  };
}

/** A fence that could not be renewed or removed ends by itself. */
const IGNORED = () => undefined;

function refusal(fence: FenceDocument, fingerprint: Uint8Array): AppError {
  return Buffer.from(fence.fingerprint.buffer).equals(fingerprint) ? inProgress() : keyReused();
}

function inProgress(): AppError {
  return new AppError("conflict", "A request with this idempotency key is still in progress.");
}
