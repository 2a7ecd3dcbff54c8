import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import type { StartService } from "../shared/io/service-context.ts";
import { createMessagingPort } from "./adapters/messaging-client.ts";
import { subscribeToRings } from "./adapters/queue-notifications.ts";
import { startReceiptListener } from "./adapters/receipt-listener.ts";
import { unmatchedPage } from "./adapters/unmatched-receipts-page.ts";
import { startBackground } from "./app/background-jobs.ts";
import { createMakers } from "./app/factories.ts";
import { createOutcomeReporter } from "./app/outcome-reporter.ts";
import { createReceiptDesk } from "./app/receipt-matcher.ts";
import { createRecentSubmissions } from "./app/recent-submissions.ts";
import { type Supervisor, startSupervisor } from "./app/supervisor.ts";
import { readCarrierConfig } from "./config.ts";
import { createCarrierMetrics } from "./metrics.ts";
import { createLeases } from "./store/bind-leases.ts";
import { openJournal } from "./store/journal.ts";
import { openServers } from "./store/open-stores.ts";
import { createCarrierStore } from "./store/submissions.ts";

export { readCarrierConfig as readSettings } from "./config.ts";

/** Submissions kept in memory: some seconds at full speed. */
const RECENT_MAX = 30_000;

/** Starts the carrier: journal, receipts, outcomes, then the connectors that feed them. */
export const start: StartService = async (context) => {
  const { log, clock, lifecycle, metrics: registry } = context;
  const config = readCarrierConfig(context.env);
  const { mongo, nats, redis } = await openServers(context, config);
  const journal = await openJournal({
    dir: config.CARRIER_JOURNAL_DIR,
    carrierId: config.CARRIER_ID,
  });
  lifecycle.onClose("carrier journal", () => journal.close());

  const store = createCarrierStore(mongo.db);
  const messaging = createMessagingPort(context.client(MessagingService), journal);
  const routing = context.client(RoutingService);
  const recent = createRecentSubmissions(RECENT_MAX);
  let supervisor: Supervisor | undefined;

  const desk = createReceiptDesk({
    store,
    messaging,
    recent,
    clock,
    log,
    giveUpAfterMs: config.RECEIPT_GIVE_UP_MS,
    inDoubtMaxMs: config.SUBMISSION_UNKNOWN_WAIT_MS,
    partiesAfterMs: (connectorId) => supervisor?.patienceMs(connectorId) ?? 12_000,
    onRecorded(receipt, submission, cameAtMs) {
      const { connectorId } = submission;
      metrics.receipts.inc({ connector: connectorId, verdict: receipt.verdict });
      supervisor?.find(connectorId)?.runner.noteReceipt(submission, cameAtMs);
    },
    onParked: ({ connectorId }) => metrics.parked.inc({ connector: connectorId }),
  });
  lifecycle.onClose("receipt desk", () => desk.close());
  const { onStored } = desk;
  const outcomes = createOutcomeReporter({ store, messaging, journal, log, onStored });
  lifecycle.onClose("outcomes", async () => void (await outcomes.drain(config.CARRIER_DRAIN_MS)));
  const metrics = createCarrierMetrics(registry, () => supervisor?.runners ?? new Map(), outcomes);

  const listener = await startReceiptListener({
    host: config.CARRIER_RECEIPT_HOST,
    port: config.CARRIER_RECEIPT_PORT,
    clock,
    findSettings(connectorId) {
      const connector = supervisor === undefined ? "not_read" : supervisor.settingsOf(connectorId);
      return connector === "not_read" ? connector : connector?.http;
    },
    onReceipt: desk.take,
  });
  lifecycle.onClose("receipt listener", () => listener.close());
  const receiptBase =
    config.CARRIER_RECEIPT_URL || `http://${config.CARRIER_RECEIPT_HOST}:${listener.port}`;

  const leases = createLeases(mongo.db, journal.carrierId);
  const makers = createMakers(
    { journal, outcomes, recent, messaging, clock, log, store, redis, receiptBase },
    {
      ratePrefix: `rate:connector:${config.MONGODB_PREFIX}`,
      replicas: () => leases.replicas,
      onReceipt: desk.take,
      onMobileOriginated: (connector) => metrics.mobileOriginated.inc({ connector }),
    },
  );

  context.onOps(unmatchedPage(store));
  startBackground({
    ...{ journal, messaging, routing, store, desk, log, lifecycle, clock },
    carrierName: config.CARRIER_ID,
    drainMs: config.CARRIER_DRAIN_MS,
    runners: () => supervisor?.runners ?? new Map(),
    startConnectors() {
      supervisor = startSupervisor({
        async listConnectors() {
          const answer = await routing.getConnectorSettings({ includeUnreadable: true });
          return answer.connectors;
        },
        ...{ leases, log, ...makers },
        pollMs: config.CONNECTOR_POLL_MS,
        drainMs: config.CARRIER_DRAIN_MS,
      });
      subscribeToRings(nats.connection, supervisor);
      return supervisor;
    },
  });
};
