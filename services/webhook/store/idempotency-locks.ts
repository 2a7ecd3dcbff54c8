/**
 * The fence of a key whose request is running. It only keeps others away meanwhile: what was done under
 * a key is in its record. A living process keeps its fence for as long as it works; one that dies
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
export type KeyFences = {
  /** Runs work behind the key's fence. Throws `conflict` or `idempotency_key_reused` if it is up. */
  run<T>(id: string, fingerprint: Uint8Array, work: () => Promise<T>): Promise<T>;
  /** Throws what `run` would, and does nothing. */
  check(id: string, fingerprint: Uint8Array): Promise<void>;
};

/** How long a key stays fenced by a process that died, or stood still. */
const FENCE_MS = 15_000;
const RENEW_MS = 5000;

/** Makes them over `fences`. */
export function createKeyFences(db: Db): KeyFences {
  const fences: Collection<FenceDocument> = db.collection("fences");

  async function check(id: string, fingerprint: Uint8Array): Promise<void> {
    const fence = await guardMongo(fences.findOne({ _id: id }));
    if (fence === null || fence.until.getTime() <= Date.now()) return;
    throw refusal(meetFence(fence, fingerprint));
  }

  return {
    check,
    async run(id, fingerprint, work) {
      const owner = randomUUID();
      const nowMs = Date.now();
      const fence = { key: id, owner, fingerprint, untilMs: nowMs + FENCE_MS };
      const outcome = await takeFence(fences, fence, nowMs);
      if (outcome !== "taken") throw refusal(outcome);
      const renewing = setInterval(() => {
        const until = new Date(Date.now() + FENCE_MS);
        fences.updateOne({ _id: id, owner }, { $set: { until } }).catch(IGNORED);
      }, RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        await dropFence(fences, fence).catch(IGNORED);
      }
    },
  };
}

/** A fence that could not be renewed or removed ends by itself. */
const IGNORED = () => undefined;

function refusal(outcome: "running" | "reused"): AppError {
  if (outcome === "reused") return keyReused();
  return new AppError("conflict", "A request with this idempotency key is still in progress.");
}
