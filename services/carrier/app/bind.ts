import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import {
  allowedNow,
  allowedWithin,
  onAccept,
  onRefusal,
  onSubmit,
  UNLIMITED,
} from "../domain/adaptive-rate.ts";
import { type BindFigures, type BindStats, createBindStats } from "../domain/bind-stats.ts";
import {
  type CongestionWindow,
  freeSlots,
  onAccepted,
  onBindRefused,
  onJournalFailure,
  onResponse,
  onTimeout,
  openWindow,
} from "../domain/congestion-control.ts";
import {
  isJournalFailure,
  JOURNAL_FAILED,
  JournalError,
  type PartOutcome,
} from "../domain/message.ts";
import type { Link, Part } from "./link.ts";
import {
  createRefusalEvidence,
  type RefusalEvidence,
  type SubmitAddress,
} from "./refusal-evidence.ts";

/** A link with its congestion window, its adaptive rate and its figures. */
export type Bind = {
  readonly index: number;
  readonly link: Link;
  readonly stats: BindStats;
  /** Submits that may be made now. */
  readonly room: number;
  /** Free slots of the congestion window, regardless of the adaptive rate. */
  readonly windowRoom: number;
  /** The congestion window pauses the bind. */
  readonly isPaused: boolean;
  /** How long the bind submits nothing, in milliseconds; 0 when it may submit now. */
  readonly pauseLeftMs: number;
  /** Submits that the adaptive rate allows within a time from now. */
  allowedWithin(ms: number): number;
  submit(part: Part, address: SubmitAddress): Promise<PartOutcome>;
  figures(): BindFigures & { readonly adaptiveRate: number };
};

/**
 * Puts a congestion window and an adaptive rate on a link. Both outlive reconnects: a carrier that accepts a bind
 * has not answered a submit yet. The clock is a steady one, so that a step of the machine's clock changes no pause.
 * The binds of a connector share the evidence.
 */
export function createBind(
  index: number,
  link: Link,
  clock: Clock,
  log: Logger,
  evidence: RefusalEvidence = createRefusalEvidence(),
): Bind {
  const stats = createBindStats();
  let window = openWindow(link.window);
  let rate = UNLIMITED;
  let answerMs = 1;
  let inFlight = 0;

  function windowRoom(): number {
    return link.status === "bound" ? freeSlots(window, inFlight, clock.now()) : 0;
  }

  /** The most submits per second that the window allows at the usual latency. */
  function windowPerSecond(): number {
    return (link.window * 1000) / Math.max(1, answerMs);
  }

  /** Applies an outcome to the adaptive rate; returns it with the cause of a throttling refusal. */
  function applyToRate(outcome: PartOutcome, address: SubmitAddress, nowMs: number): PartOutcome {
    if (link.isScripted === true) return outcome;
    if (outcome.kind === "accepted") {
      evidence.accepted(address);
      rate = onAccept(rate, RATE_CEILING * windowPerSecond());
    }
    if (outcome.kind !== "refused" || outcome.disposition !== "throttled") return outcome;
    const { cause, weight } = evidence.refused(address);
    if (weight > 0) {
      const usual = Math.max(RATE_START_MIN, RATE_START * stats.acceptsPerSecond(nowMs));
      const startPerSecond = Math.min(windowPerSecond(), usual);
      rate = onRefusal(rate, { scope: outcome.scope ?? "bind", weight, startPerSecond });
    }
    return { ...outcome, cause };
  }

  return {
    index,
    link,
    stats,
    get room() {
      return Math.min(windowRoom(), allowedNow(rate, clock.now()));
    },
    get windowRoom() {
      return windowRoom();
    },
    get isPaused() {
      return window.pausedUntilMs > clock.now();
    },
    get pauseLeftMs() {
      const nowMs = clock.now();
      const isLimited = allowedNow(rate, nowMs) === 0;
      return Math.max(0, window.pausedUntilMs - nowMs, isLimited ? rate.nextAtMs - nowMs : 0);
    },
    allowedWithin: (ms) => allowedWithin(rate, ms),
    async submit(part, address) {
      const startedMs = clock.now();
      inFlight += 1;
      rate = onSubmit(rate, startedMs);
      stats.noteSubmit(startedMs);
      const outcome = await send(link, part, log);
      inFlight -= 1;
      const nowMs = clock.now();
      stats.noteOutcome(outcome, nowMs - startedMs, nowMs);
      window = nextWindow(window, outcome, link, { startedMs, nowMs });
      if (outcome.kind === "accepted") answerMs += (nowMs - startedMs - answerMs) / 16;
      return applyToRate(outcome, address, nowMs);
    },
    figures: () => ({ ...stats.read(clock.now()), adaptiveRate: rate.perSecond }),
  };
}

/** The limit begins at 1.5 times the accepted submits per second or at 300, but not above the rate of the window. */
const RATE_START = 1.5;
const RATE_START_MIN = 300;
/** The adaptive rate ends at this multiple of the submits per second that the window allows. */
const RATE_CEILING = 2;

function nextWindow(
  window: CongestionWindow,
  outcome: PartOutcome,
  { window: windowMax, isScripted = false }: Link,
  { startedMs, nowMs }: { readonly startedMs: number; readonly nowMs: number },
): CongestionWindow {
  if (isJournalFailure(outcome)) return onJournalFailure(window, nowMs);
  if (isScripted || outcome.kind === "not_sent") return window;
  if (outcome.kind === "unknown") return onTimeout(window, startedMs, nowMs);
  const answered = onResponse(window, nowMs);
  if (outcome.kind === "accepted") return onAccepted(answered, windowMax);
  return outcome.disposition === "bind" ? onBindRefused(answered, nowMs) : answered;
}

/** A `JournalError` comes before any octet leaves; any other error may come after that. */
async function send(link: Link, part: Part, log: Logger): Promise<PartOutcome> {
  try {
    return await link.submit(part);
  } catch (error) {
    if (error instanceof JournalError) return { kind: "not_sent", code: JOURNAL_FAILED };
    log.error({ error, message: part.messageId }, "a link failed during a submit");
    return { kind: "unknown", code: "link_fault" };
  }
}
