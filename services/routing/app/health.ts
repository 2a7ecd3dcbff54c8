import type { Clock } from "../../shared/core/clock.ts";
import { createUnbroken } from "../../shared/core/continuity.ts";
import {
  type BindHealth,
  firstVerdict,
  judgeConnector,
  judgingGapMs,
  type Verdict,
} from "../domain/health.ts";

/** A connector's last judgement and the new one. */
export type Judged = { readonly before: Verdict; readonly after: Verdict };

/** Where reports and judgements are kept, for all replicas of this service. */
export type HealthStore = {
  /** Keeps the newest report of each bind; a silent bind's report goes away after a minute. */
  saveReports(reports: readonly BindHealth[]): Promise<void>;
  listReports(): Promise<BindHealth[]>;
  listVerdicts(): Promise<Verdict[]>;
  /** Saves judgements, except where another replica has judged since `before` was read. */
  saveVerdicts(judged: readonly Judged[]): Promise<void>;
  removeVerdicts(connectorIds: readonly string[]): Promise<void>;
};

/** What the health service needs. */
export type HealthPorts = {
  readonly store: HealthStore;
  readonly clock: Clock;
  /** No step of the machine's clock shows in it. */
  readonly steady: Clock;
  /** How often it is asked to judge. */
  readonly everyMs: number;
  readonly listConnectorIds: () => Promise<string[]>;
  /** Tells caches that a connector's standing changed. */
  readonly announce: () => void;
};

/** The use cases on connector health. */
export type HealthService = ReturnType<typeof createHealthService>;

/** Makes the health service on its ports. */
export function createHealthService(ports: HealthPorts) {
  const { store, clock, steady, listConnectorIds, announce } = ports;
  const judging = createUnbroken(clock, steady, judgingGapMs(ports.everyMs));
  let lastKnown: readonly string[] = [];

  return {
    report(reports: readonly BindHealth[]): Promise<void> {
      const nowMs = clock.now();
      // This side's clock counts: a carrier's may be off, and freshness is judged here.
      return store.saveReports(reports.map((report) => ({ ...report, reportedAtMs: nowMs })));
    },

    listReports: () => store.listReports(),

    /** Judges every connector anew by what its binds last said. */
    async judgeAll(): Promise<void> {
      const nowMs = clock.now();
      const [ids, verdicts, reports] = await Promise.all([
        listConnectorIds(),
        store.listVerdicts(),
        store.listReports(),
      ]);
      // Without the database nothing is judged, and nothing that was reported is there.
      const watchedMs = judging.forMs();
      judging.note();
      const known = new Map(verdicts.map((verdict) => [verdict.connectorId, verdict]));
      const byConnector = Map.groupBy(reports, ({ connectorId }) => connectorId);
      const judged = ids.map((id): Judged => {
        const before = known.get(id) ?? firstVerdict(id, nowMs);
        const own = byConnector.get(id) ?? [];
        return { before, after: judgeConnector(before, own, nowMs, watchedMs) };
      });
      await store.saveVerdicts(judged);
      const gone = verdicts.map(({ connectorId }) => connectorId).filter((id) => !ids.includes(id));
      if (gone.length > 0) await store.removeVerdicts(gone);
      // Where another replica was first, it has announced the same.
      if (judged.some(changesOrder)) announce();
    },

    /** Connectors whose routes are to be tried last; the last known ones while the store is away. */
    async listFailing(): Promise<readonly string[]> {
      try {
        const verdicts = await store.listVerdicts();
        lastKnown = verdicts
          .filter(({ state }) => state === "failing")
          .map(({ connectorId }) => connectorId);
      } catch {
        // A table without fresh health is better than none.
      }
      return lastKnown;
    },
  };
}

/** Whether the connector's routes move behind all others, or back. */
function changesOrder({ before, after }: Judged): boolean {
  return (before.state === "failing") !== (after.state === "failing");
}
