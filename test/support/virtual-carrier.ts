/** A bind and its carrier in virtual time, for tests of the rate: no clock runs and nothing is random. */

import { createRefusalEvidence } from "../../services/carrier/app/refusal-evidence.ts";
import {
  type AdaptiveRate,
  allowedNow,
  onAccept,
  onRefusal,
  onSubmit,
  UNLIMITED,
} from "../../services/carrier/domain/adaptive-rate.ts";
import type { ThrottleScope } from "../../services/carrier/domain/message.ts";
import { refusedDelayMs } from "../../services/carrier/domain/outcome.ts";

export type VirtualMessage = { readonly to: string; readonly from: string; readonly atMs: number };
export type Answer = "accept" | "refuse";
/** Decides about a submit; `tries` counts the submits of the message from 1. */
export type VirtualCarrier = (message: VirtualMessage, nowMs: number, tries: number) => Answer;

export type VirtualRun = {
  readonly accepted: readonly { readonly message: VirtualMessage; readonly atMs: number }[];
  /** When each refusal came. */
  readonly refusedAtMs: readonly number[];
  readonly rate: AdaptiveRate;
};

type Waiting = { message: VirtualMessage; tries: number; dueMs: number };

/** Runs it until `untilMs`, with one step a millisecond. */
export function runBind(options: {
  readonly messages: readonly VirtualMessage[];
  readonly carrier: VirtualCarrier;
  readonly untilMs: number;
  readonly window?: number;
  readonly answerMs?: number;
  readonly scope?: ThrottleScope;
  readonly trace?: (nowMs: number, rate: AdaptiveRate) => void;
}): VirtualRun {
  const { messages, carrier, untilMs, window = 10, answerMs = 5, scope = "bind" } = options;
  const evidence = createRefusalEvidence();
  let rate = UNLIMITED;
  const coming = [...messages].sort((a, b) => a.atMs - b.atMs);
  const fresh: Waiting[] = [];
  let putOff: Waiting[] = [];
  const inFlight: { waiting: Waiting; answer: Answer; endMs: number }[] = [];
  const accepted: { message: VirtualMessage; atMs: number }[] = [];
  const refusedAtMs: number[] = [];
  let turn = 0;
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 1) {
    while (coming.length > 0 && (coming[0] as VirtualMessage).atMs <= nowMs) {
      fresh.push({ message: coming.shift() as VirtualMessage, tries: 0, dueMs: 0 });
    }
    while (inFlight.length > 0 && (inFlight[0] as { endMs: number }).endMs <= nowMs) {
      const { waiting, answer } = inFlight.shift() as (typeof inFlight)[number];
      if (answer === "accept") {
        evidence.accepted(waiting.message);
        rate = onAccept(rate, (2 * window * 1000) / answerMs);
        accepted.push({ message: waiting.message, atMs: nowMs });
      } else {
        const { cause, weight } = evidence.refused(waiting.message);
        const inLastSecond = accepted.filter(({ atMs }) => atMs > nowMs - 1000).length;
        const startPerSecond = Math.min(
          (window * 1000) / answerMs,
          Math.max(300, 1.5 * inLastSecond),
        );
        if (weight > 0) rate = onRefusal(rate, { scope, weight, startPerSecond });
        refusedAtMs.push(nowMs);
        const refusal = { kind: "refused", code: "", disposition: "throttled", cause } as const;
        const delayMs = refusedDelayMs(refusal, waiting.tries - 1);
        putOff.push({ ...waiting, dueMs: nowMs + delayMs });
      }
    }
    while (inFlight.length < window && allowedNow(rate, nowMs) > 0) {
      const due = putOff.find(({ dueMs }) => dueMs <= nowMs);
      const isPutOff = due !== undefined && (fresh.length === 0 || turn % 4 === 3);
      const next = isPutOff ? due : fresh.shift();
      if (next === undefined) break;
      turn += 1;
      if (isPutOff) putOff = putOff.filter((one) => one !== due);
      rate = onSubmit(rate, nowMs);
      next.tries += 1;
      inFlight.push({
        waiting: next,
        answer: carrier(next.message, nowMs, next.tries),
        endMs: nowMs + answerMs,
      });
    }
    options.trace?.(nowMs, rate);
  }
  return { accepted, refusedAtMs, rate };
}
