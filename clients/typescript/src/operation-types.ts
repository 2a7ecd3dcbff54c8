/** Types of bodies, queries and responses by operation, from the generated types. */

import type { operations } from "./generated/openapi.ts";
import type { OperationId } from "./generated/operations.ts";

type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;

type Success<Responses> = Responses[Extract<keyof Responses, 200 | 201 | 202>];

/** The JSON body of an operation's success. */
export type ResponseOf<Id extends OperationId> = Json<Success<operations[Id]["responses"]>>;

/** The `data` of an operation's success. */
export type DataOf<Id extends OperationId> =
  ResponseOf<Id> extends { data: infer Data } ? Data : never;

/** One entry of an operation that lists. */
export type EntryOf<Id extends OperationId> =
  DataOf<Id> extends readonly (infer Entry)[] ? Entry : never;

/** The JSON body that an operation takes. */
export type BodyOf<Id extends OperationId> = Json<NonNullable<operations[Id]["requestBody"]>>;

/** The query of an operation; a list moves its `cursor` itself. */
export type QueryOf<Id extends OperationId> = NonNullable<operations[Id]["parameters"]["query"]>;
