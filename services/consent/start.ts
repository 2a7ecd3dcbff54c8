import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { startLoop } from "../shared/flow/periodic.ts";
import { createAuditLog } from "../shared/io/audit-log.ts";
import { openMongo } from "../shared/io/mongo.ts";
import { openNats } from "../shared/io/nats.ts";
import { createOutbox } from "../shared/io/outbox.ts";
import type { StartService } from "../shared/io/service-context.ts";
import { createConsentInvalidation, createEventOutbox } from "./adapters/events.ts";
import { createReplies } from "./adapters/messaging-client.ts";
import { createConsentRpc } from "./adapters/rpc.ts";
import { createReceive } from "./app/receive.ts";
import { createReplySender } from "./app/send-replies.ts";
import { createConsentSettings } from "./app/settings.ts";
import { createSuppressions } from "./app/suppressions.ts";
import { readConsentConfig } from "./config.ts";
import { createConsentMetrics } from "./metrics.ts";
import { createConsentStore } from "./store/consent-store.ts";
import { createInboundStore } from "./store/inbound-store.ts";
import { createReplyStore } from "./store/reply-store.ts";
import { createSettingsStore } from "./store/settings-store.ts";

export { readConsentConfig as readSettings } from "./config.ts";

const PARTS_INTERVAL_MS = 1000;
const REPLIES_INTERVAL_MS = 500;

/** Starts the consent service: database, events, RPCs, the sweep of parts and the sending of replies. */
export const start: StartService = async (context) => {
  const { log, clock, lifecycle } = context;
  const { signal } = lifecycle;
  const config = readConsentConfig(context.env);
  const mongo = await openMongo({
    uri: config.MONGODB_URI,
    database: `${config.MONGODB_PREFIX}_consent`,
    poolMax: config.MONGODB_POOL_MAX,
    log,
    signal,
  });
  lifecycle.onClose("consent database", () => mongo.close());
  lifecycle.addReadinessCheck("consent database", () => mongo.ping());
  const nats = await openNats({ url: config.NATS_URL, name: "consent", log, signal });
  lifecycle.onClose("consent events", () => nats.close());

  const { client, db } = mongo;
  const outbox = createOutbox({ db, nats, log });
  lifecycle.onClose("consent outbox", () => outbox.close());
  const events = createEventOutbox(outbox);
  const inbound = createInboundStore(client, db, events);
  const audit = createAuditLog(db, config.AUDIT_KEEP_MS);
  const store = createConsentStore(client, db, events, audit);
  const settings = createSettingsStore(client, db, audit);
  const invalidation = createConsentInvalidation(nats);
  const metrics = createConsentMetrics(context.metrics, { outbox, unowned: inbound.countUnowned });
  const receive = createReceive({
    ...{ inbound, settings, invalidation, clock },
    partsWaitMs: config.INBOUND_PARTS_WAIT_MS,
    onReceived: metrics.onReceived,
  });
  const sendReplies = createReplySender(
    createReplyStore(db),
    createReplies(context.client(MessagingService)),
    log,
  );
  const rpc = createConsentRpc({
    receive,
    inbound,
    suppressions: createSuppressions({ store, invalidation, clock }),
    settings: createConsentSettings(settings, clock),
    audit,
  });
  context.serve((router) => void router.service(ConsentService, rpc));

  const loops = [
    startLoop({ name: "parts", intervalMs: PARTS_INTERVAL_MS, log, work: receive.sweep }),
    startLoop({ name: "replies", intervalMs: REPLIES_INTERVAL_MS, log, work: sendReplies }),
  ];
  lifecycle.onClose("consent loops", async () => {
    for (const loop of loops) await loop.close();
  });
};
