/**
 * One idempotency key, one effect. The truth is the unique index on `sends.idem`, written in the
 * transaction of the effect itself; everything else here only answers sooner:
 *
 * 1. A map of the keys running in this process refuses a second one at once.
 * 2. A look at what is stored tells replays (one read for all keys that arrive together); their answers,
 *    which may have megabytes, are read apart, a few at a time, for those alone that get one.
 * 3. A short lease in MongoDB keeps other processes away, when the caller could not fence the key.
 * 4. Two that slip through all this meet at the index: the loser undoes its hold and answers what
 *    the winner stored.
 * 5. A refusal closes its key at the same index first. Else the commit of a request before it, whose
 *    answer was lost, could still come: its caller would be told that nothing was done, and it was.
 */

import type { Clock } from "../../shared/core/clock.ts";
import { AppError, isRetryable, isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import type { SendEndpoint } from "../domain/send-request.ts";
import type { KeyLock, SendStore } from "./ports.ts";

/** A request made under a key. */
export type KeyedRequest = {
  /** Tenant | endpoint | key. */
  readonly scope: string;
  readonly fingerprint: Uint8Array;
  /** The caller holds a lock on the key itself. */
  readonly isLocked: boolean;
};

/** Either this request's own effect, or the stored answer of the first one. */
export type KeyedAnswer<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "replay"; readonly response: Uint8Array };

/** The scope of a send's key; both single-send paths are one endpoint. */
export function sendScope(tenantId: string, endpoint: SendEndpoint, key: string): string {
  return `${tenantId}|${endpoint}|${key}`;
}

/** The scope of a cancel's key, which belongs to that message's cancel. */
export function cancelScope(tenantId: string, messageId: string, key: string): string {
  return `${tenantId}|cancel|${messageId}|${key}`;
}

/** What is kept under a key now; of an expired answer, only the id of its record. */
type StoredAnswer = {
  readonly response: Uint8Array | undefined;
  readonly expiredId: string | undefined;
};

type KeyLookup = Pick<KeyedRequest, "scope" | "fingerprint">;

/** Runs work at most once per key. */
export type Idempotency = {
  /** The stored answer of a key, if there is one; throws when it belongs to another request. */
  find(request: KeyLookup): Promise<Uint8Array | undefined>;
  /** The same before a refusal: when nothing is stored now, no earlier request stores anything. */
  findBeforeRefusal(request: KeyLookup): Promise<Uint8Array | undefined>;
  /** `work` gets the id of the expired record that its own replaces. */
  run<T>(
    request: KeyedRequest,
    work: (replaces: string | undefined) => Promise<T>,
  ): Promise<KeyedAnswer<T>>;
  close(): Promise<void>;
};

/** The lock of a process that died expires after this time; no request runs longer. */
const LOCK_MS = 30_000;
const FINGERPRINT_BYTES = 32;

/** Makes the guard over the store of sends. */
export function createIdempotency(options: {
  readonly sends: SendStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly owner: string;
}): Idempotency {
  const { sends, clock, log } = options;
  const running = new Map<string, Uint8Array>();
  const lookups = askTogether("look-ups", { batchMax: 500, concurrency: 4 }, (scopes) =>
    sends.findByKeys(scopes),
  );
  const responses = askTogether("answers", { batchMax: 8, concurrency: 3 }, (ids) =>
    sends.readResponses(ids),
  );
  const closings = askTogether("keys to close", { batchMax: 100, concurrency: 4 }, (scopes) =>
    sends.closeKeys(scopes, clock.now()),
  );

  /** The stored answer of a key, if it is this request's; throws when it is another's. */
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
      // A request on its way to its commit would lose its key to the refusal of a later one.
      const rival = running.get(request.scope);
      if (rival !== undefined) throw clash(rival, request);
      return findBeforeRefusal(request);
    },
    async run(request, work) {
      checkFingerprint(request);
      const rival = running.get(request.scope);
      if (rival !== undefined) {
        const { response } = await findReplay(request);
        if (response !== undefined) return { kind: "replay", response };
        throw clash(rival, request);
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

/** Questions that arrive together are asked together; undefined is the answer to what is not found. */
function askTogether<Found>(
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

/** What a request is told while another one runs under its key. */
function clash(rival: Uint8Array, { fingerprint }: KeyLookup): AppError {
  return isSameBytes(rival, fingerprint) ? keyInUse() : reused();
}

/** The error when another request holds the key. */
export function keyInUse(): AppError {
  return new AppError("conflict", "A request with this key is still in progress.");
}

function reused(): AppError {
  return new AppError("idempotency_key_reused", "This key was used with a different request.");
}

/** Tells whether two byte strings are equal. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function checkFingerprint({ fingerprint }: KeyLookup): void {
  if (fingerprint.length === FINGERPRINT_BYTES) return;
  throw new AppError("validation_error", "A key needs the request's fingerprint.", {
    fields: [{ field: "fingerprint", code: "invalid_format", message: "SHA-256, 32 bytes." }],
  });
}
