/** The OpenAPI document that the clients are generated from, built without a running gateway. */
import { createHash } from "node:crypto";
import { buildOpenApi } from "../../gateway/docs/openapi.ts";
import { createOperations, type OperationPorts } from "../../gateway/operations/all.ts";
import { ERRORS } from "../../services/shared/core/errors.ts";

/** A JSON schema. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly description?: string;
};

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

/** One operation of the document. */
export type DocumentOperation = {
  readonly operationId: string;
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
};

/** The parts of the document that the generators read. */
export type ClientDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly webhooks: Readonly<
    Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/** Builds the document. The operations are only described, so they need no ports. */
export function clientDocument(): ClientDocument {
  const operations = createOperations({} as OperationPorts, true);
  const document: unknown = buildOpenApi(operations, {
    baseUrl: "/",
    docsUrl: "https://docs.example.com",
  });
  // A copy as JSON has neither frozen nor shared parts.
  return JSON.parse(JSON.stringify(document)) as ClientDocument;
}

/** An operation with its place. */
export type PlacedOperation = DocumentOperation & {
  readonly method: string;
  readonly path: string;
};

/** The operations that clients have; a deprecated one has a successor with the same content. */
export function currentOperations({ paths }: ClientDocument): PlacedOperation[] {
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path,
      })),
    )
    .filter(({ deprecated = false }) => !deprecated);
}

/** Every code of a problem. */
export const ERROR_CODES = Object.keys(ERRORS);

/** A hash of the parts from which types are generated. Descriptions and the version are left out. */
export function shapeHash(document: ClientDocument): string {
  const { paths, webhooks, components } = document;
  const shape = JSON.stringify({ paths, webhooks, components }, (name, value: unknown) =>
    ["description", "summary", "example", "examples"].includes(name) && !isSchemaOfMember(value)
      ? undefined
      : value,
  );
  return createHash("sha256").update(shape).digest("hex");
}

/** A member that happens to be called `description` is a schema, and a text is not. */
function isSchemaOfMember(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value;
}
