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

/** Sends one message through messaging; fails like a call of its own. */
export type SendOne = (
  tenantId: string,
  request: SendRequest,
  requestId: string,
) => Promise<SendMessagesResponse>;

type Item = {
  readonly request: SendRequest;
  readonly requestId: string;
  /** The trace of the request, if it is recorded. */
  readonly traceparent?: string | undefined;
  readonly resolve: (outcome: SendOutcome) => void;
};

type SendOutcome = SendMessagesResponse | Error;

/** The maximum number of sends in one call; messaging accepts up to 256. */
const BATCH_MAX = 64;

/**
 * Minimum interval between calls, the same as that of messaging's commit batches (ADR 163). It ends early when
 * `FULL_AT` sends wait. A client that sends one message after the other does not wait.
 */
const MIN_INTERVAL_MS = 20;
const FULL_AT = 32;

/** The maximum number of sends of one account in progress: a flood from one leaves capacity for the others. */
const ACCOUNT_MAX = 384;

/** A send that waited longer is refused: its client would leave and its lock expire before the response. */
const WAIT_MAX_MS = 10_000;

/** Far above `REQUESTS_MAX`, which bounds the sends in the queue and in progress. */
const QUEUE_MAX = 100_000;

/** The timeout of a unary call. */
const TIMEOUT_MS = 10_000;

/**
 * Batches single sends of all accounts into streaming RPCs: a call costs more than the single send it carries. Each
 * send is answered as soon as its own result arrives, so a slow account delays only itself. A batch does not wait for
 * earlier calls to end.
 */
export function createSendBatcher(
  messaging: Client<typeof MessagingService>,
  waitMaxMs = WAIT_MAX_MS,
): SendOne {
  const batcher = createBatcher<Item, undefined>({
    name: "single sends",
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    concurrency: Number.POSITIVE_INFINITY,
    minIntervalMs: MIN_INTERVAL_MS,
    fullAt: FULL_AT,
    flushesAfterOne: true,
    async flush(items) {
      await inFirstTrace(items, () => sendEach(messaging, items));
      return items.map(() => undefined);
    },
  });
  const accounts = createKeyedSemaphore(ACCOUNT_MAX);
  return (tenantId, request, requestId) => {
    const traceparent = recordedTrace(activeCall()?.traceparent);
    const arrivedMs = performance.now();
    return accounts.run(tenantId, () => {
      if (performance.now() - arrivedMs > waitMaxMs) {
        throw new AppError("service_unavailable", "The send took too long; try again shortly.");
      }
      const { promise, resolve } = Promise.withResolvers<SendOutcome>();
      batcher.add({ request, requestId, traceparent, resolve }).catch(resolve);
      return promise.then(unwrap);
    });
  };
}

/** Runs the call in the trace of its first recorded request; messaging links it to the others. */
function inFirstTrace<T>(items: readonly Item[], run: () => T): T {
  const first = items.find(({ traceparent }) => traceparent !== undefined);
  if (first === undefined) return runDetached(run);
  return runInCall({ requestId: first.requestId, traceparent: first.traceparent }, run);
}

/** Never rejects. If the call fails, results that arrived before stay valid. */
async function sendEach(
  messaging: Client<typeof MessagingService>,
  items: readonly Item[],
): Promise<void> {
  const unanswered = new Set(items);
  try {
    const stream = messaging.sendEach(toRequest(items), { timeoutMs: TIMEOUT_MS });
    for await (const { positions, results } of stream) {
      for (const [index, at] of positions.entries()) {
        const item = items[at];
        if (item === undefined) continue;
        unanswered.delete(item);
        item.resolve(toOutcome(results[index]));
      }
    }
    for (const { resolve } of unanswered) resolve(incomplete());
  } catch (error) {
    // Do not retry: messaging may have accepted the sends. The customer decides.
    const failure = toAppError(error);
    for (const { resolve } of unanswered) resolve(failure);
  }
}

/**
 * Sends one bulk or batch request in a call of its own. It uses `SendMany`, because a failure inside a response can
 * hold an error for each of 1,000 recipients; the trailers of a failed call hold about 50.
 */
export async function sendList(
  messaging: Client<typeof MessagingService>,
  request: SendRequest,
  requestId: string,
): Promise<SendMessagesResponse> {
  const { results } = await rpcAnswer(messaging.sendMany(toRequest([{ request, requestId }])));
  return unwrap(toOutcome(results[0]));
}

function toRequest(items: readonly Omit<Item, "resolve">[]) {
  return {
    requests: items.map(({ request }) => request),
    requestIds: items.map(({ requestId }) => requestId),
    ...(tracer === undefined
      ? {}
      : { traceparents: items.map(({ traceparent }) => traceparent ?? "") }),
  };
}

function toOutcome(result: SendResult | undefined): SendOutcome {
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

function unwrap(outcome: SendOutcome): SendMessagesResponse {
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

function incomplete(): AppError {
  return new AppError("internal_error", "The answer of messaging is incomplete.");
}
