import type { Clock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/core/logger.ts";
import type { Mongo } from "../shared/io/mongo.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import { toStreamItem } from "./adapters/events.ts";
import type { QueueNotifier } from "./adapters/queue-notifications-nats.ts";
import { createStandings } from "./adapters/route-availability.ts";
import type { UseCases } from "./adapters/rpc.ts";
import { encodeCancelResponse, encodeSendResponse } from "./adapters/rpc-mapping.ts";
import { createAccepter } from "./app/accept.ts";
import { createCancels } from "./app/cancel.ts";
import { createCarriers } from "./app/carrier-reports.ts";
import { createClaimer } from "./app/claim.ts";
import { createIdempotency } from "./app/idempotency.ts";
import type { SendsUnderWay } from "./app/inflight-sends.ts";
import { createDoorbells } from "./app/notify.ts";
import { createWaitingTenants } from "./app/pending-index.ts";
import type { ServiceClients } from "./app/ports.ts";
import { createReads } from "./app/queries.ts";
import { createQueueLimits, type QueueLimits } from "./app/queue-limits.ts";
import { createDiverter, type Rerouter } from "./app/reroute.ts";
import { createResolver } from "./app/resolve-reservations.ts";
import { createSweeps, type Sweeps } from "./app/sweep.ts";
import { createChanges } from "./app/update-messages.ts";
import type { MessagingConfig } from "./config.ts";
import type { Waits } from "./domain/queue-transitions.ts";
import { createMessageLists } from "./store/lists.ts";
import { createMessageStore } from "./store/messages.ts";
import { createQueueStore } from "./store/queue.ts";
import { createSendStore } from "./store/sends.ts";
import { openMessageSnapshot } from "./store/snapshot.ts";

/** Messaging without its process: every use case, and the work to be done in the background. */
export type OpenMessaging = UseCases & {
  readonly sweeps: Sweeps;
  readonly limits: QueueLimits;
  readonly diverter: Rerouter;
  /** Waits until everything taken in has been written. */
  close(): Promise<void>;
};

/** What messaging stands on. */
export type MessagingParts = {
  readonly mongo: Pick<Mongo, "client" | "db">;
  readonly outbox: Outbox;
  readonly neighbours: ServiceClients;
  readonly config: MessagingConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** Names this process among its replicas. */
  readonly owner: string;
  readonly bells: QueueNotifier;
  readonly underWay: SendsUnderWay;
};

/** Wires the use cases to their stores. */
export function openMessaging(parts: MessagingParts): OpenMessaging {
  const { mongo, outbox, neighbours, config, clock, log, underWay } = parts;
  const store = createMessageStore(mongo.client, mongo.db, outbox);
  const sends = createSendStore(mongo.client, mongo.db);
  const queue = createQueueStore(mongo.db);
  const lists = createMessageLists(mongo.db);
  const openSnapshot = () => openMessageSnapshot(mongo.client, mongo.db);

  const waits: Waits = {
    queueMs: config.QUEUE_TIME_MAX_MS,
    unknownMs: config.SUBMISSION_UNKNOWN_WAIT_MS,
    receiptMs: config.RECEIPT_WAIT_MS,
  };
  const standings = createStandings(neighbours);
  const standingOf = standings.routeOf;
  const idempotencyMs = config.IDEMPOTENCY_TTL_MS;
  const tenants = createWaitingTenants(queue, clock);
  const limits = createQueueLimits(queue, config.QUEUE_MAX, log);
  const doorbells = createDoorbells({ ring: parts.bells.ring, tenants, limits });
  parts.bells.onRing(tenants.note);
  const idempotency = createIdempotency({ sends, clock, log, owner: parts.owner });
  const changes = createChanges({ store, doorbells, clock, toStreamItem });
  const accepter = createAccepter({
    neighbours,
    sends,
    idempotency,
    doorbells,
    limits,
    underWay,
    clock,
    log,
    queueMs: waits.queueMs,
    idempotencyMs,
    sendAtMinMs: config.SEND_AT_MIN_MS,
    acceptQueueMax: config.ACCEPT_QUEUE_MAX,
    encodeResponse: encodeSendResponse,
  });
  const leaseMs = config.CLAIM_LEASE_MS;
  return {
    accepter,
    idempotency,
    limits,
    claimer: createClaimer({ store: queue, tenants, clock }),
    carriers: createCarriers({ changes, queue, clock, log, waits, leaseMs, standingOf }),
    cancels: createCancels({
      changes,
      store,
      idempotency,
      clock,
      idempotencyMs,
      encodeResponse: encodeCancelResponse,
    }),
    reads: createReads({ store, lists, openSnapshot, queue, sends, outbox, underWay, clock }),
    diverter: createDiverter({ queue, tenants, changes, standings, clock }),
    resolve: createResolver({ sends, store, clock }),
    sweeps: createSweeps({
      store,
      sends,
      changes,
      neighbours,
      clock,
      log,
      waits,
      standingOf,
      keepMs: config.MESSAGE_KEEP_MS,
      idempotencyMs,
    }),
    async close() {
      await accepter.close();
      await idempotency.close();
      await changes.close();
    },
  };
}
