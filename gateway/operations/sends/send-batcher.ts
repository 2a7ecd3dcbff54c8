import type { Client } from "@connectrpc/connect";
import type {
  MessagingService,
  SendMessagesResponse,
  SendResult,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError, isErrorCode } from "../../../services/shared/core/errors.ts";
import { createBatcher } from "../../../services/shared/flow/batcher.ts";
import { createKeyedSemaphore } from "../../../services/shared/flow/keyed-semaphore.ts";
import { runDetached } from "../../../services/shared/flow/run-detached.ts";
import { recordedTrace, tracer } from "../../../services/shared/io/tracing.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { activeCall, runInCall } from "../../../services/shared/rpc/call-context.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import type { SendRequest } from "./send-operations.ts";

/** Carries a single send to messaging; fails as its own call would. */
export type SendOne = (
  tenantId: string,
  request: SendRequest,
  requestId: string,
) => Promise<SendMessagesResponse>;

type Item = {
  readonly request: SendRequest;
  readonly requestId: string;
  /** The request's own trace, when it is recorded. */
  readonly traceparent?: string | undefined;
};

type Outcome = SendMessagesResponse | Error;

/** Sends in one call; messaging takes up to 256. */
const BATCH_MAX = 64;

/** A call that is not full leaves this long after the one before it; a lone send leaves at once. */
const PACE_MS = 5;

/** Sends of one account on their way at once: a flood of one leaves room for the others. */
const ACCOUNT_MAX = 384;

/** A send that has waited longer for its place is refused: its client and its lock would be gone before the answer. */
const LINE_MAX_MS = 10_000;

/** Far above `REQUESTS_MAX`, which bounds the sends that wait and those that are on their way. */
const QUEUE_MAX = 100_000;

/** As long as a unary call may take. */
const TIMEOUT_MS = 10_000;

/**
 * A call costs more than the single send it carries: the sends of one moment go together, those of
 * all accounts. Each is answered as soon as it has ended, so a slow account delays only itself; and
 * a call leaves whether or not others have ended, so there is always room for the next.
 */
export function createSendBatcher(
  messaging: Client<typeof MessagingService>,
  lineMaxMs = LINE_MAX_MS,
): SendOne {
  const departures = createBatcher<Item, { readonly outcome: Promise<Outcome> }>({
    name: "single sends",
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    minIntervalMs: PACE_MS,
    flush: async (items) => inTraceOf(items, () => depart(messaging, items)),
  });
  const accounts = createKeyedSemaphore(ACCOUNT_MAX);
  return (tenantId, request, requestId) => {
    const traceparent = recordedTrace(activeCall()?.traceparent);
    const cameAtMs = performance.now();
    return accounts.run(tenantId, async () => {
      if (performance.now() - cameAtMs > lineMaxMs) {
        throw new AppError("service_unavailable", "The send took too long; try again shortly.");
      }
      const { outcome } = await departures.add({ request, requestId, traceparent });
      return unwrap(await outcome);
    });
  };
}

/** A call of several requests is part of the first one's trace; messaging links it to the others. */
function inTraceOf<T>(items: readonly Item[], run: () => T): T {
  const first = items.find(({ traceparent }) => traceparent !== undefined);
  if (first === undefined) return runDetached(run);
  return runInCall({ requestId: first.requestId, traceparent: first.traceparent }, run);
}

/** Begins a call, and answers before it ends; no outcome rejects. */
function depart(messaging: Client<typeof MessagingService>, items: readonly Item[]) {
  const waiting = items.map(() => Promise.withResolvers<Outcome>());
  void carryEach(messaging, items, (at, outcome) => waiting[at]?.resolve(outcome));
  return waiting.map(({ promise }) => ({ outcome: promise }));
}

/** Never rejects. What was settled before the call failed stays as it is. */
async function carryEach(
  messaging: Client<typeof MessagingService>,
  items: readonly Item[],
  settle: (at: number, outcome: Outcome) => void,
): Promise<void> {
  const settleRest = (outcome: Outcome) => {
    for (const at of items.keys()) settle(at, outcome);
  };
  try {
    const answers = messaging.sendEach(toRequest(items), { timeoutMs: TIMEOUT_MS });
    for await (const { positions, results } of answers) {
      for (const [index, at] of positions.entries()) settle(at, toOutcome(results[index]));
    }
    settleRest(incomplete());
  } catch (error) {
    // Do not retry: messaging may have accepted the sends. The customer decides.
    settleRest(toAppError(error));
  }
}

/**
 * Carries one bulk or batch send, large enough for a call of its own. It is a `SendMany` all the
 * same: a failure inside an answer has room for an error of each of a thousand recipients, where
 * the trailers that carry a failed call's status hold about fifty.
 */
export async function sendList(
  messaging: Client<typeof MessagingService>,
  request: SendRequest,
  requestId: string,
): Promise<SendMessagesResponse> {
  const { results } = await rpcAnswer(messaging.sendMany(toRequest([{ request, requestId }])));
  return unwrap(toOutcome(results[0]));
}

function toRequest(items: readonly Item[]) {
  return {
    requests: items.map(({ request }) => request),
    requestIds: items.map(({ requestId }) => requestId),
    ...(tracer === undefined
      ? {}
      : { traceparents: items.map(({ traceparent }) => traceparent ?? "") }),
  };
}

function toOutcome(result: SendResult | undefined): Outcome {
  const outcome = result?.result;
  if (outcome?.case === "response") return outcome.value;
  if (outcome?.case !== "failure" || !isErrorCode(outcome.value.code)) {
    return incomplete();
  }
  const { code, message, fields, extra, retryAfterMs } = outcome.value;
  return new AppError(code, message, {
    fields,
    extra,
    ...(retryAfterMs === 0n ? {} : { retryAfterMs: Number(retryAfterMs) }),
  });
}

function unwrap(outcome: Outcome): SendMessagesResponse {
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

function incomplete(): AppError {
  return new AppError("internal_error", "The answer of messaging is incomplete.");
}
