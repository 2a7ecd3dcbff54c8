/**
 * At most one effect per idempotency key (`docs/contract.md#idempotency`), in services that store their own responses.
 * A creation stores its response in its own transaction. Other operations may be repeated without harm, so their
 * response is stored after the effect; after a crash between the two a repeat runs again.
 */

/** The first answer to an idempotency key. */
export type KeyedAnswer = {
  /** Tenant, mode, operation and key. */
  readonly scope: string;
  readonly fingerprint: Uint8Array;
  readonly response: Uint8Array;
};

/** A key with the fingerprint of its request. */
export type RequestKey = Pick<KeyedAnswer, "scope" | "fingerprint">;

/** The port to stored answers and to the locks of running requests. */
export type Idempotency = {
  /** Throws `idempotency_key_reused` when the key belongs to another request. */
  find(key: RequestKey): Promise<Uint8Array | undefined>;
  /** While a request with the key runs, throws `conflict` for the same request, else `idempotency_key_reused`. */
  exclusively<T>(key: RequestKey, work: () => Promise<T>): Promise<T>;
  save(answer: KeyedAnswer): Promise<void>;
};

/** An encoded answer, and whether it is the stored first one. */
export type Answered = { readonly response: Uint8Array; readonly replayed: boolean };

/** Runs work once per key; without a key, each time. `work` returns whether it has stored its answer itself. */
export async function runOnce(
  idempotency: Idempotency,
  key: RequestKey | undefined,
  work: () => Promise<{ readonly response: Uint8Array; readonly isStored: boolean }>,
): Promise<Answered> {
  if (key === undefined) return { response: (await work()).response, replayed: false };
  const stored = await idempotency.find(key);
  if (stored !== undefined) return { response: stored, replayed: true };
  return idempotency.exclusively(key, async () => {
    // The request that held the lock before may have stored its answer meanwhile.
    const first = await idempotency.find(key);
    if (first !== undefined) return { response: first, replayed: true };
    const { response, isStored } = await work();
    if (!isStored) await idempotency.save({ ...key, response });
    return { response, replayed: false };
  });
}
