/**
 * Who may have which bind. A lease is a document with an owner and an end, by MongoDB's clock; its
 * owner renews it well before the end. An owner that cannot renew counts from before it asked, so
 * it stops before anybody else may start (`isValid` turns false, the supervisor fences its links):
 * one bind never has two owners.
 *
 * Binds are shared out evenly: with R processes alive, each takes at most the R-th part of a
 * connector's binds, rounded up, and gives back what it has beyond that: only when the links are
 * closed, since the next owner opens its own at once, and a carrier may refuse a second bind.
 */
import type { Collection, Db, Document } from "mongodb";
import { isDuplicateKey } from "../../shared/io/mongo-errors.ts";

type LeaseDocument = { _id: string; owner: string; expires_at: Date };

/** The leases of one process. */
export type Leases = {
  /** Processes alive, this one included. */
  readonly replicas: number;
  /**
   * Renews what is held and takes what is free of these binds; answers those that are this process's to
   * open. What it holds beyond them is released, or held on to while `isLinked` says that its link is
   * not closed yet: then by a later call.
   */
  sync(
    wanted: ReadonlyMap<string, number>,
    isLinked?: (connectorId: string, index: number) => boolean,
  ): Promise<ReadonlyMap<string, number[]>>;
  /** False from shortly before the leases could have ended unrenewed. */
  readonly isValid: boolean;
  releaseAll(): Promise<void>;
};

/** Makes the leases of a process; `ttlMs` is how long a silent owner keeps its binds. */
export function createLeases(db: Db, owner: string, ttlMs = 12_000): Leases {
  const collection: Collection<LeaseDocument> = db.collection("leases");
  /** By name, what each lease is of. */
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
      // Finds no such lease of mine, so it makes one, unless another's stands in its place.
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
      validUntilMs = askedMs + ttlMs * 0.75;
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
