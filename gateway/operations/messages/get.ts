import type { Client } from "@connectrpc/connect";
import type { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import type { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { isId } from "../../../services/shared/core/ids.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { MESSAGE_WITH_HISTORY_EXAMPLE } from "../../docs/content/samples.ts";
import { dataOf } from "../../docs/operation-doc.ts";
import { modeName, renderMessageWithHistory } from "../../render/message.ts";
import { refuseQuery } from "../../schemas/query.ts";
import { MESSAGE_ID } from "../../schemas/responses.ts";
import type { Operation } from "../operation.ts";

/** Reads one message (`docs/contract.md#messages`). */
export function getMessageOperation(messaging: Client<typeof MessagingService>): Operation {
  return {
    method: "GET",
    path: "/v1/messages/:message_id",
    scope: "messages:read",
    doc: {
      id: "getMessage",
      tag: "Messages",
      summary: "Read one message",
      description:
        "Unknown and malformed ids, other accounts' messages and those of the other mode all answer 404.",
      params: { message_id: MESSAGE_ID },
      response: {
        status: 200,
        description: "The message with its status history, oldest first.",
        schema: dataOf("MessageWithHistory"),
        example: { data: MESSAGE_WITH_HISTORY_EXAMPLE },
      },
      errors: ["not_found"],
    },
    async handle({ caller, params, query }) {
      const messageId = parseMessageId(params.message_id, caller.mode);
      const { message } = await rpcAnswer(
        messaging.getMessage({ tenantId: caller.tenantId, mode: caller.mode, messageId }),
      );
      if (message === undefined) throw unknownMessage(caller.mode);
      refuseQuery(query);
      return { status: 200, body: { data: renderMessageWithHistory(message) } };
    },
  };
}

/** Returns a well-formed message id; a malformed one is `not_found`, like an unknown one. */
export function parseMessageId(text: string | undefined, mode: Mode): string {
  if (text !== undefined && isId("message", text)) return text;
  throw unknownMessage(mode);
}

/** The error for a message that does not exist, or belongs to another tenant or mode. */
export function unknownMessage(mode: Mode): AppError {
  return new AppError("not_found", `There is no such message in ${modeName(mode)} mode.`);
}
