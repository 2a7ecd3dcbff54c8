import type { Clock } from "../../../shared/core/clock.ts";
import { setRecent } from "../../../shared/flow/lru.ts";
import { planSubmit, type TestReceipt } from "../../../shared/smpp/test-numbers.ts";
import type { IncomingReceipt, PartOutcome } from "../../domain/message.ts";
import { normalizeAddress } from "../../domain/receipt.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Link, LinkEvents } from "./link.ts";

type TestPayload = { readonly to: string; readonly from: string };

const WINDOW = 1000;
/** How long an unanswered submit of the test route takes to count as unknown. */
const NO_ANSWER_MS = 2000;
/** How far back submissions are looked at for receipts that a restart may have lost. */
const REPLAY_MS = 300_000;
const REPLAY_MAX = 100_000;
/** Submits of which the route remembers that they were made before. */
const MEMORY_MAX = 100_000;
/** Submits after which every test number that relents has relented. */
const RELENTED = { count: 100, sinceMs: 3_600_000 } as const;

const REFUSALS: Readonly<Record<string, PartOutcome>> = {
  invalid_destination: { kind: "refused", code: "invalid_destination", disposition: "permanent" },
  throttled: { kind: "refused", code: "throttled", disposition: "throttled" },
  system_error: { kind: "refused", code: "system_error", disposition: "temporary" },
  queue_full: { kind: "refused", code: "queue_full", disposition: "throttled" },
};

/**
 * Makes the built-in route of test-mode messages: it decides by the recipient's last digits
 * (`decisions.md` "Test numbers") and sends its receipts through the same desk as every carrier's.
 * Receipts are planned from the submission alone, so after a restart they are made again from the
 * submissions of the last five minutes; messaging takes a repeated receipt for what it is.
 */
export function createTestLink(options: {
  readonly connectorId: string;
  readonly events: LinkEvents;
  readonly clock: Clock;
  /** Lists a connector's newest stored submissions since an instant. */
  readonly listSubmissions: (
    connectorId: string,
    sinceMs: number,
    max: number,
  ) => Promise<Submission[]>;
}): Link {
  const { connectorId, events, clock } = options;
  const seen = new Map<string, { count: number; firstMs: number }>();
  const timers = new Set<NodeJS.Timeout>();
  let inFlight = 0;
  let isOpen = false;

  function later(afterMs: number, work: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, afterMs);
    timers.add(timer);
    if (!isOpen) timer.unref();
  }

  function countSubmit(name: string): { count: number; sinceFirstMs: number } {
    const nowMs = clock.now();
    const before = seen.get(name) ?? { count: 0, firstMs: nowMs };
    const now = { count: before.count + 1, firstMs: before.firstMs };
    setRecent(seen, name, now, MEMORY_MAX);
    return { count: now.count, sinceFirstMs: nowMs - now.firstMs };
  }

  function send(key: string, parties: TestPayload, receipt: TestReceipt): void {
    const incoming: IncomingReceipt = {
      connectorId,
      keys: [key],
      verdict: receipt.state === "delivered" ? "delivered" : "undelivered",
      errorCode: receipt.error === "none" ? "" : receipt.error,
      carrierCode: receipt.state,
      occurredAtMs: clock.now(),
      to: normalizeAddress(parties.to),
      from: normalizeAddress(parties.from),
      messageId: "",
    };
    // A real carrier sends again what was not acknowledged.
    events.onReceipt(incoming).catch(() => later(1000, () => send(key, parties, receipt)));
  }

  async function replay(): Promise<void> {
    const sinceMs = clock.now() - REPLAY_MS;
    const found = await options.listSubmissions(connectorId, sinceMs, REPLAY_MAX);
    for (const submission of found) {
      const plan = planSubmit(submission.to, RELENTED.count, RELENTED.sinceMs);
      for (const receipt of plan.receipts) {
        const dueMs = submission.atMs + receipt.afterMs - clock.now();
        const { key, to, from: sender } = submission;
        later(Math.max(0, dueMs), () => send(key, { to, from: sender }, receipt));
      }
    }
  }

  return {
    get status() {
      return isOpen ? "bound" : "down";
    },
    lastError: "",
    window: WINDOW,
    isScripted: true,
    get inFlight() {
      return inFlight;
    },
    start() {
      isOpen = true;
      events.onChange();
      void replay().catch(() => later(2000, () => void replay().catch(() => undefined)));
    },
    prepare({ messageId, to, from, segments }) {
      const payload: TestPayload = { to, from };
      return Array.from({ length: segments }, (_, index) => ({ messageId, index, payload }));
    },
    async submit(part) {
      if (!isOpen) return { kind: "not_sent", code: "closed" };
      const parties = part.payload as TestPayload;
      events.beforeWrite([part.messageId]);
      const key = `${part.messageId}-${part.index}`;
      const { count, sinceFirstMs } = countSubmit(key);
      const plan = planSubmit(parties.to, count, sinceFirstMs);
      for (const receipt of plan.receipts) {
        later(receipt.afterMs, () => send(key, parties, receipt));
      }
      const { answer } = plan;
      if (answer.kind === "refuse") return REFUSALS[answer.reason] as PartOutcome;
      if (answer.kind === "drop_link") return { kind: "unknown", code: "closed" };
      const afterMs = answer.kind === "none" ? NO_ANSWER_MS : answer.afterMs;
      if (afterMs > 0) {
        inFlight += 1;
        await new Promise<void>((resolve) => setTimeout(resolve, afterMs));
        inFlight -= 1;
      }
      if (answer.kind === "none") return { kind: "unknown", code: "timeout" };
      return { kind: "accepted", carrierMessageId: key };
    },
    keyOf: (carrierMessageId) => carrierMessageId,
    async close(drainMs) {
      isOpen = false;
      const deadlineMs = performance.now() + drainMs;
      while (inFlight > 0 && performance.now() < deadlineMs) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      // Receipts come whatever becomes of the link, while the process lives: it may be given up in an outage
      // of the database, and the next link's replay misses what is not stored yet.
      for (const timer of timers) timer.unref();
    },
  };
}
