/** `ClaimMany`: each claim runs as its own call would, and fails alone. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ClaimManyRequest,
  ClaimManyResponseSchema,
  ClaimMessagesRequest,
  ClaimMessagesResponseSchema,
  ClaimResultSchema,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkItems } from "../../shared/core/limits.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { currentCall } from "../../shared/rpc/call-context.ts";
import { fairShare } from "../domain/fair-share.ts";
import { toBatchItemError } from "./batch-item-error.ts";

type Claim = (
  request: ClaimMessagesRequest,
) => Promise<MessageInitShape<typeof ClaimMessagesResponseSchema>>;

const METHOD = "sms.v1.MessagingService/ClaimMany";
const CLAIMS_MAX = 256;

export function createBatchClaim(claim: Claim, log: Logger) {
  return async ({
    claims,
  }: ClaimManyRequest): Promise<MessageInitShape<typeof ClaimManyResponseSchema>> => {
    checkItems("claims", claims.length, 0, CLAIMS_MAX);
    const shares = fairShare(claims.map(({ max }) => max));
    const { requestId } = currentCall();
    const runs = claims.map((one, at) =>
      toResult(claim({ ...one, max: shares[at] ?? 0 }), requestId, log),
    );
    return { results: await Promise.all(runs) };
  };
}

async function toResult(
  claiming: ReturnType<Claim>,
  requestId: string,
  log: Logger,
): Promise<MessageInitShape<typeof ClaimResultSchema>> {
  try {
    return { result: { case: "response", value: await claiming } };
  } catch (thrown) {
    const { code } = toBatchItemError(thrown, { method: METHOD, requestId }, log);
    return { result: { case: "failure", value: code } };
  }
}
