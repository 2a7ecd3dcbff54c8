import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { type LoadConnection, openConnection, postRequest } from "./http-client.ts";

/** Opens many connections to the gateway. */
export function openConnections(stack: StackFile, count: number): Promise<LoadConnection[]> {
  const url = new URL(stack.gateway);
  return Promise.all(Array.from({ length: count }, () => openConnection(url)));
}

/** A recipient that no test number matches: delivered after one second. */
export function ordinaryRecipient(count: number): string {
  return `+23480${String(30_000_000 + (count % 9_000) + Math.floor(count / 9_000) * 10_000).padStart(8, "0")}`;
}

/** The text of the nth single send; our peers send the same. */
export function sendText(count: number): string {
  return `Your code is ${100_000 + (count % 900_000)}. It is valid for ten minutes.`;
}

/** The request of one single send, whole. */
export function singleSend(stack: StackFile, count: number): Buffer {
  return postRequest(
    new URL(stack.gateway),
    "/v1/sms/messages",
    { Authorization: `Bearer ${stack.api_key}` },
    JSON.stringify({
      to: ordinaryRecipient(count),
      from: stack.sender_id,
      body: sendText(count),
    }),
  );
}

/** The request of one bulk send of `size` recipients, whole. */
export function bulkSend(stack: StackFile, count: number, size: number): Buffer {
  const to = Array.from({ length: size }, (_, at) => ordinaryRecipient(count * size + at));
  return postRequest(
    new URL(stack.gateway),
    "/v1/sms/messages/bulk",
    { Authorization: `Bearer ${stack.api_key}` },
    JSON.stringify({ to, from: stack.sender_id, body: "The office is closed on Friday." }),
  );
}

/** Whether an answer's head says when to come again. */
export function saysWhen(head: string): boolean {
  return /^retry-after: *\d+/im.test(head);
}
