/**
 * Large bodies. One of 4 MiB takes some 30 MB and 20 ms of the event loop while it is parsed and passed on, so a
 * hundred at once from one account would take the memory and the time of all. Few are received and handled at
 * once, in total and for each tenant; the others wait, unread on their connections.
 */
import { AppError } from "../../services/shared/core/errors.ts";
import { createLoopTurns } from "../../services/shared/flow/loop-turns.ts";
import { createWeightedSemaphore } from "../../services/shared/flow/weighted-semaphore.ts";
import { serviceBusy } from "../load-shedding/load-limiter.ts";

/** Bodies above this size are admitted before they are kept. A single send of ten segments has at most 10 KB. */
export const LARGE_BYTES = 65_536;

const MIB = 1_048_576;

/** The limit of a tenant's large bodies in bytes, from admission to response: 3 of the largest, or 64 usual batches. */
const RECEIVED_BYTES_MAX = 12 * MIB;

/** Bytes of large bodies that are handled at once, which means parsed, passed to a service and answered. */
const HANDLED_BYTES_MAX = { total: 16 * MIB, tenant: 8 * MIB };

/** A body that is handled counts as at least this, because the work for small items is more than their bytes. */
const HANDLED_BYTES_MIN = MIB;

/** The maximum number of a tenant's large bodies that wait. Each holds a connection and its socket's buffers. */
const WAITERS_MAX = 64;

/** How long a body waits until it may be kept, and then until it may be parsed. */
const RECEIVE_WAIT_MS = 5000;
const HANDLE_WAIT_MS = 10_000;

/** Admits large bodies. Both functions return the release, to be called after the response. */
export type LargeBodies = {
  /** Call before the body is kept. Throws `rate_limited` when the tenant has too many in progress. */
  receive(tenantId: string, bytes: number): Promise<() => void>;
  /** Call before the body is parsed. Throws `service_unavailable` when too many others are parsed first. */
  handle(tenantId: string, bytes: number): Promise<() => void>;
};

/** Creates the admission of one server. */
export function createLargeBodies(): LargeBodies {
  const received = createWeightedSemaphore({
    totalMax: Number.POSITIVE_INFINITY,
    keyMax: RECEIVED_BYTES_MAX,
    waitersMax: WAITERS_MAX,
    waitMaxMs: RECEIVE_WAIT_MS,
  });
  const handled = createWeightedSemaphore({
    totalMax: HANDLED_BYTES_MAX.total,
    keyMax: HANDLED_BYTES_MAX.tenant,
    // `RECEIVED_BYTES_MAX` bounds the waiters of each tenant.
    waitersMax: Number.POSITIVE_INFINITY,
    waitMaxMs: HANDLE_WAIT_MS,
  });
  const turns = createLoopTurns();
  return {
    async receive(tenantId, bytes) {
      const release = await received.acquire(tenantId, bytes);
      if (release !== undefined) return release;
      throw new AppError(
        "rate_limited",
        "Too many large requests at once; send fewer in parallel.",
      );
    },
    async handle(tenantId, bytes) {
      const release = await handled.acquire(tenantId, Math.max(HANDLED_BYTES_MIN, bytes));
      if (release === undefined) throw serviceBusy();
      await turns.next();
      return release;
    },
  };
}
