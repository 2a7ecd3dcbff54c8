import { monotonicFactory } from "ulid";
import { ID_PREFIXES, type IdKind } from "../../services/shared/core/ids.ts";

const factories = new Map<number, ReturnType<typeof monotonicFactory>>();

/**
 * Creates an identifier of exactly that instant; those of one instant increase. `newId` never goes back in time: once
 * the process has made an id of now, an earlier instant gives a later id, and files that share a process would differ
 * from a file alone.
 */
export function idAt(kind: IdKind, atMs: number): string {
  const factory = factories.get(atMs) ?? monotonicFactory();
  factories.set(atMs, factory);
  return ID_PREFIXES[kind] + factory(atMs);
}
