import type { Pdu, PduOf } from "../../shared/smpp/pdu.ts";
import { formatReceiptDate } from "../../shared/smpp/receipt-dates.ts";
import type { Reply, Session } from "../../shared/smpp/session.ts";
import { STATUS } from "../../shared/smpp/statuses.ts";
import type { MessageStore } from "./message-store.ts";

/** SMPP 3.4 section 5.2.23, less the zero octet at its end. */
const MESSAGE_ID_CHARS_MAX = 64;

/** Answers requests other than a submit to one recipient. */
export function answerOther(request: Pdu, session: Session, messages: MessageStore): void {
  session.respond(request, replyTo(request, messages));
}

function replyTo(request: Pdu, messages: MessageStore): Reply {
  switch (request.command) {
    case "query_sm":
      return queryReply(request, messages);
    case "submit_multi":
      return { body: { messageId: messages.nextId(), unsuccess: [] } };
    case "cancel_sm":
      return { status: isOpen(request, messages) ? STATUS.ESME_ROK : STATUS.ESME_RCANCELFAIL };
    case "replace_sm":
      return { status: isOpen(request, messages) ? STATUS.ESME_ROK : STATUS.ESME_RREPLACEFAIL };
    default:
      return { status: STATUS.ESME_RINVCMDID };
  }
}

function isOpen(
  request: PduOf<"cancel_sm"> | PduOf<"replace_sm">,
  messages: MessageStore,
): boolean {
  const found = messages.query(request.body.messageId, Date.now());
  return found !== undefined && found.finalAt === undefined;
}

function queryReply(request: PduOf<"query_sm">, messages: MessageStore): Reply {
  const { messageId } = request.body;
  // The codec reads ids longer than the standard allows, but cannot write them.
  if (messageId.length > MESSAGE_ID_CHARS_MAX) return { status: STATUS.ESME_RINVMSGID };
  const found = messages.query(messageId, Date.now());
  if (found === undefined) return { status: STATUS.ESME_RQUERYFAIL, body: { messageId } };
  const finalDate = found.finalAt ? `${formatReceiptDate(found.finalAt)}00000+` : "";
  return { body: { messageId, finalDate, messageState: found.state, errorCode: 0 } };
}
