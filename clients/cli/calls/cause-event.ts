/** Sends in test mode that cause an event of a type (`docs/contract.md#test-mode`). */
import type { EventType } from "../../../services/shared/core/event-types.ts";
import type { SmsClient } from "../../typescript/src/client.ts";

/** The last digits of the recipient by the event that the message causes. */
const DIGITS = {
  "message.status_changed": "4567",
  "message.sent": "4567",
  "message.delivered": "4567",
  "message.undelivered": "9901",
  "message.failed": "9903",
  "message.cancelled": "4567",
} as const;

const CAMPAIGNS = [
  "campaign.started",
  "campaign.completed",
  "campaign.paused",
  "campaign.resumed",
  "campaign.cancelled",
] as const;

/** Types that a test key can cause. */
export type CausableType = keyof typeof DIGITS | (typeof CAMPAIGNS)[number];

export function isCausable(type: EventType): type is CausableType {
  return isMessageType(type) || CAMPAIGNS.some((one) => one === type);
}

const TEXT = "A test of events.";
const HOUR_MS = 3_600_000;
const number = (digits: string) => `+234803123${digits}`;

/** Causes the event; returns the message or the campaign. */
export async function causeInTestMode(sms: SmsClient, type: CausableType, from: string) {
  if (!isMessageType(type)) return causeCampaign(sms, type, from);
  const message = { to: number(DIGITS[type]), from, body: TEXT };
  if (type !== "message.cancelled") return sms.messages.send(message);
  const send_at = new Date(Date.now() + HOUR_MS).toISOString();
  const { id } = await sms.messages.send({ ...message, send_at });
  return sms.messages.cancel(id);
}

function isMessageType(type: EventType): type is keyof typeof DIGITS {
  return Object.hasOwn(DIGITS, type);
}

/** A campaign that is to be stopped sends slowly, so that it is still running. */
async function causeCampaign(sms: SmsClient, type: (typeof CAMPAIGNS)[number], from: string) {
  const isStopped = type !== "campaign.started" && type !== "campaign.completed";
  const rate = isStopped ? { rate_per_second: 1 } : {};
  const { id } = await sms.campaigns.create({ name: "sms trigger", from, body: TEXT, ...rate });
  const rows = isStopped ? 10 : 1;
  const recipients = Array.from({ length: rows }, (_, at) => ({ to: number(String(4500 + at)) }));
  await sms.campaigns.addRecipients(id, { recipients });
  const started = await sms.campaigns.start(id);
  if (!isStopped) return started;
  if (type === "campaign.cancelled") return sms.campaigns.cancel(id);
  const paused = await sms.campaigns.pause(id);
  return type === "campaign.paused" ? paused : sms.campaigns.resume(id);
}
