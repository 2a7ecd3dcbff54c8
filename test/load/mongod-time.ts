import type { MongoClient } from "mongodb";

/** Microseconds inside operations so far, by `database.collection`. */
export type MongodTime = ReadonlyMap<string, number>;

type Top = { totals: Record<string, { total?: { time: number } }> };

/** Reads the counters of mongod's `top` command, for the services' databases only. */
export async function mongodTime(client: MongoClient): Promise<MongodTime> {
  const { totals } = (await client.db("admin").command({ top: 1 })) as unknown as Top;
  const own = Object.entries(totals).filter(([name]) => name.startsWith("sms_"));
  return new Map(own.map(([name, { total }]) => [name.slice("sms_".length), total?.time ?? 0]));
}

/** How the time between two readings was shared by the collections; shares add up to 1. */
export function sharesByCollection(before: MongodTime, after: MongodTime): Map<string, number> {
  const spent = [...after].map(([name, us]) => [name, us - (before.get(name) ?? 0)] as const);
  const all = spent.reduce((sum, [, us]) => sum + us, 0);
  return new Map(spent.map(([name, us]) => [name, us / all]));
}
