import type { Clock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/io/log.ts";
import type { Mongo } from "../shared/io/mongo.ts";
import type { Outbox } from "../shared/io/outbox.ts";
import type { MessagingConfig } from "./config.ts";
import type { Waits } from "./domain/queueing.ts";
import type { Bells } from "./doorbell-notes.ts";
import { toStreamItem } from "./events.ts";
import type { UseCases } from "./rpc.ts";
import { encodeCancelResponse, encodeSendResponse } from "./rpc-mapping.ts";
import { createAccepter } from "./service/accept.ts";
import { createCancels } from "./service/cancel.ts";
import { createCarriers } from "./service/carriers.ts";
import { createChanges } from "./service/changes.ts";
import { createClaimer } from "./service/claim.ts";
import { createDiverter, type Diverter } from "./service/divert.ts";
import { createDoorbells } from "./service/doorbells.ts";
import { createIdempotency } from "./service/idempotency.ts";
import type { Neighbours } from "./service/ports.ts";
import { createQueueLimits, type QueueLimits } from "./service/queue-limits.ts";
import { createReads } from "./service/read.ts";
import { createResolver } from "./service/resolve.ts";
import type { SendsUnderWay } from "./service/sends-under-way.ts";
import { createSweeps, type Sweeps } from "./service/sweep.ts";
import { createWaitingTenants } from "./service/waiting-tenants.ts";
import { createStandings } from "./standings.ts";
import { createMessageLists } from "./store/lists.ts";
import { createMessageStore } from "./store/messages.ts";
import { createQueueStore } from "./store/queue.ts";
import { createRemembered } from "./store/remembered.ts";
import { createSendStore } from "./store/sends.ts";
import { openMessageSnapshot } from "./store/snapshot.ts";

/** Messaging without its process: every use case, and the work to be done in the background. */
export type OpenMessaging = UseCases & {
  readonly sweeps: Sweeps;
  readonly limits: QueueLimits;
  readonly diverter: Diverter;
  /** Waits until everything taken in has been written. */
  close(): Promise<void>;
};

/** What messaging stands on. */
export type MessagingParts = {
  readonly mongo: Pick<Mongo, "client" | "db">;
  readonly outbox: Outbox;
  readonly neighbours: Neighbours;
  readonly config: MessagingConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** Names this process among its replicas. */
  readonly owner: string;
  readonly bells: Bells;
  readonly underWay: SendsUnderWay;
};

/** Wires the use cases to their stores. */
export function openMessaging(parts: MessagingParts): OpenMessaging {
  const { mongo, outbox, neighbours, config, clock, log, underWay } = parts;
  const remembered = createRemembered();
  const store = createMessageStore(mongo.client, mongo.db, outbox, remembered);
  const sends = createSendStore(mongo.client, mongo.db, remembered);
  const queue = createQueueStore(mongo.db, remembered);
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
