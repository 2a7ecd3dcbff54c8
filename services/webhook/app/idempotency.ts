/** At most one effect per idempotency key (`docs/contract.md#idempotency`). */

/** Identifies a request. An empty key means that the caller gave none. */
export type RequestKey = {
  readonly tenantId: string;
  readonly operation: string;
  readonly key: string;
  readonly fingerprint: Uint8Array;
};

/** A response, and whether it is the stored first one. */
export type ReplayableResponse<Response> = {
  readonly response: Response;
  readonly replayed: boolean;
};

/** Serializes stored responses. */
export type Codec<Response> = {
  readonly encode: (response: Response) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Response;
};

/** `Session` is a database transaction, opaque here. */
export type Idempotency<Session> = {
  /** The stored response of this request. Throws idempotency_key_reused. */
  find<Response>(request: RequestKey, codec: Codec<Response>): Promise<Response | undefined>;
  /** Whether the request has a stored response. Throws the errors of `exclusively`; has no effect. */
  check(request: RequestKey): Promise<boolean>;
  /**
   * Runs work while no other request with the key runs, in any process. Throws `conflict` while the
   * same request runs, idempotency_key_reused while a different one does.
   */
  exclusively<T>(request: RequestKey, work: () => Promise<T>): Promise<T>;
  /**
   * Runs the effect in one transaction with its record. When another request stored a record first,
   * the transaction is rolled back and the stored response is returned.
   */
  run<Response>(
    request: RequestKey,
    codec: Codec<Response>,
    effect: (session: Session) => Promise<Response>,
  ): Promise<ReplayableResponse<Response>>;
};
