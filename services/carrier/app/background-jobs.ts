import type { Client } from "@connectrpc/connect";
import type { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { pause } from "../../shared/flow/backoff.ts";
import { startLoop } from "../../shared/flow/periodic.ts";
import type { Lifecycle } from "../../shared/io/lifecycle.ts";
import type { MessagingPort } from "../adapters/messaging-client.ts";
import type { Journal } from "../store/journal.ts";
import type { CarrierStore } from "../store/submissions.ts";
import type { ConnectorRunner } from "./connector.ts";
import type { ReceiptMatcher } from "./receipt-matcher.ts";
import { recoverClaims } from "./recovery.ts";
import type { Supervisor } from "./supervisor.ts";

/** What the carrier's background work needs. */
export type BackgroundOptions = {
  readonly journal: Journal;
  readonly messaging: MessagingPort;
  readonly routing: Client<typeof RoutingService>;
  readonly store: CarrierStore;
  readonly desk: ReceiptMatcher;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly carrierName: string;
  readonly drainMs: number;
  readonly runners: () => ReadonlyMap<string, ConnectorRunner>;
  /** Called when earlier claims have been recovered: only then may anything be claimed. */
  readonly startConnectors: () => Supervisor;
};

/** What no doorbell rang for is found by asking this often, for all connectors at once. */
const POLL_MS = 250;
const RENEW_MS = 10_000;
const HEALTH_MS = 1000;
const SWEEP_MS = 1000;
/** Binds that routing is told of in one call. */
const REPORTS_MAX = 1000;

/**
 * Recovers, then starts the connectors, and from then on renews claims, looks at parked receipts and
 * reports health. It answers at once: messaging may not be up yet, and a process that waited for it
 * would hold up the others that start beside it.
 */
export function startBackground(options: BackgroundOptions): void {
  const { journal, messaging, store, desk, clock, log, lifecycle } = options;
  const { signal } = lifecycle;
  let supervisor: Supervisor | undefined;

  async function begin(): Promise<void> {
    // Services of this very process can be called only when all of them have started.
    while (lifecycle.state === "starting") await pause(20, signal);
    await recoverClaims({ journal, messaging, store, clock, log, signal });
    if (signal.aborted) return;
    // Only now is what earlier identities left kept elsewhere. A failure only has it kept once more.
    forgetEarlier(journal, log);
    supervisor = options.startConnectors();
  }

  // Until then it carries nothing: a rollout that goes on would take the next replica's binds, too.
  lifecycle.addReadinessCheck("claims recovered", async () => {
    if (supervisor === undefined) throw new Error("earlier claims have not been recovered yet");
  });
  const recovered = begin();
  const loops = [
    startLoop({
      name: "waiting connectors",
      intervalMs: POLL_MS,
      log,
      work: async () => {
        if (supervisor !== undefined) await ringWaiting(messaging, supervisor);
        return false;
      },
    }),
    startLoop({
      name: "claims",
      intervalMs: RENEW_MS,
      log,
      work: async () => {
        if (supervisor !== undefined) await messaging.renewClaims();
        return false;
      },
    }),
    startLoop({
      name: "parked receipts",
      intervalMs: SWEEP_MS,
      log,
      work: async () => supervisor !== undefined && (await desk.sweep()),
    }),
    startLoop({
      name: "connector health",
      intervalMs: HEALTH_MS,
      // Routing takes a link that it hears nothing of to be down: it is told as soon as it hears again.
      retryMaxMs: HEALTH_MS,
      log,
      work: async () => {
        await reportHealth(options);
        return false;
      },
    }),
  ];
  lifecycle.onClose("connectors", async () => {
    await recovered;
    await supervisor?.close(options.drainMs);
    await Promise.all(loops.map((loop) => loop.close()));
  });
}

function forgetEarlier(journal: Journal, log: Logger): void {
  try {
    journal.forgetEarlier();
  } catch (error) {
    log.warn({ error }, "journals of earlier identities could not be removed");
  }
}

async function ringWaiting(messaging: MessagingPort, supervisor: Supervisor): Promise<void> {
  for (const connectorId of await messaging.waitingConnectors()) supervisor.ring(connectorId);
}

async function reportHealth({ routing, runners, clock, carrierName }: BackgroundOptions) {
  const nowMs = BigInt(clock.now());
  const health = [...runners()].flatMap(([connectorId, runner]) =>
    runner.reports().map((report) => ({
      connectorId,
      bind: `${carrierName}/${report.bind}`,
      link: report.link,
      windowUsed: report.windowUsed,
      window: report.window,
      submitsPerSecond: report.submitsPerSecond,
      throttled: BigInt(report.throttled),
      unknown: BigInt(report.unknown),
      answerMsP99: report.answerMsP99,
      lastError: report.lastError,
      reportedAtMs: nowMs,
      failureShare: report.failureShare,
      submitted: BigInt(report.submitted),
      receipts: BigInt(report.receipts),
      receiptSecondsP50: report.receiptSecondsP50,
      answers: BigInt(report.answers),
      failures: BigInt(report.failures),
    })),
  );
  for (let at = 0; at < health.length; at += REPORTS_MAX) {
    await routing.reportConnectorHealth({ health: health.slice(at, at + REPORTS_MAX) });
  }
}
