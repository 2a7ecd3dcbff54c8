/**
 * From events to deliveries: one delivery per event and endpoint is stored before the event is
 * acknowledged. When the dispatcher has room, the first attempt starts at once:
 *
 * - to a fast endpoint, before the delivery is stored (`attempt-before-store.ts`);
 * - to any other endpoint, after the delivery is stored with a lease of this process.
 *
 * Other deliveries wait in the database. A redelivered event is stored before it is attempted: its
 * deliveries may exist.
 */
import { ulid } from "ulid";
import type { Clock } from "../../shared/core/clock.ts";
import { idTimeMs } from "../../shared/core/ids.ts";
import type { Claimed, EndpointAsRead } from "../domain/delivery.ts";
import { deliveryId } from "../domain/deterministic-ids.ts";
import { type Endpoint, isSubscribed } from "../domain/endpoint.ts";
import type { WebhookEvent } from "../domain/event-fan-out.ts";
import type { AttemptsBeforeStore } from "./attempt-before-store.ts";
import type { DisabledEndpoints } from "./disabled-endpoints.ts";
import type { Dispatcher } from "./dispatcher.ts";
import {
  type DeliveryMetrics,
  type DeliveryQueue,
  type EndpointStore,
  type Inserted,
  type Lease,
  type NewDelivery,
  UndeliverableError,
} from "./ports.ts";
import type { RetryUntilAvailable } from "./retry-until-available.ts";

/** Dependencies of event delivery. */
export type DeliverParts = {
  readonly clock: Clock;
  readonly endpoints: Pick<EndpointStore, "findEnabled">;
  readonly queue: Pick<DeliveryQueue, "insert">;
  readonly dispatcher: Dispatcher;
  readonly beforeStore: AttemptsBeforeStore;
  readonly disabled: Pick<DisabledEndpoints, "currentVersion">;
  /** Retries the insert of deliveries that were attempted before it. */
  readonly insertRetry: RetryUntilAvailable;
  readonly metrics: DeliveryMetrics;
  readonly attemptsMax: number;
  readonly leaseMs: number;
};

/** The webhook events of one stream event, and whether the stream delivered it before. */
export type Item = { readonly events: readonly WebhookEvent[]; readonly isRepeated: boolean };

type Planned = { readonly position: number; readonly delivery: NewDelivery };

/**
 * How long a batch waits for the results of first attempts before it is stored. A busy endpoint
 * makes the batch as slow as the endpoint; later events wait in the stream, which is cheaper than
 * storing them first. An endpoint that hangs delays the batch by `quietMs`.
 */
const RESULTS_WAIT = { quietMs: 100, limitMs: 500 } as const;

/**
 * Stores the deliveries of each item. Returns for each item the error that kept a delivery from
 * being stored, or undefined. Rejects when the database is away.
 */
export async function deliverEvents(
  parts: DeliverParts,
  items: readonly Item[],
): Promise<readonly (Error | undefined)[]> {
  const tenantIds = [
    ...new Set(items.flatMap(({ events }) => events.map((event) => event.tenantId))),
  ];
  if (tenantIds.length === 0) return items.map(() => undefined);
  const asRead = { stopVersion: parts.disabled.currentVersion(), atMs: parts.clock.now() };
  const endpoints = await parts.endpoints.findEnabled(tenantIds);
  const byTenant = Map.groupBy(endpoints, ({ tenantId }) => tenantId);
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, { endpoint, ...asRead }]));
  const lease = { id: ulid(), untilMs: parts.clock.now() + parts.leaseMs };
  const errors: (Error | undefined)[] = new Array(items.length).fill(undefined);
  const beforeStore: Planned[] = [];
  const duplicates: Planned[] = [];
  const others: Planned[] = [];
  const own = new Set<string>();
  items.forEach(({ events, isRepeated }, position) => {
    try {
      for (const planned of plan(parts, events, byTenant)) {
        const { id, tenantId, endpointId } = planned;
        // Skip an event that the batch has twice: the batch is acknowledged as a whole.
        if (own.has(id)) continue;
        // Reserve last, when nothing can throw any more.
        const isReserved = parts.dispatcher.reserve(tenantId, endpointId);
        const delivery = { ...planned, lease: isReserved ? lease : undefined };
        if (parts.beforeStore.isRunning(id)) {
          duplicates.push({ position, delivery });
        } else if (!isRepeated && mayAttemptBeforeStore(parts, delivery)) {
          parts.beforeStore.begin(delivery, lease.id);
          own.add(id);
          beforeStore.push({ position, delivery });
        } else {
          others.push({ position, delivery });
        }
      }
    } catch (cause) {
      // An event without a body must not fail the others.
      errors[position] = new UndeliverableError("no body can be rendered for the event", { cause });
    }
  });
  // Wait for all three: an unfinished attempt must not be redelivered.
  const ended = await Promise.allSettled([
    attemptThenStore(parts, beforeStore, byId, errors),
    storeThenAttempt(parts, others, errors),
    storeAfterwards(parts, duplicates, errors),
  ]);
  for (const one of ended) if (one.status === "rejected") throw one.reason;
  return errors;
}

/**
 * Events recorded earlier than this, in milliseconds, are stored first. A consumer that was
 * recreated receives the whole stream, and only the database knows which events were delivered.
 */
const UNSTORED_AGE_MAX_MS = 120_000;

function mayAttemptBeforeStore(
  { clock, dispatcher, beforeStore }: DeliverParts,
  delivery: NewDelivery,
): boolean {
  const { id, endpointId, lease, activatedAtMs } = delivery;
  if (lease === undefined || clock.now() - activatedAtMs > UNSTORED_AGE_MAX_MS) return false;
  return dispatcher.isQuick(endpointId) && !beforeStore.wasStored(id);
}

/** Attempts deliveries at once, and stores them with their results. */
async function attemptThenStore(
  parts: DeliverParts,
  planned: readonly Planned[],
  endpoints: ReadonlyMap<string, EndpointAsRead>,
  errors: (Error | undefined)[],
): Promise<void> {
  if (planned.length === 0) return;
  const ids = planned.map(({ delivery }) => delivery.id);
  try {
    start(parts, planned, new Set(planned.map(({ delivery }) => delivery)), endpoints);
    const results = await parts.beforeStore.results(ids, RESULTS_WAIT);
    const deliveries = planned.map(({ delivery }) => {
      return { ...delivery, result: results.get(delivery.id) };
    });
    // Retry through an outage: a delivery that was sent must not be sent again.
    const inserted = await parts.insertRetry.run(() => parts.queue.insert(deliveries));
    recordInserted(parts, planned, inserted, errors);
  } finally {
    parts.beforeStore.finish(ids);
  }
}

/** Stores deliveries, and starts the leased ones. */
async function storeThenAttempt(
  parts: DeliverParts,
  planned: readonly Planned[],
  errors: (Error | undefined)[],
): Promise<void> {
  if (planned.length === 0) return;
  let stored: ReadonlySet<NewDelivery> = new Set();
  try {
    const inserted = await parts.queue.insert(planned.map(({ delivery }) => delivery));
    stored = recordInserted(parts, planned, inserted, errors);
    parts.beforeStore.markStored(planned.map(({ delivery }) => delivery.id));
  } finally {
    start(parts, planned, stored);
  }
}

/**
 * Stores deliveries that another batch of this process is attempting: the same event, published
 * twice or redelivered. After that batch they exist; if storing failed, they are stored and
 * attempted now.
 */
async function storeAfterwards(
  parts: DeliverParts,
  planned: readonly Planned[],
  errors: (Error | undefined)[],
): Promise<void> {
  if (planned.length === 0) return;
  await Promise.all(planned.map(({ delivery }) => parts.beforeStore.finished(delivery.id)));
  await storeThenAttempt(parts, planned, errors);
}

/** Records refused inserts; returns the deliveries that were stored now and not before. */
function recordInserted(
  parts: DeliverParts,
  planned: readonly Planned[],
  inserted: readonly Inserted[],
  errors: (Error | undefined)[],
): ReadonlySet<NewDelivery> {
  const stored = new Set<NewDelivery>();
  planned.forEach(({ position, delivery }, at) => {
    const result = inserted[at];
    if (result instanceof Error) errors[position] = result;
    if (result === "stored") stored.add(delivery);
  });
  parts.metrics.onStored(stored.size);
  return stored;
}

/** Returns every reserved place, and enqueues the deliveries that start. */
function start(
  { dispatcher }: DeliverParts,
  planned: readonly Planned[],
  starting: ReadonlySet<NewDelivery>,
  endpoints?: ReadonlyMap<string, EndpointAsRead>,
): void {
  const claimed: Claimed[] = [];
  for (const { delivery } of planned) {
    const { endpointId, lease } = delivery;
    if (lease === undefined) continue;
    dispatcher.unreserve(endpointId);
    if (starting.has(delivery)) claimed.push(toClaimed(delivery, lease, endpoints));
  }
  dispatcher.enqueue(claimed);
}

/** The deliveries of one item, without a lease. */
function plan(
  parts: DeliverParts,
  events: readonly WebhookEvent[],
  endpoints: ReadonlyMap<string, readonly Endpoint[]>,
): Omit<NewDelivery, "lease">[] {
  return events.flatMap((event) =>
    (endpoints.get(event.tenantId) ?? [])
      .filter((endpoint) => isSubscribed(endpoint, event))
      .map((endpoint) => ({
        id: deliveryId(event.eventId(), endpoint.id),
        tenantId: event.tenantId,
        endpointId: endpoint.id,
        eventId: event.eventId(),
        eventType: event.type,
        body: event.body(),
        attemptsLeft: parts.attemptsMax,
        createdAtMs: idTimeMs(event.eventId()),
        activatedAtMs: event.recordedAtMs,
        trace: event.trace,
        redacts: event.redacts,
        messageId: event.messageId,
        dueAtMs: parts.clock.now(),
      })),
  );
}

function toClaimed(
  delivery: NewDelivery,
  lease: Lease,
  endpoints?: ReadonlyMap<string, EndpointAsRead>,
): Claimed {
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
    redacts: delivery.redacts === true,
    dueAtMs: delivery.dueAtMs,
    leaseId: lease.id,
    leaseUntilMs: lease.untilMs,
    asRead: endpoints?.get(delivery.endpointId),
  };
}
