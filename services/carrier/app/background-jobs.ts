import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import type { PartlyWritten } from "./partly-written.ts";
import type {
  ConnectorHealth,
  Journal,
  MessagingClient,
  RoutingClient,
  SubmissionStore,
} from "./ports.ts";
import type { ReceiptMatcher } from "./receipt-matcher.ts";
import { recoverClaims } from "./recovery.ts";
import type { Supervisor } from "./supervisor.ts";

export type BackgroundOptions = {
  readonly journal: Journal;
  readonly messaging: MessagingClient;
  readonly routing: Pick<RoutingClient, "reportHealth">;
  readonly store: SubmissionStore;
  readonly receipts: ReceiptMatcher;
  readonly supervisor: Supervisor;
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
  readonly carrierName: string;
  readonly drainMs: number;
  /** Resolves when the services of this process can be called. */
  readonly whenStarted: () => Promise<void>;
  /** Called before the connectors start. */
  readonly onRecovered: (partlyWritten: ReadonlyMap<string, readonly PartlyWritten[]>) => void;
  /** Called when the connectors run. */
  readonly onConnectorsStarted: () => void;
};

/** The background jobs of the carrier. */
export type BackgroundJobs = {
  /** Whether the claims of earlier processes are recovered and the connectors run. */
  readonly isReady: boolean;
  /** Drains and closes the connectors, then ends the loops. */
  close(): Promise<void>;
};

/** One poll for all connectors finds messages whose notification was lost. */
const POLL_MS = 250;
const RENEW_MS = 10_000;
const HEALTH_MS = 1000;
const SWEEP_MS = 1000;

/**
 * Recovers the claims of earlier processes, then starts the connectors, renews claims, sweeps parked receipts and
 * reports health. It returns at once: messaging may not be up yet, and waiting would block the other services of
 * this process.
 */
export function startBackgroundJobs(options: BackgroundOptions): BackgroundJobs {
  const { journal, messaging, store, receipts, supervisor, clock, log, signal } = options;
  let isReady = false;

  async function begin(): Promise<void> {
    await options.whenStarted();
    const partlyWritten = await recoverClaims({ journal, messaging, store, clock, log, signal });
    if (signal.aborted) return;
    options.onRecovered(partlyWritten);
    // Recovery has stored the entries of earlier identities. After a failure the next process stores them again.
    removeEarlier(journal, log);
    supervisor.start();
    isReady = true;
    options.onConnectorsStarted();
  }

  const recovered = begin();
  const loops = [
    startLoop({
      name: "waiting connectors",
      intervalMs: POLL_MS,
      log,
      work: async () => {
        if (isReady) await notifyWaiting(messaging, supervisor);
        return false;
      },
    }),
    startLoop({
      name: "claims",
      intervalMs: RENEW_MS,
      log,
      work: async () => {
        if (isReady) await messaging.renewClaims();
        return false;
      },
    }),
    startLoop({
      name: "parked receipts",
      intervalMs: SWEEP_MS,
      log,
      work: async () => isReady && (await receipts.sweep()),
    }),
    startLoop({
      name: "connector health",
      intervalMs: HEALTH_MS,
      // Routing treats a link without reports as down, so retry at the usual interval.
      retryMaxMs: HEALTH_MS,
      log,
      work: async () => {
        await options.routing.reportHealth(healthOf(options));
        return false;
      },
    }),
  ];
  return {
    get isReady() {
      return isReady;
    },
    async close() {
      await recovered;
      if (isReady) await supervisor.close(options.drainMs);
      await Promise.all(loops.map((loop) => loop.close()));
    },
  };
}

function removeEarlier(journal: Journal, log: Logger): void {
  try {
    journal.removeEarlier();
  } catch (error) {
    log.warn({ error }, "journals of earlier identities could not be removed");
  }
}

async function notifyWaiting(messaging: MessagingClient, supervisor: Supervisor): Promise<void> {
  for (const connectorId of await messaging.waitingConnectors()) supervisor.notify(connectorId);
}

function healthOf({ supervisor, clock, carrierName }: BackgroundOptions): ConnectorHealth[] {
  const reportedAtMs = clock.now();
  return [...supervisor.runners].flatMap(([connectorId, runner]) =>
    runner.reports().map((report) => ({
      ...report,
      connectorId,
      name: `${carrierName}/${report.bind}`,
      reportedAtMs,
    })),
  );
}
