import type { SchemaObject } from "ajv";
import type { ErrorCode } from "../../services/shared/core/errors.ts";
import type { QuerySchema } from "../schemas/query.ts";

/** A JSON schema of OpenAPI 3.1; references point into the document's components. */
export type Schema = SchemaObject;

/** Headers of some responses; those of all responses are added everywhere. */
export type HeaderName =
  | "Location"
  | "Idempotent-Replayed"
  | "Deprecation"
  | "Sunset"
  | "Link"
  | "Retry-After"
  | "WWW-Authenticate"
  | "RateLimit-Limit"
  | "RateLimit-Remaining"
  | "RateLimit-Reset";

/** Headers of the responses of a deprecated operation. */
export const DEPRECATION = ["Deprecation", "Sunset", "Link"] as const;

/** The success response of an operation. */
export type SuccessResponse = {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Absent when the response has no body. */
  readonly schema?: Schema;
  readonly example?: unknown;
  /** An example of the response as `text/csv`, where the caller may ask for it. */
  readonly csvExample?: string;
  readonly headers?: readonly HeaderName[];
  /** Operations on the created resource: operation id to the name of its id parameter. */
  readonly leadsTo?: Readonly<Record<string, string>>;
};

/** The documentation of one operation, except its method, path and scope. */
export type OperationDoc = {
  /** Unique: a verb and a noun. */
  readonly id: string;
  readonly tag:
    | "Sending"
    | "Messages"
    | "Balance"
    | "Sender IDs"
    | "Webhook endpoints"
    | "Events"
    | "Campaigns"
    | "API keys"
    | "Account"
    | "Usage"
    | "Consent";
  readonly summary: string;
  readonly description: string;
  readonly params?: Readonly<Record<string, Schema>>;
  readonly query?: QuerySchema;
  readonly body?: {
    /** The name of the body's schema among the document's components. */
    readonly name: string;
    readonly isRequired: boolean;
    readonly example: unknown;
    /** An example of a `text/csv` file, where the operation takes one. */
    readonly csvExample?: string;
  };
  readonly takesIdempotencyKey?: boolean;
  readonly response: SuccessResponse;
  /** Whether events are sent to the `url` in the request afterwards. */
  readonly isFollowedByEvents?: boolean;
  /** Error codes of this operation, in addition to those of every operation. */
  readonly errors: readonly ErrorCode[];
};

/** A reference to a schema of the document's components. */
export function componentRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** `{data: …}` with this component; `envelopes.ts` has its schema. */
export function dataOf(name: string): Schema {
  return componentRef(`${name}Response`);
}

/** A page, `{data: […], next_cursor}`, of this component. */
export function pageOf(name: string): Schema {
  return componentRef(`${name}Page`);
}

/** The body of an operation that takes none. */
export const NO_BODY = {
  name: "EmptyBody",
  isRequired: false,
  example: {},
} as const;
