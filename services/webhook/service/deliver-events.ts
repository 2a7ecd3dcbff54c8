/**
 * From events to deliveries: one delivery per (event, endpoint) is stored before the event is
 * acknowledged. Those that the dispatcher has room for are stored as leased to this process,
 * so that the first attempt starts at once without a further query; the rest wait in the database.
 */
import { ulid } from "ulid";
import type { Clock } from "../../shared/core/clock.ts";
import { idTimeMs } from "../../shared/core/ids.ts";
import type { Claimed } from "../domain/delivery.ts";
import { deliveryId } from "../domain/deterministic-ids.ts";
import { type Endpoint, wantsEvent } from "../domain/endpoint.ts";
import type { Notice } from "../domain/notices.ts";
import type { Dispatcher } from "./dispatcher.ts";
import {
  type DeliveryQueue,
  type EndpointStore,
  type Lease,
  type NewDelivery,
  UndeliverableError,
  type WebhookEvents,
} from "./ports.ts";

/** What delivering needs. */
export type DeliverParts = {
  readonly clock: Clock;
  readonly endpoints: Pick<EndpointStore, "findEnabled">;
  readonly queue: Pick<DeliveryQueue, "insert">;
  readonly dispatcher: Dispatcher;
  readonly events: WebhookEvents;
  readonly attemptsMax: number;
  readonly leaseMs: number;
};

type Planned = { readonly position: number; readonly delivery: NewDelivery };

/**
 * Stores the deliveries of each item's notices. Answers, for each item, the error that kept one
 * of its deliveries from being stored, or nothing. Rejects when the database is away.
 */
export async function deliverNotices(
  parts: DeliverParts,
  items: readonly (readonly Notice[])[],
): Promise<readonly (Error | undefined)[]> {
  const tenantIds = [...new Set(items.flatMap((notices) => notices.map((n) => n.tenantId)))];
  if (tenantIds.length === 0) return items.map(() => undefined);
  const endpoints = groupByTenant(await parts.endpoints.findEnabled(tenantIds));
  const lease = { id: ulid(), untilMs: parts.clock.now() + parts.leaseMs };
  const faults: (Error | undefined)[] = new Array(items.length).fill(undefined);
  const planned: Planned[] = [];
  items.forEach((notices, position) => {
    try {
      for (const delivery of plan(parts, notices, endpoints, lease)) {
        planned.push({ position, delivery });
      }
    } catch (cause) {
      // One event that has no body must not hold up the others.
      faults[position] = new UndeliverableError("no body can be made of the event", { cause });
    }
  });
  await store(parts, planned, faults);
  return faults;
}

/** Stores what was planned, starts what is leased, and notes what was refused. */
async function store(
  parts: DeliverParts,
  planned: readonly Planned[],
  faults: (Error | undefined)[],
): Promise<void> {
  if (planned.length === 0) return;
  const started: Claimed[] = [];
  let stored = 0;
  try {
    const results = await parts.queue.insert(planned.map(({ delivery }) => delivery));
    planned.forEach(({ position, delivery }, at) => {
      const result = results[at];
      if (result instanceof Error) faults[position] = result;
      if (result !== "stored") return;
      stored += 1;
      if (delivery.lease !== undefined) started.push(toClaimed(delivery, delivery.lease));
    });
  } finally {
    const reserved = planned.filter(({ delivery }) => delivery.lease !== undefined);
    for (const { delivery } of reserved) parts.dispatcher.unreserve(delivery.endpointId);
    parts.dispatcher.enqueue(started);
  }
  parts.events.onStored(stored);
}

/** The deliveries of one item; places are promised last, when nothing can throw any more. */
function plan(
  parts: DeliverParts,
  notices: readonly Notice[],
  endpoints: ReadonlyMap<string, readonly Endpoint[]>,
  lease: Lease,
): NewDelivery[] {
  const deliveries = notices.flatMap((notice) =>
    (endpoints.get(notice.tenantId) ?? [])
      .filter((endpoint) => wantsEvent(endpoint, notice))
      .map((endpoint) => ({
        id: deliveryId(notice.eventId(), endpoint.id),
        tenantId: notice.tenantId,
        endpointId: endpoint.id,
        eventId: notice.eventId(),
        eventType: notice.type,
        body: notice.body(),
        attemptsLeft: parts.attemptsMax,
        createdAtMs: idTimeMs(notice.eventId()),
        activatedAtMs: notice.occurredAtMs,
        trace: notice.trace,
        dueAtMs: parts.clock.now(),
      })),
  );
  return deliveries.map((delivery) => ({
    ...delivery,
    lease: parts.dispatcher.reserve(delivery.tenantId, delivery.endpointId) ? lease : undefined,
  }));
}

function toClaimed(delivery: NewDelivery, lease: Lease): Claimed {
  return {
    id: delivery.id,
    tenantId: delivery.tenantId,
    endpointId: delivery.endpointId,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    body: delivery.body,
    attemptsMade: 0,
    lastAnswerMs: 0,
    attemptsLeft: delivery.attemptsLeft,
    failsAs: "failed",
    activatedAtMs: delivery.activatedAtMs,
    trace: delivery.trace,
    dueAtMs: delivery.dueAtMs,
    leaseId: lease.id,
    leaseUntilMs: lease.untilMs,
  };
}

function groupByTenant(endpoints: readonly Endpoint[]): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const group = groups.get(endpoint.tenantId);
    if (group === undefined) groups.set(endpoint.tenantId, [endpoint]);
    else group.push(endpoint);
  }
  return groups;
}
