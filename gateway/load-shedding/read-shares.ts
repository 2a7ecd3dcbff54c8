/**
 * Reads that cost a service far more than their request costs the rate limit: pages of lists, and scans, which read
 * all that an account has. A tenant has a few of them in progress at a gateway; its others wait. Without this bound
 * one key takes every database connection of a service, and the sends of all tenants wait for one (ADR 159).
 */
import { AppError } from "../../services/shared/core/errors.ts";
import {
  createWeightedSemaphore,
  type WeightedSemaphore,
} from "../../services/shared/flow/weighted-semaphore.ts";
import type { Operation } from "../operations/operation.ts";

/** Ends a read. Calls after the first do nothing. */
type EndRead = () => void;

/** The reads in progress. */
export type ReadShares = {
  /** Waits until the tenant may read one more page. Throws `rate_limited`. */
  page(tenantId: string): Promise<EndRead>;
  /** Waits until the tenant may begin this scan. Throws `rate_limited`. */
  scan(tenantId: string, operationId: string): Promise<EndRead>;
};

/** Pages that a tenant reads at once: 4 of a service's 20 database connections. A usual burst fits in the waiters. */
const PAGES = {
  totalMax: Number.POSITIVE_INFINITY,
  keyMax: 4,
  waitersMax: 256,
  waitMaxMs: 5000,
} as const;

/** Scans at once, one for a tenant: each takes one connection, and seconds of the database's processor. */
const SCANS = { totalMax: 6, keyMax: 1, waitersMax: 128, waitMaxMs: 5000 } as const;

/** Creates the shares of one gateway. */
export function createReadShares(): ReadShares {
  const pages = createWeightedSemaphore(PAGES);
  /** Semaphores of scans, one for each operation: a service that does not answer must not block the scans of others. */
  const scans = new Map<string, WeightedSemaphore>();
  return {
    page: (tenantId) => begin(pages, tenantId),
    scan(tenantId, operationId) {
      const own = scans.get(operationId) ?? createWeightedSemaphore(SCANS);
      scans.set(operationId, own);
      return begin(own, tenantId);
    },
  };
}

/** Begins the page or scan of an operation; undefined for others. A long poll takes its own share. */
export function beginRead(
  reads: ReadShares,
  { doc, isScan, isLongPoll }: Operation,
  tenantId: string,
): Promise<EndRead> | undefined {
  if (isScan === true) return reads.scan(tenantId, doc.id);
  const isPage = doc.query?.limit !== undefined && isLongPoll !== true;
  return isPage ? reads.page(tenantId) : undefined;
}

async function begin(semaphore: WeightedSemaphore, tenantId: string): Promise<EndRead> {
  const end = await semaphore.acquire(tenantId, 1);
  if (end !== undefined) return end;
  const text = "Too many reads of this kind at once; send fewer in parallel.";
  throw new AppError("rate_limited", text, { retryAfterMs: 1000 });
}
