/**
 * One idempotency key, one effect. The truth is the unique index on `sends.idem`, written in the
 * transaction of the effect itself; everything else here only answers sooner:
 *
 * 1. A map of the keys running in this process refuses a second one at once.
 * 2. A look at what is stored answers replays (one read for all keys that arrive together).
 * 3. A short lease in MongoDB keeps other processes away, when the caller could not fence the key.
 * 4. Two that slip through all this meet at the index: the loser undoes its hold and answers what
 *    the winner stored.
 */
import { createBatcher } from "../../shared/core/batcher.ts";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/io/log.ts";
import { isMongoOutage } from "../../shared/io/mongo-errors.ts";
import { runDetached } from "../../shared/rpc/call-context.ts";
import type { SendEndpoint } from "../domain/send-request.ts";
import type { KeyFence, SendStore, StoredSend } from "./ports.ts";

/** A request made under a key. */
export type KeyedRequest = {
  /** Tenant | endpoint | key. */
  readonly scope: string;
  readonly fingerprint: Uint8Array;
  readonly fenced: boolean;
};

/** Either this request's own effect, or the stored answer of the first one. */
export type KeyedAnswer<T> =
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "replay"; readonly response: Uint8Array };

/** Thrown by work whose key turned out to be held by another request. */
export class KeyLost extends Error {}

/** The scope of a send's key; both single-send paths are one endpoint. */
export function sendScope(tenantId: string, endpoint: SendEndpoint, key: string): string {
  return `${tenantId}|${endpoint}|${key}`;
}

/** The scope of a cancel's key, which belongs to that message's cancel. */
export function cancelScope(tenantId: string, messageId: string, key: string): string {
  return `${tenantId}|cancel|${messageId}|${key}`;
}

/** What is kept under a key now; an expired answer counts as none. */
type StoredAnswer = { readonly response: Uint8Array | undefined; readonly hasExpired: boolean };

/** Runs work at most once per key. */
export type Idempotency = {
  /** The stored answer of a key, if there is one; throws when it belongs to another request. */
  find(request: Pick<KeyedRequest, "scope" | "fingerprint">): Promise<Uint8Array | undefined>;
  run<T>(
    request: KeyedRequest,
    work: (replacesExpired: boolean) => Promise<T>,
  ): Promise<KeyedAnswer<T>>;
  close(): Promise<void>;
};

/** How long a fence outlives a process that died with it; no request runs longer. */
const FENCE_MS = 30_000;
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
  const lookups = createBatcher<string, StoredSend | undefined>({
    name: "idempotency look-ups",
    batchMax: 500,
    queueMax: 8192,
    lanes: 4,
    isTransient: isMongoOutage,
    async flush(scopes) {
      const found = await runDetached(() => sends.findByKeys(scopes));
      return scopes.map((scope) => found.get(scope));
    },
  });

  /** The stored answer of a key, if it is this request's; throws when it is another's. */
  async function findReplay({
    scope,
    fingerprint,
  }: Pick<KeyedRequest, "scope" | "fingerprint">): Promise<StoredAnswer> {
    const stored = await lookups.add(scope);
    if (stored === undefined) return { response: undefined, hasExpired: false };
    if (stored.expiresAtMs <= clock.now()) return { response: undefined, hasExpired: true };
    if (!isSameBytes(stored.fingerprint, fingerprint)) throw reused();
    return { response: stored.response, hasExpired: false };
  }

  async function takeFence({ scope, fingerprint }: KeyedRequest): Promise<KeyFence> {
    const nowMs = clock.now();
    const fence = { key: scope, owner: options.owner, fingerprint, untilMs: nowMs + FENCE_MS };
    const outcome = await sends.takeFence(fence, nowMs);
    if (outcome === "running") throw inProgress();
    if (outcome === "reused") throw reused();
    return fence;
  }

  async function runOnce<T>(
    request: KeyedRequest,
    work: (replacesExpired: boolean) => Promise<T>,
  ): Promise<KeyedAnswer<T>> {
    const { response, hasExpired } = await findReplay(request);
    if (response !== undefined) return { kind: "replay", response };
    const fence = request.fenced ? undefined : await takeFence(request);
    try {
      return { kind: "done", result: await work(hasExpired) };
    } catch (error) {
      if (!mayHaveLost(error)) throw error;
      const winner = await findReplay(request);
      if (winner.response !== undefined) return { kind: "replay", response: winner.response };
      throw error instanceof KeyLost ? inProgress() : error;
    } finally {
      if (fence !== undefined) {
        // The lease ends by itself; failing to end it early costs later requests a wait.
        await sends.dropFence(fence).catch((error: unknown) => {
          log.warn({ error }, "a key's fence was not removed");
        });
      }
    }
  }

  return {
    find: async (request) => (await findReplay(request)).response,
    async run(request, work) {
      if (request.fingerprint.length !== FINGERPRINT_BYTES) {
        throw new AppError("validation_error", "A key needs the request's fingerprint.", {
          fields: [{ field: "fingerprint", code: "invalid_format", message: "SHA-256, 32 bytes." }],
        });
      }
      const rival = running.get(request.scope);
      if (rival !== undefined) {
        throw isSameBytes(rival, request.fingerprint) ? inProgress() : reused();
      }
      running.set(request.scope, request.fingerprint);
      try {
        return await runOnce(request, work);
      } finally {
        running.delete(request.scope);
      }
    },
    close: () => lookups.close(),
  };
}

/** A request that lacks the funds, or the key, may be the shadow of a twin that just won. */
function mayHaveLost(error: unknown): boolean {
  if (error instanceof KeyLost) return true;
  return error instanceof AppError && error.code === "insufficient_balance";
}

function inProgress(): AppError {
  return new AppError("conflict", "A request with this key is still in progress.");
}

function reused(): AppError {
  return new AppError("idempotency_key_reused", "This key was used with a different request.");
}

/** Tells whether two byte strings are equal. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
