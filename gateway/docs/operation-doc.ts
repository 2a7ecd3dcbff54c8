import type { SchemaObject } from "ajv";
import type { ErrorCode } from "../../services/shared/core/errors.ts";
import type { QuerySchema } from "../schemas/query.ts";

/** A JSON schema as OpenAPI 3.1 takes it; references point into the document's components. */
export type Schema = SchemaObject;

/** Headers that some answers carry; those that all carry go without saying. */
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

/** The answer of an operation that went well. */
export type SuccessResponse = {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Absent when the answer has no body. */
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly headers?: readonly HeaderName[];
  /** Operations that take the new thing's id, by operation id, with the name of that parameter. */
  readonly leadsTo?: Readonly<Record<string, string>>;
};

/** What the OpenAPI document says of one operation, beside its method, path and scope. */
export type OperationDoc = {
  /** Unique; a verb and a noun. */
  readonly id: string;
  readonly tag: "Sending" | "Messages" | "Balance" | "Sender IDs" | "Webhook endpoints";
  readonly summary: string;
  readonly description: string;
  readonly params?: Readonly<Record<string, Schema>>;
  readonly query?: QuerySchema;
  readonly body?: {
    readonly schema: Schema;
    readonly isRequired: boolean;
    readonly example: unknown;
  };
  readonly takesIdempotencyKey?: boolean;
  readonly response: SuccessResponse;
  /** Error codes of this operation, beyond those that every operation has. */
  readonly errors: readonly ErrorCode[];
};

/** A reference to a schema of the document's components. */
export function componentRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schema of `{data: …}`. */
export function dataOf(schema: Schema): Schema {
  return { type: "object", required: ["data"], properties: { data: schema } };
}

/** The schema of a page: `{data: […], next_cursor}`. */
export function pageOf(schema: Schema): Schema {
  return {
    type: "object",
    required: ["data", "next_cursor"],
    properties: {
      data: { type: "array", items: schema },
      next_cursor: {
        type: ["string", "null"],
        maxLength: 256,
        description: "Give it as `cursor` to read the next page; null on the last.",
      },
    },
  };
}
