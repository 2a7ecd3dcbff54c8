import type { OperationDoc } from "../docs/operation-doc.ts";
import type { Caller } from "../http/request-state.ts";

/** What a handler is given: everything before it has been checked. */
export type OperationRequest = {
  readonly caller: Caller;
  readonly requestId: string;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query string as sent, without its question mark; empty when there is none. */
  readonly query: string;
  /** The raw body; empty when there was none. */
  readonly bodyBytes: Buffer;
  /** The `Idempotency-Key` header as sent. */
  readonly idempotencyKey: string | undefined;
};

/** What a handler answers: the body is serialised as it is. */
export type OperationResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The methods that operations have. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** What one operation is, for the router and for the OpenAPI document alike. */
export type Operation = {
  readonly method: Method;
  /** With `:name` for parameters. */
  readonly path: string;
  readonly scope: string;
  /** Its responses carry Deprecation, Sunset and Link. */
  readonly isDeprecated?: boolean;
  /** It has been taken away and answers 404; neither documented nor named in `Allow`. */
  readonly isRemoved?: boolean;
  /** What the OpenAPI document says of it. */
  readonly doc: OperationDoc;
  readonly handle: (request: OperationRequest) => Promise<OperationResponse>;
};
