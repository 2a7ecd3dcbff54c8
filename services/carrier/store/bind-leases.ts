/**
 * Leases on binds: a bind never has two owners.
 *
 * A lease is a document with an owner and an expiry, by MongoDB's clock. It lasts 12 s; its owner renews it every
 * second. An owner that cannot renew counts from the start of its last successful renewal: after 9 s `isValid` turns
 * false and the supervisor closes its links, 3 s before another process can take the lease.
 *
 * With R live processes each takes at most 1/R of a connector's binds, rounded up. It releases surplus leases only
 * when their links are closed: the next owner opens its link at once, and a carrier may refuse a second bind.
 */
import type { Collection, Db, Document } from "mongodb";
import { isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { BindLeases } from "../app/ports.ts";

type LeaseDocument = { _id: string; owner: string; expires_at: Date };

/** How long a lease lasts without renewal. */
const LEASE_TTL_MS = 12_000;
/** The share of a lease's time after which an owner that cannot renew must close its links. */
const VALID_SHARE = 0.75;

/** Creates the leases of a process; `owner` is its unique name. */
export function createBindLeases(db: Db, owner: string, ttlMs = LEASE_TTL_MS): BindLeases {
  const collection: Collection<LeaseDocument> = db.collection("leases");
  /** The bind of each lease, by the name of the lease. */
  const held = new Map<string, { readonly connectorId: string; readonly index: number }>();
  let replicas = 1;
  let validUntilMs = 0;

  const renewal: Document[] = [{ $set: { owner, expires_at: { $add: ["$$NOW", ttlMs] } } }];
  const isFreeOrMine = {
    $expr: { $or: [{ $eq: ["$owner", owner] }, { $lt: ["$expires_at", "$$NOW"] }] },
  };

  async function take(name: string): Promise<boolean> {
    const result = await collection.updateOne({ _id: name, ...isFreeOrMine }, renewal);
    if (result.matchedCount === 1) return true;
    try {
      // Inserts the lease when there is none; a lease of another owner is a duplicate key.
      await collection.updateOne({ _id: name, owner }, renewal, { upsert: true });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async function renewHeld(): Promise<void> {
    if (held.size === 0) return;
    const names = [...held.keys()];
    const { matchedCount } = await collection.updateMany({ _id: { $in: names }, owner }, renewal);
    if (matchedCount === names.length) return;
    const mine = await collection.find({ _id: { $in: names }, owner }).toArray();
    const kept = new Set(mine.map(({ _id }) => _id));
    for (const name of names) if (!kept.has(name)) held.delete(name);
  }

  async function release(names: readonly string[]): Promise<void> {
    for (const name of names) held.delete(name);
    if (names.length > 0) await collection.deleteMany({ _id: { $in: [...names] }, owner });
  }

  async function syncConnector(connectorId: string, binds: number): Promise<number[]> {
    const share = Math.ceil(binds / Math.max(1, replicas));
    const indexes = Array.from({ length: binds }, (_, index) => index);
    const mine = indexes.filter((index) => held.has(bindName(connectorId, index))).slice(0, share);
    for (const index of indexes) {
      if (mine.length >= share) break;
      const name = bindName(connectorId, index);
      if (held.has(name) || !(await take(name))) continue;
      held.set(name, { connectorId, index });
      mine.push(index);
    }
    return mine.sort((a, b) => a - b);
  }

  return {
    get replicas() {
      return replicas;
    },
    get isValid() {
      return performance.now() < validUntilMs;
    },
    async sync(wanted, isLinked = () => false) {
      const askedMs = performance.now();
      await take(`replica/${owner}`);
      await renewHeld();
      validUntilMs = askedMs + ttlMs * VALID_SHARE;
      replicas = await collection.countDocuments({
        _id: { $gte: "replica/", $lt: "replica0" },
        $expr: { $gte: ["$expires_at", "$$NOW"] },
      });
      const owned = new Map<string, number[]>();
      for (const [connectorId, binds] of wanted) {
        owned.set(connectorId, await syncConnector(connectorId, binds));
      }
      const surplus = [...held].filter(
        ([, { connectorId, index }]) =>
          owned.get(connectorId)?.includes(index) !== true && !isLinked(connectorId, index),
      );
      await release(surplus.map(([name]) => name));
      return owned;
    },
    async releaseAll() {
      held.clear();
      validUntilMs = 0;
      await collection.deleteMany({ owner });
    },
  };
}

function bindName(connectorId: string, index: number): string {
  return `bind/${connectorId}/${index}`;
}
