import type { Readable } from "node:stream";
import type { Caller } from "../auth/caller.ts";
import type { OperationDoc } from "../docs/operation-doc.ts";

/** The input of a handler, after all earlier checks. */
export type OperationRequest = {
  readonly caller: Caller;
  readonly requestId: string;
  /** Path parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query string as sent, without the question mark; empty when there is none. */
  readonly query: string;
  /** The raw body; empty when there is none. */
  readonly bodyBytes: Buffer;
  /** The `Idempotency-Key` header as sent. */
  readonly idempotencyKey: string | undefined;
  /** Whether the body is `text/csv`; only where the operation takes files. */
  readonly isCsv: boolean;
  /** Whether the caller asks for `text/csv`. */
  readonly wantsCsv: boolean;
  /** Creates a signal that is aborted when the client leaves; a function, because most requests need no signal. */
  readonly whenLeft: () => AbortSignal;
};

/** The output of a handler; the body is serialised as it is. */
export type OperationResponse = {
  readonly status: number;
  readonly body?: unknown;
  /** A file in place of the body. */
  readonly csv?: string;
  /** A file of any length, read as fast as the client takes it. */
  readonly csvStream?: Readable;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The methods of operations. */
export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** One REST operation: the operation table and the OpenAPI document are both built from it. */
export type Operation = {
  readonly method: Method;
  /** A template; parameters are written `:name`. */
  readonly path: string;
  readonly scope: string;
  /** The operation may wait for seconds without work, so the load limit does not count it. */
  readonly isLongPoll?: boolean;
  /** The operation reads all that the account has, so each tenant runs one at a time (`read-shares.ts`). */
  readonly isScan?: boolean;
  /** The operation changes rules of live sends, so a test key gets 403. */
  readonly isLiveOnly?: boolean;
  /** Responses carry Deprecation, Sunset and Link. */
  readonly isDeprecated?: boolean;
  /** Removed: responds with 404, and is in neither the documentation nor `Allow`. */
  readonly isRemoved?: boolean;
  /** The documentation of the operation. */
  readonly doc: OperationDoc;
  readonly handle: (request: OperationRequest) => Promise<OperationResponse>;
};
