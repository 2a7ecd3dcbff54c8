/**
 * One idempotency key, one effect (`docs/contract.md#idempotency`). The unique index on `sends.idem`, written in the
 * transaction of the effect, guarantees it. The other steps only answer sooner:
 *
 * 1. A map of the keys that run in this process refuses a second request at once.
 * 2. A batched read finds stored records. Stored responses can have megabytes, so a second read loads them, a few
 *    at a time, for replays alone.
 * 3. A lock in MongoDB excludes other processes when the caller holds no lock on the key itself.
 * 4. Two requests that pass these steps meet at the index: the loser releases its hold and replays the winner's
 *    response.
 * 5. A refusal first writes a tombstone under its key. Otherwise an earlier request whose response was lost could
 *    commit after its caller was refused.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isRetryable, isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { SendRequest } from "../domain/send-request.ts";
import type { KeyLock, SendStore } from "./ports.ts";

/** A request made under a key. */
export type KeyedRequest = {
  /** See `sendScope` and `cancelScope`. */
  readonly scope: string;
  readonly fingerprint: Uint8Array;
  /** The caller holds a lock on the key itself. */
  readonly isLocked: boolean;
};

/** This request's own result, or the stored response of the key's first request. */
export type KeyedAnswer<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "replay"; readonly response: Uint8Array };

/** The scope of a send's key: each mode has its own keys, and both single-send paths are one endpoint. */
export function sendScope(
  { tenantId, mode, endpoint }: Pick<SendRequest, "tenantId" | "mode" | "endpoint">,
  key: string,
): string {
  return mode === "test" ? `${tenantId}|test|${endpoint}|${key}` : `${tenantId}|${endpoint}|${key}`;
}

/** The scope of a cancel's key, which belongs to that message's cancel. */
export function cancelScope(tenantId: string, messageId: string, key: string): string {
  return `${tenantId}|cancel|${messageId}|${key}`;
}

/** The stored response of a key; of an expired record, only its id. */
type StoredAnswer = {
  readonly response: Uint8Array | undefined;
  readonly expiredId: string | undefined;
};

type KeyLookup = Pick<KeyedRequest, "scope" | "fingerprint">;

/** Runs work at most once per key. */
export type Idempotency = {
  /** The stored response of a key, if there is one; throws if it belongs to another request. */
  find(request: KeyLookup): Promise<Uint8Array | undefined>;
  /**
   * Like `find`, for a caller that is about to refuse: if nothing is stored now, no earlier request can store anything
   * later.
   */
  findBeforeRefusal(request: KeyLookup): Promise<Uint8Array | undefined>;
  /** `work` receives the id of the expired record that its own record replaces. */
  run<T>(
    request: KeyedRequest,
    work: (replaces: string | undefined) => Promise<T>,
  ): Promise<KeyedAnswer<T>>;
  close(): Promise<void>;
};

/** The lock of a process that died expires after this time; no request runs longer. */
const LOCK_MS = 30_000;
const FINGERPRINT_BYTES = 32;

export function createIdempotency(options: {
  readonly sends: SendStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly owner: string;
}): Idempotency {
  const { sends, clock, log } = options;
  const running = new Map<string, Uint8Array>();
  const lookups = createLookup("lookups", { batchMax: 500, concurrency: 4 }, (scopes) =>
    sends.findByKeys(scopes),
  );
  const responses = createLookup("answers", { batchMax: 8, concurrency: 3 }, (ids) =>
    sends.readResponses(ids),
  );
  const closings = createLookup("keys to close", { batchMax: 100, concurrency: 4 }, (scopes) =>
    sends.closeKeys(scopes, clock.now()),
  );

  /** The stored response of a key; throws if it belongs to another request. */
  async function findReplay({ scope, fingerprint }: KeyLookup): Promise<StoredAnswer> {
    const stored = await lookups.add(scope);
    if (stored === undefined) return { response: undefined, expiredId: undefined };
    if (stored.expiresAtMs <= clock.now()) return { response: undefined, expiredId: stored.id };
    if (!isSameBytes(stored.fingerprint, fingerprint)) throw reused();
    return { response: await responses.add(stored.id), expiredId: undefined };
  }

  async function findBeforeRefusal({
    scope,
    fingerprint,
  }: KeyLookup): Promise<Uint8Array | undefined> {
    const stored = await closings.add(scope);
    if (stored === undefined) return undefined;
    if (!isSameBytes(stored.fingerprint, fingerprint)) throw reused();
    return responses.add(stored.id);
  }

  async function takeLock({ scope, fingerprint }: KeyedRequest): Promise<KeyLock> {
    const nowMs = clock.now();
    const lock = { key: scope, owner: options.owner, fingerprint, untilMs: nowMs + LOCK_MS };
    const result = await sends.takeLock(lock, nowMs);
    if (result === "running") throw keyInUse();
    if (result === "reused") throw reused();
    return lock;
  }

  /** The response that another request stored under the key, after this one failed without effect. */
  async function findWinner(request: KeyLookup, error: unknown): Promise<Uint8Array | undefined> {
    if (!(error instanceof AppError)) return undefined;
    if (error.code === "conflict") return (await findReplay(request)).response;
    return isRetryable(error.code) ? undefined : findBeforeRefusal(request);
  }

  async function runOnce<T>(
    request: KeyedRequest,
    work: (replaces: string | undefined) => Promise<T>,
  ): Promise<KeyedAnswer<T>> {
    const { response, expiredId } = await findReplay(request);
    if (response !== undefined) return { kind: "replay", response };
    const lock = request.isLocked ? undefined : await takeLock(request);
    try {
      return { kind: "done", result: await work(expiredId) };
    } catch (error) {
      const winner = await findWinner(request, error);
      if (winner !== undefined) return { kind: "replay", response: winner };
      throw error;
    } finally {
      if (lock !== undefined) {
        // The lock expires by itself; until then later requests with the key get `conflict`.
        await sends.releaseLock(lock).catch((error: unknown) => {
          log.warn({ error }, "the lock of an idempotency key was not released");
        });
      }
    }
  }

  return {
    async find(request) {
      checkFingerprint(request);
      return (await findReplay(request)).response;
    },
    async findBeforeRefusal(request) {
      checkFingerprint(request);
      // Refuse while a request runs under the key: the tombstone of this refusal would take the key from it.
      const rival = running.get(request.scope);
      if (rival !== undefined) throw conflictWith(rival, request);
      return findBeforeRefusal(request);
    },
    async run(request, work) {
      checkFingerprint(request);
      const rival = running.get(request.scope);
      if (rival !== undefined) {
        const { response } = await findReplay(request);
        if (response !== undefined) return { kind: "replay", response };
        throw conflictWith(rival, request);
      }
      running.set(request.scope, request.fingerprint);
      try {
        return await runOnce(request, work);
      } finally {
        running.delete(request.scope);
      }
    },
    async close() {
      await lookups.close();
      await closings.close();
      await responses.close();
    },
  };
}

/** A batcher of lookups; a lookup without a result resolves to undefined. */
function createLookup<Found>(
  name: string,
  shape: { readonly batchMax: number; readonly concurrency: number },
  find: (names: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
) {
  return createBatcher<string, Found | undefined>({
    ...shape,
    name: `idempotency ${name}`,
    queueMax: 8192,
    isTransient: isUnavailable,
    async flush(names) {
      const found = await find(names);
      return names.map((one) => found.get(one));
    },
  });
}

/** The error for a request while another one with its key runs. */
function conflictWith(rival: Uint8Array, { fingerprint }: KeyLookup): AppError {
  return isSameBytes(rival, fingerprint) ? keyInUse() : reused();
}

/** The error when another request holds the key. */
export function keyInUse(): AppError {
  return new AppError("conflict", "A request with this key is still in progress.");
}

function reused(): AppError {
  return new AppError(
    "idempotency_key_reused",
    "This Idempotency-Key was used with a different request. Use a new key.",
  );
}

/** True if two byte strings are equal. */
function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function checkFingerprint({ fingerprint }: KeyLookup): void {
  if (fingerprint.length === FINGERPRINT_BYTES) return;
  throw new AppError("validation_error", "A key needs the request's fingerprint.", {
    fields: [{ field: "fingerprint", code: "invalid_format", message: "SHA-256, 32 bytes." }],
  });
}
