/**
 * Buffers of leased deliveries that wait for a permit, one per endpoint. Buffers are short: other
 * deliveries stay in the database, so a backlog costs no memory, and one endpoint's backlog never
 * takes all the places of another.
 */

import type { ConcurrencyLimiter } from "../domain/concurrency-limits.ts";
import type { Claimed } from "../domain/delivery.ts";

/** The buffer of one endpoint. */
export type EndpointBuffer = {
  readonly endpointId: string;
  readonly tenantId: string;
  queue: Claimed[];
  /** Places reserved for deliveries that are being stored. */
  reserved: number;
  active: number;
  /** More deliveries are due in the database: new ones wait behind them. */
  hasBacklog: boolean;
};

/** The buffers of a process. */
export type EndpointBuffers = {
  get(tenantId: string, endpointId: string): EndpointBuffer;
  find(endpointId: string): EndpointBuffer | undefined;
  /** How many further deliveries the endpoint may have in memory. */
  room(tenantId: string, endpointId: string): number;
  /** Deletes an empty buffer. */
  prune(buffer: EndpointBuffer): void;
  all(): IterableIterator<EndpointBuffer>;
  /** Deliveries waiting in memory. */
  readonly waiting: number;
  count(by: number): void;
};

/** Limits of the buffers. The guaranteed minimum of each buffer may add `total` once more. */
export type BufferLimits = { readonly perEndpoint: number; readonly total: number };

/** Places that a buffer gets even when `total` is used up. */
const LEAST = 16;

export function createEndpointBuffers(
  limits: BufferLimits,
  limiter: ConcurrencyLimiter,
): EndpointBuffers {
  const buffers = new Map<string, EndpointBuffer>();
  let waiting = 0;

  function shareOf(held: number): number {
    const left = limits.total - waiting + held;
    return Math.max(left, Math.min(LEAST, limits.total + left));
  }

  return {
    get(tenantId, endpointId) {
      let buffer = buffers.get(endpointId);
      if (buffer === undefined) {
        buffer = { endpointId, tenantId, queue: [], reserved: 0, active: 0, hasBacklog: false };
        buffers.set(endpointId, buffer);
      }
      return buffer;
    },
    find: (endpointId) => buffers.get(endpointId),
    room(tenantId, endpointId) {
      const buffer = buffers.get(endpointId);
      const held = buffer === undefined ? 0 : buffer.queue.length + buffer.reserved;
      // A slow endpoint would hold its places for long, so it gets only deliveries that can start
      // now.
      const cap = limiter.isSlow(endpointId)
        ? limiter.available(tenantId, endpointId)
        : Math.min(limits.perEndpoint, shareOf(held));
      return Math.max(0, cap - held);
    },
    prune(buffer) {
      const isEmpty = buffer.queue.length === 0 && buffer.reserved === 0 && buffer.active === 0;
      if (isEmpty && !buffer.hasBacklog) buffers.delete(buffer.endpointId);
    },
    all: () => buffers.values(),
    get waiting() {
      return waiting;
    },
    count(by) {
      waiting += by;
    },
  };
}
