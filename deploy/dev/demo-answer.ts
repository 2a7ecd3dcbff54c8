import { awaitWebhook, fetchFrom, get, say } from "./demo-calls.ts";
import { pollUntil } from "./poll.ts";
import { StackError } from "./stack-error.ts";
import type { StackFile } from "./stack-file.ts";

type InboundMessage = {
  readonly id: string;
  readonly body: string;
  readonly received_at: string;
};

/** The short code that the seed gives to the demo tenant. */
export const SHORT_CODE = "2345";
const HANDSET = "2348031234567";
const WAIT_MS = 20_000;

/** Lets a handset write to the demo tenant's number and prints its path; throws one line when a step fails. */
export async function runAnswerDemo(stack: StackFile): Promise<void> {
  const body = `Thank you! ${new Date().toISOString()}`;
  const sent = { source: HANDSET, destination: SHORT_CODE, text: body };
  const response = await fetchFrom("smsc-simulator", new URL("/mo", stack.smsc.control), {
    method: "POST",
    body: JSON.stringify(sent),
    signal: AbortSignal.timeout(WAIT_MS),
  });
  if (!response.ok) throw new StackError(`the simulator answered ${response.status}`);
  say(`\na handset writes to ${SHORT_CODE}: ${body}`);
  const { id, received_at: receivedAt } = await awaitInbound(stack, body);
  say(`  ${id} received ${receivedAt}  GET ${stack.gateway}/v1/inbound-messages/${id}`);
  const webhook = await awaitWebhook(stack, id);
  if (!webhook.verified) throw new StackError("the webhook's signature is not right");
  say(`  webhook    inbound_message.received ${webhook.received_at}`);
}

async function awaitInbound(stack: StackFile, body: string): Promise<InboundMessage> {
  const path = `/v1/inbound-messages?from=%2B${HANDSET}`;
  const found = await pollUntil(
    async () => (await get<InboundMessage[]>(stack, path)).find((one) => one.body === body),
    WAIT_MS,
    100,
  );
  if (found !== undefined) return found;
  throw new StackError(`no inbound message within ${WAIT_MS / 1000} s: see make logs S=consent`);
}
