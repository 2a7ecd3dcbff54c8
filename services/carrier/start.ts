import type { Db } from "mongodb";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { pause } from "../shared/flow/backoff.ts";
import type { Lifecycle } from "../shared/io/lifecycle.ts";
import type { Nats } from "../shared/io/nats.ts";
import type { ServiceContext, StartService } from "../shared/io/service-context.ts";
import { startCallbackListener } from "./adapters/callback-listener.ts";
import { createConsentClient } from "./adapters/consent-client.ts";
import { inboundUrlsPage } from "./adapters/inbound-urls-page.ts";
import { createMessagingClient } from "./adapters/messaging-client.ts";
import { subscribeToNotifications } from "./adapters/queue-notifications.ts";
import { createRoutingClient } from "./adapters/routing-client.ts";
import { submitSpans } from "./adapters/submit-span.ts";
import { unmatchedReceiptsPage } from "./adapters/unmatched-receipts-page.ts";
import { type BackgroundOptions, startBackgroundJobs } from "./app/background-jobs.ts";
import { createConnectorRunner } from "./app/connector.ts";
import { createDeliveryCounter } from "./app/delivery-counter.ts";
import { startDeliveryReports } from "./app/delivery-reports.ts";
import { createInboundRecorder } from "./app/inbound-recorder.ts";
import { createOutcomeReporter } from "./app/outcome-reporter.ts";
import { createPartlyWrittenByConnector } from "./app/partly-written.ts";
import type { ConnectorConfig } from "./app/ports.ts";
import { createReceiptMatcher } from "./app/receipt-matcher.ts";
import { createRecentSubmissions } from "./app/recent-submissions.ts";
import { createSupervisor, type Supervisor } from "./app/supervisor.ts";
import { type CarrierConfig, readCarrierConfig } from "./config.ts";
import type { InboundPart } from "./domain/inbound-part.ts";
import { createCarrierMetrics } from "./metrics.ts";
import { createBindLeases } from "./store/bind-leases.ts";
import { createDeliveryStore } from "./store/delivery-counts.ts";
import { openJournal } from "./store/journal.ts";
import { openStores } from "./store/open-stores.ts";
import { createRateLimiter } from "./store/rate-limiter.ts";
import { createSubmissionStore } from "./store/submissions.ts";

export { readCarrierConfig as readSettings } from "./config.ts";

/** The share of messaging's wait in which further parts may follow; at its end messaging fails a message in doubt. */
const PROOF_WAIT_SHARE = 0.9;
/** Names of submissions kept in memory: those of some seconds at full speed. */
const RECENT_SUBMISSIONS_MAX = 30_000;

/**
 * Starts the carrier. The callbacks of the supervisor and of the receipt matcher refer to parts that are created
 * below them: none is called before `startBackgroundJobs`.
 */
export const start: StartService = async (context) => {
  const { log, clock, lifecycle, metrics: registry } = context;
  const config = readCarrierConfig(context.env);
  const { mongo, nats, redis } = await openStores(context, config);
  const journal = await openOwnJournal(lifecycle, config);
  const store = createSubmissionStore(mongo.db);
  const leases = createBindLeases(mongo.db, journal.carrierId);
  const messaging = createMessagingClient(context.client(MessagingService), journal);
  const recent = createRecentSubmissions(RECENT_SUBMISSIONS_MAX);
  const deliveries = createDeliveries(mongo.db);

  const consent = createConsentClient(context.client(ConsentService));
  const inbound = createInboundRecorder(consent, log);
  lifecycle.onClose("inbound messages", () => inbound.close());
  const takeInbound = async (connectorId: string, part: InboundPart) => {
    await inbound.take({ ...part, connectorId, receivedAtMs: clock.now() });
    metrics.mobileOriginated.inc({ connector: connectorId });
  };
  const partlyWritten = createPartlyWrittenByConnector();

  const supervisor = createSupervisor({
    listConnectors: () => routing.listConnectors(),
    createRunner: (connector) =>
      createConnectorRunner({
        ...{ journal, outcomes, recent, messaging, clock, log, spans: submitSpans },
        ...{ connectorId: connector.id, partlyWritten: partlyWritten.take(connector.id) },
        ...{ hasSingleReceipt: connector.hasSingleReceipt, createLink: connector.createLink },
        proofWaitMs: config.SUBMISSION_UNKNOWN_WAIT_MS * PROOF_WAIT_SHARE,
        onReceipt: receipts.take,
        onInbound: (part) => takeInbound(connector.id, part),
      }),
    createRateLimiter({ id, ratePerSecond }) {
      if (ratePerSecond === 0) return undefined;
      const key = `rate:connector:${config.MONGODB_PREFIX}:${id}`;
      return createRateLimiter({ redis, key, ratePerSecond, replicas: () => leases.replicas, log });
    },
    ...{ leases, log },
    pollMs: config.CONNECTOR_POLL_MS,
    drainMs: config.CARRIER_DRAIN_MS,
  });

  const receipts = createReceiptMatcher({
    ...{ store, messaging, recent, clock, log },
    giveUpAfterMs: config.RECEIPT_GIVE_UP_MS,
    inDoubtMaxMs: config.SUBMISSION_UNKNOWN_WAIT_MS,
    partiesAfterMs: supervisor.answerTimeoutMs,
    onRecorded(receipt, submission, cameAtMs) {
      const { connectorId } = submission;
      metrics.receipts.inc({ connector: connectorId, verdict: receipt.verdict });
      supervisor.find(connectorId)?.runner.noteReceipt(submission, cameAtMs);
      deliveries.counter.noteReceipt(submission, receipt.verdict, cameAtMs);
    },
    onParked: ({ connectorId }) => metrics.parked.inc({ connector: connectorId }),
    onContradicted: ({ connectorId }) => metrics.contradicted.inc({ connector: connectorId }),
  });
  lifecycle.onClose("receipt matcher", () => receipts.close());
  const outcomes = createOutcomeReporter({
    ...{ store, messaging, journal, log, onStored: receipts.onStored },
    onReport: deliveries.counter.noteOutcome,
  });
  lifecycle.onClose("outcomes", async () => void (await outcomes.drain(config.CARRIER_DRAIN_MS)));
  const metrics = createCarrierMetrics(registry, () => supervisor.runners, outcomes);

  const listener = await startCallbackListener({
    ...{ host: config.CARRIER_RECEIPT_HOST, port: config.CARRIER_RECEIPT_PORT, clock },
    findSettings: (connectorId) => httpCallbacksOf(supervisor.settingsOf(connectorId)),
    ...{ onReceipt: receipts.take, onInbound: takeInbound },
  });
  lifecycle.onClose("callback listener", () => listener.close());
  const receiptBase =
    config.CARRIER_RECEIPT_URL || `http://${config.CARRIER_RECEIPT_HOST}:${listener.port}`;
  const routing = createRoutingClient(context.client(RoutingService), {
    ...{ store, clock, log, receiptBase },
  });
  context.onOps(unmatchedReceiptsPage(store));
  context.onOps(inboundUrlsPage(receiptBase, () => httpConnectorsOf(supervisor)));
  const onHealth = metrics.setDeliveries;
  const reports = startDeliveryReports({ ...deliveries, routing, onHealth, clock, log });
  lifecycle.onClose("delivery reports", () => reports.close());

  startJobs(context, config, {
    ...{ journal, messaging, routing, store, receipts, supervisor, nats },
    onRecovered: partlyWritten.set,
  });
};

type JobDeps = Pick<
  BackgroundOptions,
  "journal" | "messaging" | "routing" | "store" | "receipts" | "supervisor" | "onRecovered"
> & { readonly nats: Nats };

function startJobs(
  { log, clock, lifecycle }: ServiceContext,
  config: CarrierConfig,
  deps: JobDeps,
) {
  const jobs = startBackgroundJobs({
    ...{ ...deps, log, clock },
    signal: lifecycle.signal,
    carrierName: config.CARRIER_ID,
    drainMs: config.CARRIER_DRAIN_MS,
    whenStarted: () => whenStarted(lifecycle),
    onConnectorsStarted: () => subscribeToNotifications(deps.nats.connection, deps.supervisor),
  });
  // Not ready before the recovery: the process carries nothing yet, and a rolling update must not stop the next
  // replica.
  lifecycle.addReadinessCheck("claims recovered", async () => {
    if (!jobs.isReady) throw new Error("earlier claims have not been recovered yet");
  });
  lifecycle.onClose("connectors", () => jobs.close());
}

async function openOwnJournal(lifecycle: Lifecycle, config: CarrierConfig) {
  const { CARRIER_JOURNAL_DIR: dir, CARRIER_ID: carrierId } = config;
  const journal = await openJournal({ dir, carrierId });
  lifecycle.onClose("carrier journal", () => journal.close());
  return journal;
}

function createDeliveries(db: Db) {
  const store = createDeliveryStore(db);
  return { store, counter: createDeliveryCounter(store) };
}

function httpCallbacksOf(connector: ConnectorConfig | "not_read" | undefined) {
  return connector === "not_read" ? connector : connector?.httpCallbacks;
}

/** The running HTTP connectors, with the secrets of their callbacks. */
function httpConnectorsOf(supervisor: Supervisor) {
  return [...supervisor.runners.keys()].flatMap((id) => {
    const settings = httpCallbacksOf(supervisor.settingsOf(id));
    return settings === undefined || settings === "not_read"
      ? []
      : [{ id, secret: settings.receiptSecret }];
  });
}

/** The services of a process can be called only when all of them have started. */
async function whenStarted(lifecycle: Lifecycle): Promise<void> {
  while (lifecycle.state === "starting") await pause(20, lifecycle.signal);
}
