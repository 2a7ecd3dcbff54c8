/** `SendMany` and `SendEach`: each send runs as its own call would, and fails alone. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type {
  SendEachResponseSchema,
  SendManyRequest,
  SendManyResponseSchema,
  SendMessagesRequest,
  SendMessagesResponseSchema,
  SendResultSchema,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkItems, invalidField } from "../../shared/core/limits.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { OpenSpan } from "../../shared/io/tracing.ts";
import { currentCall, runInCall } from "../../shared/rpc/call-context.ts";
import { inCompletionOrder } from "../app/in-completion-order.ts";
import { recipientsField } from "../domain/send-request.ts";
import { toBatchItemError } from "./batch-item-error.ts";
import { ENDPOINTS } from "./rpc-mapping.ts";
import { openAcceptSpan } from "./tracing.ts";

type Send = (
  request: SendMessagesRequest,
  context: HandlerContext,
) => Promise<MessageInitShape<typeof SendMessagesResponseSchema>>;
type Result = MessageInitShape<typeof SendResultSchema>;

const REQUESTS_MAX = 256;

/**
 * The most recipients in one call, and the most bytes of their numbers as written. The response repeats both, and must
 * fit its limit once everything is sent.
 */
const RECIPIENTS_MAX = 40_000;
const RECIPIENT_TEXT_MAX = 4_194_304;

/** Throws `validation_error` if the response would be too large. */
export function checkResponseSize(requests: readonly SendMessagesRequest[]): void {
  let count = 0;
  let text = 0;
  for (const { recipients } of requests) {
    count += recipients.length;
    for (const { to } of recipients) text += Buffer.byteLength(to);
  }
  if (count > RECIPIENTS_MAX || text > RECIPIENT_TEXT_MAX) {
    const rule = `at most ${RECIPIENTS_MAX} recipients in one call, of ${RECIPIENT_TEXT_MAX} octets`;
    throw invalidField(listField(requests), "too_many", rule);
  }
}

/** The field that an error names: `requests`, or for a single request its own list of recipients. */
function listField([only, ...others]: readonly SendMessagesRequest[]): string {
  if (only === undefined || others.length > 0) return "requests";
  return recipientsField(ENDPOINTS[only.endpoint] ?? "single");
}

/** `SendMany` and `SendEach`, on top of `SendMessages`. */
export function createBatchSend(send: Send, log: Logger) {
  function begin(
    { requests, requestIds, traceparents }: SendManyRequest,
    context: HandlerContext,
  ): Promise<Result>[] {
    checkItems("requests", requests.length, 0, REQUESTS_MAX);
    checkResponseSize(requests);
    const outer = currentCall();
    const method = `${context.service.typeName}/${context.method.name}`;
    return requests.map((request, at) => {
      const requestId = requestIds[at] || outer.requestId;
      const span = openAcceptSpan(traceparents[at], outer.traceparent);
      const traceparent = span?.traceparent ?? outer.traceparent;
      const call = { ...outer, requestId, tenantId: request.tenantId, traceparent };
      return runInCall(call, () =>
        toResult(send(request, context), { method, requestId }, log, span),
      );
    });
  }

  return {
    async sendMany(
      request: SendManyRequest,
      context: HandlerContext,
    ): Promise<MessageInitShape<typeof SendManyResponseSchema>> {
      return { results: await Promise.all(begin(request, context)) };
    },
    async *sendEach(
      request: SendManyRequest,
      context: HandlerContext,
    ): AsyncGenerator<MessageInitShape<typeof SendEachResponseSchema>> {
      for await (const ended of inCompletionOrder(begin(request, context))) {
        yield {
          positions: ended.map(({ at }) => at),
          results: ended.map(({ value }) => value),
        };
      }
    },
  };
}

async function toResult(
  sending: ReturnType<Send>,
  call: { readonly method: string; readonly requestId: string },
  log: Logger,
  span: OpenSpan | undefined,
): Promise<Result> {
  try {
    const value = await sending;
    span?.end();
    return { result: { case: "response", value } };
  } catch (thrown) {
    const error = toBatchItemError(thrown, call, log);
    span?.end(error.code);
    const { code, message, fields, extra, retryAfterMs = 0 } = error;
    const value = { code, message, fields: [...fields], extra, retryAfterMs: BigInt(retryAfterMs) };
    return { result: { case: "failure", value } };
  }
}
