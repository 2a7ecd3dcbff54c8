/** Several sends in one call: each runs as its own call would, and fails alone. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type {
  SendManyRequest,
  SendManyResponseSchema,
  SendMessagesRequest,
  SendMessagesResponseSchema,
  SendResultSchema,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../shared/core/errors.ts";
import type { Logger } from "../shared/io/log.ts";
import type { OpenSpan } from "../shared/io/tracing.ts";
import { currentCall, runInCall } from "../shared/rpc/call-context.ts";
import { readPartError } from "./part-error.ts";
import { openAcceptSpan } from "./spans.ts";

type Send = (
  request: SendMessagesRequest,
  context: HandlerContext,
) => Promise<MessageInitShape<typeof SendMessagesResponseSchema>>;

const METHOD = "sms.v1.MessagingService/SendMany";
const REQUESTS_MAX = 256;

/** Makes `SendMany` of `SendMessages`. */
export function createSendMany(send: Send, log: Logger) {
  return async (
    { requests, requestIds, traceparents }: SendManyRequest,
    context: HandlerContext,
  ): Promise<MessageInitShape<typeof SendManyResponseSchema>> => {
    if (requests.length > REQUESTS_MAX) {
      throw new AppError("validation_error", `At most ${REQUESTS_MAX} requests in one call.`);
    }
    const outer = currentCall();
    const runs = requests.map((request, at) => {
      const requestId = requestIds[at] || outer.requestId;
      const span = openAcceptSpan(traceparents[at], outer.traceparent);
      const traceparent = span?.traceparent ?? outer.traceparent;
      const call = { ...outer, requestId, tenantId: request.tenantId, traceparent };
      return runInCall(call, () => settle(send(request, context), requestId, log, span));
    });
    return { results: await Promise.all(runs) };
  };
}

async function settle(
  sending: ReturnType<Send>,
  requestId: string,
  log: Logger,
  span: OpenSpan | undefined,
): Promise<MessageInitShape<typeof SendResultSchema>> {
  try {
    const value = await sending;
    span?.end();
    return { result: { case: "response", value } };
  } catch (thrown) {
    const error = readPartError(thrown, { method: METHOD, requestId }, log);
    span?.end(error.code);
    const { code, message, fields, extra, retryAfterMs = 0 } = error;
    const value = { code, message, fields: [...fields], extra, retryAfterMs: BigInt(retryAfterMs) };
    return { result: { case: "failure", value } };
  }
}
