import type { Db, Document, IndexDescription } from "mongodb";

/** The target indexes and validator of one collection. */
export type CollectionShape = {
  readonly name: string;
  readonly indexes: readonly IndexDescription[];
  /** A MongoDB `$jsonSchema`; documents that violate it are refused. */
  readonly validator?: Document;
  /**
   * A condition over fields of one document (an aggregation expression), in addition to the validator.
   */
  readonly condition?: Document;
};

/**
 * Creates or updates collections with their indexes and validators. Idempotent. Never drops an index: during an
 * upgrade the older version still needs its own.
 */
export async function shapeCollections(db: Db, shapes: readonly CollectionShape[]): Promise<void> {
  const existing = new Set(
    (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name),
  );
  for (const shape of shapes) {
    if (!existing.has(shape.name)) {
      await db.createCollection(shape.name).catch((error: unknown) => {
        // The migration of another replica may have created it first.
        if (
          !(error instanceof Error && "codeName" in error && error.codeName === "NamespaceExists")
        ) {
          throw error;
        }
      });
    }
    if (shape.validator !== undefined) {
      await db.command({
        collMod: shape.name,
        validator: {
          $jsonSchema: shape.validator,
          ...(shape.condition === undefined ? {} : { $expr: shape.condition }),
        },
        validationLevel: "strict",
        validationAction: "error",
      });
    }
    if (shape.indexes.length > 0) await db.collection(shape.name).createIndexes([...shape.indexes]);
  }
}
