import type { Client } from "@connectrpc/connect";
import type {
  MessagingService,
  SendMessagesResponse,
  SendResult,
} from "../proto/gen/sms/v1/messaging_pb.js";
import { AppError, isErrorCode } from "../services/shared/core/errors.ts";
import { createKeyedBatcher } from "../services/shared/core/keyed-batcher.ts";
import { recordedTrace, tracer } from "../services/shared/io/tracing.ts";
import { askTogether } from "../services/shared/rpc/ask-together.ts";
import { activeCall, runDetached, runInCall } from "../services/shared/rpc/call-context.ts";
import { toAppError } from "../services/shared/rpc/error-status.ts";
import type { SendRequest } from "./routes/send-kinds.ts";

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

/** Sends in one call; messaging takes up to 256. */
const BATCH_MAX = 64;

/** Calls of one account under way at once; what comes beyond goes together in the next. */
const LANES = 6;

/** Sends waiting for a lane, of one account and in all; far above `REQUESTS_MAX`. */
const QUEUE_MAX = 100_000;

/**
 * A call costs more than the single send it carries. While an account has several calls under way
 * its further sends wait for the next one and go together; a lone send goes at once. Accounts do
 * not share calls, so that a slow one delays only itself.
 */
export function createSendOne(messaging: Client<typeof MessagingService>): SendOne {
  const batcher = createKeyedBatcher<Item, SendMessagesResponse>({
    name: "single sends",
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    totalMax: QUEUE_MAX,
    lanes: LANES,
    // A call whose outcome is unknown is not made again: that is the customer's to decide.
    isTransient: () => true,
    flush: (_tenantId, items) => inTraceOf(items, () => carry(messaging, items)),
  });
  return (tenantId, request, requestId) => {
    const traceparent = recordedTrace(activeCall()?.traceparent);
    return batcher.add(tenantId, { request, requestId, traceparent });
  };
}

/** A call of several requests is part of the first one's trace; messaging links it to the others. */
function inTraceOf<T>(items: readonly Item[], run: () => T): T {
  const first = items.find(({ traceparent }) => traceparent !== undefined);
  if (first === undefined) return runDetached(run);
  return runInCall({ requestId: first.requestId, traceparent: first.traceparent }, run);
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
  const [outcome] = await carry(messaging, [{ request, requestId }]);
  if (outcome === undefined || outcome instanceof Error) throw outcome ?? incomplete();
  return outcome;
}

async function carry(
  messaging: Client<typeof MessagingService>,
  items: readonly Item[],
): Promise<(SendMessagesResponse | Error)[]> {
  const together = async (): Promise<(SendMessagesResponse | Error)[]> => {
    const { results } = await messaging.sendMany({
      requests: items.map(({ request }) => request),
      requestIds: items.map(({ requestId }) => requestId),
      ...(tracer === undefined
        ? {}
        : { traceparents: items.map(({ traceparent }) => traceparent ?? "") }),
    });
    return items.map((_, at) => toOutcome(results[at]));
  };
  try {
    const single = ({ request }: Item) => messaging.sendMessages(request);
    const outcomes = await askTogether(items, together, single);
    return outcomes.map((one) => (one instanceof Error ? toAppError(one) : one));
  } catch (error) {
    throw toAppError(error);
  }
}

function toOutcome(result: SendResult | undefined): SendMessagesResponse | Error {
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

function incomplete(): AppError {
  return new AppError("internal_error", "The answer of messaging is incomplete.");
}
