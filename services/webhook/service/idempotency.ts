/** Requests that have an effect at most once per idempotency key (`decisions.md` "Idempotency"). */

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
  /** Runs the effect in a transaction with its record, or answers the stored response. */
  run<Response>(
    request: RequestKey,
    codec: Codec<Response>,
    effect: (session: Session) => Promise<Response>,
  ): Promise<Once<Response>>;
};
