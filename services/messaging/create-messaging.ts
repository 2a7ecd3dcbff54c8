import type { Clock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/core/logger.ts";
import { type AuditLog, createAuditLog } from "../shared/io/audit-log.ts";
import type { Mongo } from "../shared/io/mongo.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { createEventOutbox } from "./adapters/events.ts";
import type { QueueNotifier } from "./adapters/queue-notifications-nats.ts";
import { createRouteAvailability } from "./adapters/route-availability.ts";
import type { UseCases } from "./adapters/rpc.ts";
import { responseEncoder } from "./adapters/rpc-mapping.ts";
import { callTrace } from "./adapters/tracing.ts";
import { createSendService } from "./app/accept.ts";
import { createCancels } from "./app/cancel.ts";
import { createCarrierReports } from "./app/carrier-reports.ts";
import { createClaimer } from "./app/claim.ts";
import { createClaimChecks } from "./app/claim-checks.ts";
import { createIdempotency } from "./app/idempotency.ts";
import type { InflightSends } from "./app/inflight-sends.ts";
import { createQueueNotifications } from "./app/notify.ts";
import { createPendingIndex } from "./app/pending-index.ts";
import type { ServiceClients } from "./app/ports.ts";
import { createQueries } from "./app/queries.ts";
import { createQueueLimits, type QueueLimits } from "./app/queue-limits.ts";
import { createQuietGate, type QuietGate } from "./app/quiet-gate.ts";
import { createRerouter, type Rerouter } from "./app/reroute.ts";
import { createReservationResolver } from "./app/resolve-reservations.ts";
import { createSweeps, type Sweeps } from "./app/sweep.ts";
import { createChanges } from "./app/update-messages.ts";
import { createUsage, type Usage } from "./app/usage.ts";
import type { MessagingConfig } from "./config.ts";
import type { Timeouts } from "./domain/queue-transitions.ts";
import { createMessageLists } from "./store/lists.ts";
import { createMessageStore } from "./store/messages.ts";
import { createQueueStore } from "./store/queue.ts";
import { createSendStore } from "./store/sends.ts";
import { openMessageSnapshot } from "./store/snapshot.ts";
import { createUsageStore } from "./store/usage.ts";

/** The use cases of messaging, and its background work. */
export type OpenMessaging = UseCases & {
  readonly sweeps: Sweeps;
  readonly limits: QueueLimits;
  readonly rerouter: Rerouter;
  readonly usage: Usage;
  readonly quiet: QuietGate;
  /** Waits until every accepted request is written. */
  close(): Promise<void>;
};

/** The connections and the other services that messaging uses. */
export type MessagingParts = {
  readonly mongo: Pick<Mongo, "client" | "db">;
  readonly outbox: Outbox;
  readonly services: ServiceClients;
  readonly config: MessagingConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** The id of this process among its replicas. */
  readonly owner: string;
  readonly notifier: QueueNotifier;
  readonly inflight: InflightSends;
};

/** The composition root: connects the use cases to their stores, clients and encoders. */
export function createMessaging(parts: MessagingParts): OpenMessaging {
  const { outbox, services, config, clock, log, inflight } = parts;
  const audit = createAuditLog(parts.mongo.db, config.AUDIT_KEEP_MS);
  const { store, sends, queue, lists, openSnapshot, usage } = openStores(parts, audit);

  const timeouts = readTimeouts(config);
  const encoder = responseEncoder;
  const availability = createRouteAvailability(services);
  const { availabilityOf } = availability;
  const idempotencyMs = config.IDEMPOTENCY_TTL_MS;
  const pending = createPendingIndex(queue, clock);
  const limits = createQueueLimits(queue, config.QUEUE_MAX, log);
  const { publish, subscribe } = parts.notifier;
  const notifications = createQueueNotifications({ publish, pending, limits });
  subscribe(pending.add);
  const idempotency = createIdempotency({ sends, clock, log, owner: parts.owner });
  const changes = createChanges({ store, notifications, clock, trace: callTrace });
  const sendService = createSendService({
    services,
    sends,
    idempotency,
    notifications,
    limits,
    inflight,
    clock,
    log,
    queueMs: timeouts.queueMs,
    idempotencyMs,
    campaignKeyMs: config.CAMPAIGN_KEY_TTL_MS,
    sendAtMinMs: config.SEND_AT_MIN_MS,
    acceptQueueMax: config.ACCEPT_QUEUE_MAX,
    encoder,
    trace: callTrace,
  });
  const quiet = createQuietGate({ store, changes, services, clock, log, timeouts });
  return {
    sendService,
    idempotency,
    audit,
    usage: createUsage(usage, clock),
    limits,
    claimer: createClaimer({
      ...{ store: queue, pending, quiet, clock },
      checks: createClaimChecks({ services, changes, availability }),
      notify: notifications.notify,
    }),
    quiet,
    carriers: createCarrierReports({
      ...{ changes, queue, clock, log, timeouts, availabilityOf },
      leaseMs: config.CLAIM_LEASE_MS,
    }),
    cancels: createCancels({ changes, store, idempotency, clock, idempotencyMs, encoder }),
    queries: createQueries({ store, lists, openSnapshot, queue, sends, outbox, inflight, clock }),
    rerouter: createRerouter({ queue, pending, changes, availability, clock }),
    resolve: createReservationResolver({ sends, store, clock }),
    sweeps: createSweeps({
      store,
      sends,
      changes,
      services,
      clock,
      log,
      timeouts,
      availabilityOf,
      keepMs: config.MESSAGE_KEEP_MS,
      testKeepMs: config.TEST_MESSAGE_KEEP_MS,
      idempotencyMs,
    }),
    async close() {
      await sendService.close();
      await idempotency.close();
      await changes.close();
    },
  };
}

function openStores({ mongo: { client, db }, outbox }: MessagingParts, audit: AuditLog) {
  return {
    store: createMessageStore(client, db, createEventOutbox(outbox), audit),
    sends: createSendStore(client, db),
    queue: createQueueStore(db),
    lists: createMessageLists(db),
    openSnapshot: () => openMessageSnapshot(client, db),
    usage: createUsageStore(client, db),
  };
}

function readTimeouts(config: MessagingConfig): Timeouts {
  return {
    queueMs: config.QUEUE_TIME_MAX_MS,
    unknownMs: config.SUBMISSION_UNKNOWN_WAIT_MS,
    receiptMs: config.RECEIPT_WAIT_MS,
  };
}
