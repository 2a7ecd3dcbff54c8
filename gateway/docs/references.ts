/** References to named schemas, put in place of their copies. */
import { objectOrNull, type Schema } from "../schemas/schema-parts.ts";

/** Schema objects and the reference that replaces each in the document. */
export type Stands = ReadonlyMap<unknown, object>;

/** The schema of a word or null as one schema, which validates requests. The document shows a union instead. */
export type Nullable = {
  readonly type: readonly [unknown, "null"];
  readonly description: string;
  readonly enum: readonly unknown[];
};

/** The schema without null. */
export function withoutNull(schema: Nullable): Schema {
  return { ...schema, type: schema.type[0], enum: schema.enum.filter((word) => word !== null) };
}

/** A union of the reference and null. From a schema in one piece, generators make type names with numbers. */
export function referenceOrNull(name: string, { description }: Nullable): Schema {
  return objectOrNull({ $ref: `#/components/schemas/${name}` }, description);
}

/**
 * A copy of a part of the document in which each object of `named` is a reference. Requests are validated by the same
 * schema objects that the document publishes, with their parts inside them; generators need these parts to have names.
 */
export function withReferences<T>(part: T, named: Stands): T {
  return copy(part, named) as T;
}

/** The named schemas themselves. They contain references only to other named schemas. */
export function namedSchemas(
  schemas: Readonly<Record<string, object>>,
  named: Stands,
): Record<string, object> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, members(schema, named)]),
  );
}

function copy(part: unknown, named: Stands): unknown {
  if (typeof part !== "object" || part === null) return part;
  const reference = named.get(part);
  if (reference !== undefined) return reference;
  if (Array.isArray(part)) return part.map((item) => copy(item, named));
  return members(part, named);
}

function members(part: object, named: Stands): object {
  return Object.fromEntries(
    Object.entries(part).map(([member, value]) => [member, copy(value, named)]),
  );
}
