import type { Client } from "@connectrpc/connect";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { TIMELINE_EXAMPLE } from "../../docs/content/samples.ts";
import { dataOf } from "../../docs/operation-doc.ts";
import { renderTimeline } from "../../render/timeline.ts";
import { refuseQuery } from "../../schemas/query.ts";
import { MESSAGE_ID } from "../../schemas/responses.ts";
import type { Operation } from "../operation.ts";
import { parseMessageId, unknownMessage } from "./get.ts";

export type TimelinePorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly webhooks: Client<typeof WebhookService>;
};

/** Shows what happened to a message (`docs/contract.md#timeline`). */
export function timelineOperation({ messaging, webhooks }: TimelinePorts): Operation {
  return {
    method: "GET",
    path: "/v1/messages/:message_id/timeline",
    scope: "messages:read",
    doc: {
      id: "getMessageTimeline",
      tag: "Messages",
      summary: "Read a message's timeline",
      description:
        "Each status, the money that was held, charged and released, and each webhook attempt, oldest first. Webhook " +
        "attempts are kept for 30 days.",
      params: { message_id: MESSAGE_ID },
      response: {
        status: 200,
        description: "The timeline.",
        schema: dataOf("MessageTimeline"),
        example: { data: TIMELINE_EXAMPLE },
      },
      errors: ["not_found"],
    },
    async handle({ caller, params, query }) {
      const { tenantId, mode } = caller;
      const messageId = parseMessageId(params.message_id, mode);
      const { message } = await rpcAnswer(messaging.getMessage({ tenantId, mode, messageId }));
      if (message === undefined) throw unknownMessage(mode);
      refuseQuery(query);
      const call = webhooks.listMessageDeliveries({ tenantId, messageId });
      const { deliveries } = await rpcAnswer(call);
      return { status: 200, body: { data: renderTimeline(message, deliveries) } };
    },
  };
}
