import type { Clock } from "../../../shared/core/clock.ts";
import { pause } from "../../../shared/flow/backoff.ts";
import { setRecent } from "../../../shared/flow/lru.ts";
import { waitUntilIdle } from "../../../shared/flow/wait-until-idle.ts";
import {
  planSubmit,
  type TestReceipt,
  type TestRefusal,
} from "../../../shared/smpp/test-numbers.ts";
import type { Link, LinkEvents } from "../../app/link.ts";
import type { IncomingReceipt, PartOutcome } from "../../domain/message.ts";
import { normalizeAddress } from "../../domain/receipt.ts";
import type { Submission } from "../../domain/submission.ts";
import { refusedWith } from "../../domain/submit-error-codes.ts";

type TestPayload = { readonly to: string; readonly from: string };

const WINDOW = 1000;
/** How long an unanswered submit of the test route takes to end as unknown. */
const NO_ANSWER_MS = 2000;
/** After a restart, receipts of submissions up to this age are sent again. */
const REPLAY_MS = 300_000;
const REPLAY_MAX = 100_000;
/** Messages whose number of submits is kept in memory. */
const COUNTED_SUBMITS_MAX = 100_000;
/** A number of submits, and a time since the first, at which test numbers that refuse the first submits accept. */
const LAST_ATTEMPT = { count: 100, sinceMs: 3_600_000 } as const;

const REFUSALS: Readonly<Record<TestRefusal, PartOutcome>> = {
  invalid_destination: { kind: "refused", code: "invalid_destination", disposition: "permanent" },
  throttled: { kind: "refused", code: "throttled", disposition: "throttled" },
  system_error: { kind: "refused", code: "system_error", disposition: "temporary" },
  dnd: refusedWith("dnd", "dnd_blocked"),
  queue_full: { kind: "refused", code: "queue_full", disposition: "throttled" },
};

/**
 * Creates the built-in route of test-mode messages. The recipient's last four digits choose the answer and the receipts
 * (`docs/contract.md#test-mode`), which take the same path as those of a carrier.
 *
 * Receipts depend on the submission alone, so after a restart the route sends those of the last five minutes again;
 * messaging ignores a repeated receipt.
 */
export function createTestLink(options: {
  readonly connectorId: string;
  readonly events: LinkEvents;
  readonly clock: Clock;
  /** Lists a connector's newest submissions since an instant. */
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
    setRecent(seen, name, now, COUNTED_SUBMITS_MAX);
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
    // Retry, as a carrier does with a receipt that was not acknowledged.
    events.onReceipt(incoming).catch(() => later(1000, () => send(key, parties, receipt)));
  }

  async function replay(): Promise<void> {
    const sinceMs = clock.now() - REPLAY_MS;
    const found = await options.listSubmissions(connectorId, sinceMs, REPLAY_MAX);
    for (const submission of found) {
      const plan = planSubmit(submission.to, LAST_ATTEMPT.count, LAST_ATTEMPT.sinceMs);
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
      events.beforeWrite([part]);
      const key = `${part.messageId}-${part.index}`;
      const { count, sinceFirstMs } = countSubmit(key);
      const plan = planSubmit(parties.to, count, sinceFirstMs);
      for (const receipt of plan.receipts) {
        later(receipt.afterMs, () => send(key, parties, receipt));
      }
      const { answer } = plan;
      if (answer.kind === "refuse") return REFUSALS[answer.reason];
      if (answer.kind === "drop_link") return { kind: "unknown", code: "closed" };
      const afterMs = answer.kind === "none" ? NO_ANSWER_MS : answer.afterMs;
      if (afterMs > 0) {
        inFlight += 1;
        await pause(afterMs);
        inFlight -= 1;
      }
      if (answer.kind === "none") return { kind: "unknown", code: "timeout" };
      return { kind: "accepted", carrierMessageId: key };
    },
    keyOf: (carrierMessageId) => carrierMessageId,
    async close(drainMs) {
      isOpen = false;
      await waitUntilIdle(() => inFlight === 0, drainMs);
      // Keep the timers of receipts. An outage of the database may close the link, and the replay of the next
      // link misses submissions that are not stored yet.
      for (const timer of timers) timer.unref();
    },
  };
}
