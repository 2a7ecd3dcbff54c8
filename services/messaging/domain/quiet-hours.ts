/**
 * When quiet hours bind a message, and what happens then:
 *
 * | the message             | in its quiet hours                                                        |
 * | ----------------------- | ------------------------------------------------------------------------- |
 * | waits in a queue        | `quiet` until they end, or `failed` `quiet_hours` under the policy reject |
 * | is `quiet`              | stays until they end; then it waits in its queue again                    |
 * | was claimed             | its carrier submits it only between `fromMs` and `untilMs` of `openSpan`  |
 * | has a submitted part    | its other parts follow: the recipient gets one message, begun outside     |
 *
 * A message is `quiet` without aging: its queue time counts open hours only.
 */
import { parseRecipient } from "../../shared/core/phone.ts";
import { compileQuietRule, type Period, type QuietRule } from "../../shared/core/quiet-hours.ts";
import { type Decision, type Message, moveTo, type OpenSpan, unchanged } from "./message.ts";
import type { Timeouts } from "./queue-transitions.ts";
import { missingRight, type SendingRights } from "./sending-rights.ts";

/** The quiet hours of all countries. */
export type QuietHours = {
  /** The period that contains an instant, for a recipient; undefined when no quiet hours bind it. */
  periodOf(subject: QuietSubject, atMs: number): Period | undefined;
  /** The rules were not read yet. Messages that they may bind wait, and none fails for it. */
  readonly isUnknown?: true;
};

/** The fields of a message that decide which quiet hours bind it. */
export type QuietSubject = Pick<Message, "to" | "trafficClass">;

/** A submit needs this long from the claim's or the carrier's decision to the carrier's network. */
const MARGIN_MS = 1000;
/** The most periods that a queue time may span. */
const PERIODS_MAX = 1000;
/** The first characters of an E.164 number; they determine its country. */
const PREFIX_LENGTH = 8;
const PREFIXES_MAX = 5000;
/** While the rules are not known, promotional messages are held for this long at a time. */
const UNKNOWN_WAIT_MS = 10_000;

/** Compiles rules, at most one per country and class. Rules without windows bind nothing. */
export function createQuietHours(rules: readonly QuietRule[]): QuietHours {
  const periods = new Map(
    rules
      .filter(({ windows }) => windows.length > 0)
      .map((rule) => [`${rule.trafficClass}|${rule.country}`, compileQuietRule(rule)]),
  );
  const classes = new Set(rules.map(({ trafficClass }) => trafficClass));
  const countryOf = createCountryLookup();
  return {
    periodOf({ to, trafficClass }, atMs) {
      if (!classes.has(trafficClass)) return undefined;
      return periods.get(`${trafficClass}|${countryOf(to)}`)?.(atMs);
    },
  };
}

/**
 * The quiet hours before the rules are read. They hold promotional messages, because an early submit cannot be undone.
 */
export function createUnknownQuietHours(): QuietHours {
  return {
    isUnknown: true,
    periodOf: ({ trafficClass }, atMs) =>
      trafficClass === "promotional"
        ? { isQuiet: true, fromMs: atMs, untilMs: atMs + UNKNOWN_WAIT_MS }
        : undefined,
  };
}

function createCountryLookup(): (to: string) => string {
  const countries = new Map<string, string>();
  return (to) => {
    const prefix = to.slice(0, PREFIX_LENGTH);
    let country = countries.get(prefix);
    if (country === undefined) {
      const parsed = parseRecipient(to);
      country = parsed.ok ? parsed.country : "";
      if (countries.size >= PREFIXES_MAX) countries.clear();
      countries.set(prefix, country);
    }
    return country;
  };
}

/** True if a submit now, or a moment later, would be in quiet hours. */
export function isQuietAt(subject: QuietSubject, atMs: number, quietHours: QuietHours): boolean {
  return quietPeriod(subject, atMs, quietHours) !== undefined;
}

function quietPeriod(
  subject: QuietSubject,
  atMs: number,
  quietHours: QuietHours,
): Period | undefined {
  const period = quietHours.periodOf(subject, atMs);
  if (period === undefined || period.isQuiet) return period;
  if (atMs < period.untilMs - MARGIN_MS) return undefined;
  return quietHours.periodOf(subject, period.untilMs);
}

/** The span in which a message may be submitted; undefined when it always may. Empty in quiet hours. */
export function openSpan(
  subject: QuietSubject,
  atMs: number,
  quietHours: QuietHours,
): OpenSpan | undefined {
  const period = quietHours.periodOf(subject, atMs);
  if (period === undefined) return undefined;
  if (period.isQuiet) return { fromMs: period.untilMs, untilMs: period.untilMs };
  return { fromMs: period.fromMs, untilMs: period.untilMs - MARGIN_MS };
}

/** The instant at which `lengthMs` of open time have passed since an instant. */
export function openTimeEnd(
  subject: QuietSubject,
  fromMs: number,
  lengthMs: number,
  quietHours: QuietHours,
): number {
  if (quietHours.isUnknown === true) return fromMs + lengthMs;
  let atMs = fromMs;
  let leftMs = lengthMs;
  for (let count = 0; count < PERIODS_MAX; count += 1) {
    const period = quietHours.periodOf(subject, atMs);
    if (period === undefined) break;
    if (!period.isQuiet) {
      const openMs = period.untilMs - atMs;
      if (leftMs <= openMs) break;
      leftMs -= openMs;
    }
    atMs = period.untilMs;
  }
  return atMs + leftMs;
}

/** When a queued message's queue time ends, by the present rules. */
export function queueEnd(message: Message, { queueMs }: Timeouts, quietHours: QuietHours): number {
  const queued = message.history.findLast(({ status }) => status === "queued");
  const stored = message.queueUntilMs ?? 0;
  if (queued === undefined || quietHours.periodOf(message, queued.atMs) === undefined)
    return stored;
  return openTimeEnd(message, queued.atMs, queueMs, quietHours);
}

/** Takes a waiting message out of its queue if quiet hours bind it now. */
export function enterQuietHours(message: Message, nowMs: number, quietHours: QuietHours): Decision {
  const period = quietPeriod(message, nowMs, quietHours);
  if (message.phase !== "waiting" || period === undefined) return unchanged(message);
  if (isRefused(message, quietHours)) return refuse(message, nowMs);
  return unchanged({
    ...message,
    phase: "quiet",
    quietUntilMs: period.untilMs,
    notBeforeMs: 0,
    dueAtMs: undefined,
  });
}

/**
 * Puts a message back into its queue when its quiet hours have ended. Fails it if it may no longer be sent: a night is
 * long enough for an opt-out. If other quiet hours bind it now, because the rules or the clock have changed, it waits
 * for their end.
 */
export function leaveQuietHours(
  message: Message,
  nowMs: number,
  timeouts: Timeouts,
  rights: SendingRights,
  quietHours: QuietHours,
): Decision {
  if (message.phase !== "quiet") return unchanged(message);
  const period = quietPeriod(message, nowMs, quietHours);
  if (period !== undefined) {
    if (isRefused(message, quietHours)) return refuse(message, nowMs);
    const isSame = period.untilMs === message.quietUntilMs;
    return unchanged(isSame ? message : { ...message, quietUntilMs: period.untilMs });
  }
  const missing = missingRight(rights);
  if (missing !== undefined) return moveTo(unchanged(message), "failed", nowMs, missing);
  const queueUntilMs = queueEnd(message, timeouts, quietHours);
  return unchanged({
    ...message,
    phase: "waiting",
    quietUntilMs: undefined,
    releasedAtMs: nowMs,
    queueUntilMs,
    dueAtMs: queueUntilMs,
  });
}

function isRefused({ rejectsInQuietHours }: Message, { isUnknown }: QuietHours): boolean {
  return rejectsInQuietHours && isUnknown !== true;
}

function refuse(message: Message, nowMs: number): Decision {
  return moveTo(unchanged(message), "failed", nowMs, "quiet_hours");
}
