/** Sends replies to handsets through messaging; the inbound message's id is the idempotency key. */
import type { Client } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSource,
  type MessagingService,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { fingerprint } from "../../shared/core/canonical-json.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { Replies } from "../app/ports.ts";

const CALL = { timeoutMs: 10_000 } as const;

export function createReplies(client: Client<typeof MessagingService>): Replies {
  return {
    async send(reply) {
      const request = {
        tenantId: reply.tenantId,
        mode: Mode.LIVE,
        source: MessageSource.API,
        // Use the endpoint of campaign chunks: no request of a customer reaches its idempotency keys.
        endpoint: SendEndpoint.CAMPAIGN,
        idempotencyKey: `reply-${reply.id}`,
        fingerprint: fingerprint(reply.id, reply.to, reply.body),
        from: reply.from,
        recipients: [{ to: reply.to, body: reply.body }],
        isConsentReply: true,
      };
      await rpcAnswer(client.sendMessages(request, CALL));
    },
  };
}
