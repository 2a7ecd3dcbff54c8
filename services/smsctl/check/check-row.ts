/** Compares a message with the source `campaign` with its row. Pure, so that a test covers the whole table. */
import { type CampaignRecipient, RecipientStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { type Message, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";

/** A property that does not hold between a message and its row. */
export type RowFault = { readonly invariant: number; readonly what: string };

/**
 * Compares a message with the row of its number; returns undefined when they agree. A row names one message. If
 * each message that is not cancelled is named by its row, no row has two such messages.
 */
export function checkRow(
  message: Pick<Message, "id" | "status">,
  row: Pick<CampaignRecipient, "messageId" | "status"> | undefined,
): RowFault | undefined {
  if (row === undefined) {
    return { invariant: 11, what: "a message of a campaign that belongs to no row" };
  }
  const isNamed = row.messageId === message.id;
  if (message.status === MessageStatus.CANCELLED && !isNamed) return undefined;
  if (!isNamed) {
    return { invariant: 11, what: "a message of a campaign that its row does not name" };
  }
  const wanted = MessageStatus[message.status];
  if (RecipientStatus[row.status] === wanted) return undefined;
  const shown = RecipientStatus[row.status]?.toLowerCase();
  return { invariant: 12, what: `a row is ${shown}, its message ${wanted?.toLowerCase()}` };
}
