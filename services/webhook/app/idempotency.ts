/** Requests that have an effect at most once per idempotency key (`decisions.md` "Idempotency"). */
import { AppError } from "../../shared/core/errors.ts";

/** Which request this is. An empty key means that the caller gave none. */
export type RequestKey = {
  readonly tenantId: string;
  readonly operation: string;
  readonly key: string;
  readonly fingerprint: Uint8Array;
};

/** A response, and whether it is the stored first one. */
export type Once<Response> = { readonly response: Response; readonly replayed: boolean };

/** How responses are kept. */
export type Codec<Response> = {
  readonly encode: (response: Response) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Response;
};

/** Runs effects at most once per key; `Session` is the database's transaction, opaque here. */
export type Idempotency<Session> = {
  /** The stored response of this request, if it has one. Throws idempotency_key_reused. */
  find<Response>(request: RequestKey, codec: Codec<Response>): Promise<Response | undefined>;
  /** Whether the request has its answer. Throws what its key would have it refused for; does nothing. */
  check(request: RequestKey): Promise<boolean>;
  /**
   * Runs work while no other request of the key runs, in any process. Throws `conflict` while the
   * same request runs, idempotency_key_reused while another does.
   */
  alone<T>(request: RequestKey, work: () => Promise<T>): Promise<T>;
  /**
   * Runs the effect in a transaction with its record. Where another request has stored one first,
   * what was done in the transaction is undone, and the stored response is the answer.
   */
  run<Response>(
    request: RequestKey,
    codec: Codec<Response>,
    effect: (session: Session) => Promise<Response>,
  ): Promise<Once<Response>>;
};

/** The error for a key that belongs to another request. */
export function keyReused(): AppError {
  return new AppError(
    "idempotency_key_reused",
    "This idempotency key was used with a different body.",
  );
}
