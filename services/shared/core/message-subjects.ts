/**
 * Subjects of the events of messages. A campaign's message has `events.message.<tenant id>.<status>`. Any other has one
 * more token, `direct`, so the campaign service is not sent the events that it does not need (ADR 161).
 */
import type { MessageStatus } from "./message-status.ts";

const DIRECT = "direct";

/**
 * n-1: remove in 0.4.0. The wallet of 0.2.0 selects these statuses without the further token, for every message.
 */
const WITHOUT_TOKEN: ReadonlySet<MessageStatus> = new Set(["sent", "failed", "cancelled"]);

/** The subject of a message's change to a status. */
export function messageSubject(
  tenantId: string,
  status: MessageStatus,
  isOfCampaign: boolean,
): string {
  const subject = `events.message.${tenantId}.${status}`;
  return isOfCampaign || WITHOUT_TOKEN.has(status) ? subject : `${subject}.${DIRECT}`;
}

/** Selects the changes of every message to these statuses, for a consumer. */
export function subjectsOfAll(statuses: readonly MessageStatus[]): string[] {
  return statuses.flatMap((status) => {
    const subject = `events.message.*.${status}`;
    return [subject, `${subject}.${DIRECT}`];
  });
}

/**
 * Selects the changes of campaigns' messages to these statuses. The consumer also gets those of other messages that
 * release n-1 published, so it looks at each event's source.
 */
export function subjectsOfCampaigns(statuses: readonly MessageStatus[]): string[] {
  return statuses.map((status) => `events.message.*.${status}`);
}
