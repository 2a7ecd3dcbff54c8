import { createBind } from "../../services/carrier/app/bind.ts";
import { createDispatcher } from "../../services/carrier/app/dispatcher.ts";
import type { Link, LinkStatus, Part } from "../../services/carrier/app/link.ts";
import type { OutcomeReport } from "../../services/carrier/app/outcome-reporter.ts";
import type { PartlyWritten } from "../../services/carrier/app/partly-written.ts";
import { createRecentSubmissions } from "../../services/carrier/app/recent-submissions.ts";
import type { JournalEntry, PartRef } from "../../services/carrier/domain/journal-lines.ts";
import type { ClaimedMessage, PartOutcome } from "../../services/carrier/domain/message.ts";
import { createManualClock } from "../../services/shared/core/clock.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { claimed } from "./carrier-messages.ts";

/** A link with answers that the test gives part by part. */
function manualLink(window: number, isScripted = false) {
  const submits: { part: Part; answer(outcome: PartOutcome): void }[] = [];
  let status: LinkStatus = "bound";
  const link: Link = {
    get status() {
      return status;
    },
    lastError: "",
    window,
    isScripted,
    inFlight: 0,
    start: () => undefined,
    prepare: ({ messageId, segments, body }) => {
      if (body === "unfit") throw new Error("cannot be put on this wire");
      return Array.from({ length: segments }, (_, index) => ({ messageId, index, payload: null }));
    },
    submit: (part) =>
      new Promise((resolve) => {
        submits.push({ part, answer: resolve });
      }),
    keyOf: (id) => id,
    close: () => Promise.resolve(),
  };
  return {
    link,
    submits,
    setStatus(next: LinkStatus) {
      status = next;
    },
  };
}

const log = createLogger("test", "silent");

/** How long a receipt may prove a first part in doubt. */
export const PROOF_WAIT_MS = 540_000;

/** A manual clock that advances by `ticksMs` at each read. */
function createTickingClock(startMs: number) {
  const inner = createManualClock(startMs);
  return {
    ticksMs: 0,
    now() {
      inner.advance(this.ticksMs);
      return inner.now();
    },
    advance: inner.advance,
  };
}

/** A dispatcher over one such link, with its reports. */
export function setUp(
  window = 10,
  hasSingleReceipt = false,
  isScripted = false,
  partlyWritten: readonly PartlyWritten[] = [],
  status: LinkStatus = "bound",
) {
  const wall = createManualClock(1_000_000);
  const steady = createTickingClock(5000);
  const clock = {
    now: wall.now,
    advance(byMs: number) {
      wall.advance(byMs);
      steady.advance(byMs);
    },
  };
  const wire = manualLink(window, isScripted);
  const reported: OutcomeReport[] = [];
  const saved: string[][] = [];
  const journaled: JournalEntry[] = [];
  const journaledParts: PartRef[] = [];
  const refusedParts: PartRef[] = [];
  const recent = createRecentSubmissions(100);
  const dispatcher = createDispatcher({
    connectorId: "smsc",
    hasSingleReceipt,
    proofWaitMs: PROOF_WAIT_MS,
    partlyWritten,
    journal: {
      append(entries, parts = []) {
        journaled.push(...entries);
        journaledParts.push(...parts);
      },
      markRefused: (part) => void refusedParts.push(part),
    },
    outcomes: {
      report: (report) => void reported.push(report),
      saveSubmissions: (submissions) => void saved.push(submissions.map(({ key }) => key)),
    },
    recent,
    clock,
    steady,
    log,
    spans: { open: () => undefined },
    onRoom: () => undefined,
  });
  wire.setStatus(status);
  dispatcher.setBinds([createBind(0, wire.link, clock, log)]);
  return {
    clock,
    wall,
    steady,
    ...wire,
    reported,
    saved,
    journaled,
    journaledParts,
    refusedParts,
    recent,
    dispatcher,
  };
}

/** Claimed messages `msg_0`, `msg_1` and so on. */
export const many = (count: number, fields: Partial<ClaimedMessage> = {}) =>
  Array.from({ length: count }, (_, at) => claimed({ messageId: `msg_${at}`, ...fields }));
/** The outcome of a part that the carrier accepted under an id. */
export const accept = (id: string): PartOutcome => ({ kind: "accepted", carrierMessageId: id });
