/**
 * Feeds campaigns by round robin, one step each, so that no campaign waits for another. A lease keeps two processes
 * from the same work. Correctness does not depend on it: every step is a transaction on the campaign.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { backoffMs } from "../../shared/flow/backoff.ts";
import { type Loop, startLoop } from "../../shared/flow/periodic.ts";
import { type Campaign, isOpen } from "../domain/campaign.ts";
import { COUNTS_AGE_MS, chunkSize, queueAheadMax } from "../domain/chunk-size.ts";
import { countChanges, type Progress } from "../domain/progress.ts";
import { endWaitingRow } from "../domain/row.ts";
import type { Chunks, OpenChunk } from "./chunks.ts";
import type { CampaignStore, Messaging } from "./ports.ts";

export type FeederParts = {
  readonly store: CampaignStore;
  readonly messaging: Pick<Messaging, "cancelWaiting">;
  readonly chunks: Chunks;
  readonly clock: Clock;
  readonly log: Logger;
  /** Names this process in leases. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly onChunk: (rows: number) => void;
};

/** The pause between two polls while this process feeds a campaign. After a chunk the next poll follows at once. */
const INTERVAL_MS = 200;
/** The pause between two polls without a campaign. A start in this process does not wait for it (`nudge`). */
const IDLE_INTERVAL_MS = 1000;
/** The most campaigns that one process leases; others wait for a lease. */
const CAMPAIGNS_MAX = 100;
const STEPS_AT_ONCE = 4;
const BACKOFF_MS = { base: 100, cap: 5000 };
/** The longest and the shortest span over which the rate is measured at which messages leave the queue. */
const RATE_WINDOW_MS = 5000;
const RATE_SPAN_MIN_MS = 300;
/** A campaign counts as starting for this long: the carriers' rate is not known yet. */
const STARTING_MS = 3000;
/** Rows that one transaction ends. */
const END_STEP = 1000;

/** The state of a campaign's feeding in this process; losing it costs time only. */
type Memory = {
  /** When this process began to feed the campaign, on the clock of `performance`. */
  readonly sinceMs: number;
  /** The chunk that the last step opened. */
  opened: OpenChunk | undefined;
  failures: number;
  /** When the first of the consecutive failures occurred. */
  failingSinceMs: number;
  retryAtMs: number;
  samples: { readonly atMs: number; readonly left: number }[];
};

/** The figures of a feeder for metrics. */
export type FeedingFigures = {
  /** Campaigns that this process has leased. */
  readonly campaigns: number;
  /** How long the campaign that fails longest has failed; 0 when none fails. */
  readonly failingMs: number;
};

/** A running feeder. */
export type Feeder = Loop & {
  figures(): FeedingFigures;
  /** True while the rate of a campaign is not known yet. */
  isStarting(): boolean;
};

/** Starts the feeder. */
export function startFeeder(parts: FeederParts): Feeder {
  const { store, clock, log, owner } = parts;
  const memories = new Map<string, Memory>();

  async function pass(): Promise<boolean> {
    const nowMs = clock.now();
    const leased = await store.leaseWork(owner, nowMs, nowMs + parts.leaseMs, CAMPAIGNS_MAX);
    const ids = new Set(leased.map(({ id }) => id));
    for (const id of memories.keys()) if (!ids.has(id)) memories.delete(id);
    let hasMore = false;
    const queue = leased.values();
    const worker = async () => {
      for (const campaign of queue) if (await guardedStep(campaign)) hasMore = true;
    };
    await Promise.all(Array.from({ length: STEPS_AT_ONCE }, worker));
    return hasMore;
  }

  /** One step; a failure delays this campaign alone. */
  async function guardedStep(campaign: Campaign): Promise<boolean> {
    const memory = memories.get(campaign.id) ?? newMemory();
    memories.set(campaign.id, memory);
    if (memory.retryAtMs > performance.now()) return false;
    try {
      const more = await step(campaign, memory);
      memory.failures = 0;
      return more;
    } catch (error) {
      if (memory.failures === 0) memory.failingSinceMs = performance.now();
      memory.failures += 1;
      const waitMs = backoffMs(memory.failures, BACKOFF_MS.base, BACKOFF_MS.cap);
      memory.retryAtMs = performance.now() + waitMs;
      const { id: campaign_id, tenantId: tenant_id } = campaign;
      const { failures } = memory;
      log.warn({ error, campaign_id, tenant_id, failures }, "feeding failed");
      return false;
    }
  }

  async function step(campaign: Campaign, memory: Memory): Promise<boolean> {
    if (campaign.status !== "running") return takeBack(campaign);
    const aheadMax = queueAheadMax(leavingRate(memory, campaign.progress, clock.now()));
    const sizeOf = (now: Campaign) => chunkSize(now, aheadMax, clock.now());
    let opened = memory.opened;
    if (campaign.openChunk === undefined) {
      opened = count(await parts.chunks.open(campaign.id, sizeOf));
      if (opened === undefined) return false;
    } else if (opened?.chunk.number !== campaign.openChunk) opened = undefined;
    memory.opened = undefined;
    memory.opened = count(await parts.chunks.send(campaign, opened, sizeOf));
    return true;
  }

  function count(opened: OpenChunk | undefined): OpenChunk | undefined {
    if (opened !== undefined) parts.onChunk(opened.chunk.indexes.length);
    return opened;
  }

  /** Takes back queued messages, after a crash or in the background of a pause or a cancel. */
  async function takeBack(campaign: Campaign): Promise<boolean> {
    if (campaign.openChunk !== undefined) {
      await parts.chunks.close(campaign);
      return true;
    }
    if (!campaign.takesBack) return false;
    if ((await parts.messaging.cancelWaiting(campaign)) > 0) return true;
    return endStep(campaign.id);
  }

  /** Ends waiting rows of an ended campaign; then nothing is left to take back. */
  async function endStep(campaignId: string): Promise<boolean> {
    const more = await store.transact<boolean>(campaignId, async (tx) => {
      const { campaign } = tx;
      if (!campaign.takesBack || campaign.openChunk !== undefined) return { result: false };
      const rows = isOpen(campaign.status) ? [] : await tx.firstWaitingStates(END_STEP);
      const changes = rows.flatMap((before) => {
        const after = endWaitingRow(before);
        return after === undefined ? [] : [{ before, after }];
      });
      await tx.saveRows(changes);
      const progress = countChanges(campaign.progress, changes);
      const isDone = rows.length < END_STEP;
      return { result: !isDone, campaign: { ...campaign, progress, takesBack: !isDone } };
    });
    return more === true;
  }

  const intervalMs = () => (memories.size > 0 ? INTERVAL_MS : IDLE_INTERVAL_MS);
  const loop = startLoop({ name: "campaign feeder", intervalMs, log, work: pass });
  return {
    nudge: loop.nudge,
    figures() {
      const failing = [...memories.values()].filter(({ failures }) => failures > 0);
      const sinceMs = Math.min(...failing.map(({ failingSinceMs }) => failingSinceMs));
      const failingMs = failing.length === 0 ? 0 : performance.now() - sinceMs;
      return { campaigns: memories.size, failingMs };
    },
    isStarting() {
      const startedAfterMs = performance.now() - STARTING_MS;
      return [...memories.values()].some(({ sinceMs }) => sinceMs > startedAfterMs);
    },
    async close() {
      await loop.close();
      // The next process need not wait for the leases to end.
      await store.releaseLeases(owner).catch(() => undefined);
    },
  };
}

function newMemory(): Memory {
  return {
    sinceMs: performance.now(),
    opened: undefined,
    ...{ failures: 0, failingSinceMs: 0, retryAtMs: 0 },
    samples: [],
  };
}

/** Messages per second that left the queue, over about the last `RATE_WINDOW_MS`. */
function leavingRate(memory: Memory, progress: Progress, nowMs: number): number {
  const left =
    progress.sent + progress.delivered + progress.undelivered + progress.expired + progress.failed;
  const { samples } = memory;
  if (samples.at(-1)?.left !== left) samples.push({ atMs: nowMs, left });
  while ((samples[1]?.atMs ?? nowMs) < nowMs - RATE_WINDOW_MS) samples.shift();
  const [first = { atMs: nowMs, left }] = samples;
  const latest = samples.at(-1) ?? first;
  const overMs = latest.atMs - first.atMs;
  if (overMs < RATE_SPAN_MIN_MS) return 0;
  const lateMs = Math.max(0, nowMs - latest.atMs - COUNTS_AGE_MS);
  return Math.max(0, ((latest.left - first.left) * 1000) / (overMs + lateMs));
}
