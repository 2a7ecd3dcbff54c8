/** References to named schemas, put in place of their copies. */

/**
 * A copy of a part of the document in which each object of `named` is a reference. Requests are validated by the same
 * schema objects that the document publishes, with their parts inside them; generators need these parts to have names.
 */
export function withReferences<T>(part: T, named: ReadonlyMap<unknown, string>): T {
  return copy(part, named) as T;
}

/** The named schemas themselves: references stand in them only for other ones. */
export function namedSchemas(
  schemas: Readonly<Record<string, object>>,
  named: ReadonlyMap<unknown, string>,
): Record<string, object> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, members(schema, named)]),
  );
}

function copy(part: unknown, named: ReadonlyMap<unknown, string>): unknown {
  if (typeof part !== "object" || part === null) return part;
  const name = named.get(part);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(part)) return part.map((item) => copy(item, named));
  return members(part, named);
}

function members(part: object, named: ReadonlyMap<unknown, string>): object {
  return Object.fromEntries(
    Object.entries(part).map(([member, value]) => [member, copy(value, named)]),
  );
}
