import { pathToFileURL } from "node:url";
import { runAnswerDemo } from "./demo-answer.ts";
import { awaitWebhook, call, get, post, say } from "./demo-calls.ts";
import { runCampaignDemo } from "./demo-campaign.ts";
import { readJson, writeJson } from "./json-file.ts";
import { type Layout, layoutOf } from "./paths.ts";
import { pollUntil } from "./poll.ts";
import { requireRunningStack } from "./running-stack.ts";
import { runCommand, StackError } from "./stack-error.ts";
import { type StackFile, type StackState, stackFile } from "./stack-file.ts";

type Message = {
  readonly id: string;
  readonly status: string;
  readonly to: string;
  readonly from: string;
  readonly segments: number;
  readonly held_amount: string;
  readonly amount: string | null;
  readonly currency: string;
  readonly status_history?: readonly { readonly status: string; readonly occurred_at: string }[];
};

type Balance = { readonly balance: string; readonly held: string; readonly currency: string };

const WAIT_MS = 20_000;
const SETTLEMENT_WAIT_MS = 60_000;

/** Sends one real message through REST and prints its path; throws one line when a step fails. */
export async function runDemo(stack: StackFile): Promise<void> {
  const before = await get<Balance>(stack, "/v1/balance");
  const to = "08031234567";
  const content = { to, from: stack.sender_id, body: "Hello from make up" };
  const sent = await call<Message>(stack, "/v1/sms/messages", post(content));
  say(`POST ${stack.gateway}/v1/sms/messages  {"to":"${to}","from":"${stack.sender_id}",…}`);
  say(`  ${sent.id} to ${sent.to}, ${sent.segments} segment, ${sent.held_amount} held\n`);

  const message = await awaitDelivered(stack, sent.id);
  const history = message.status_history ?? [];
  const begunMs = Date.parse(history[0]?.occurred_at ?? "");
  for (const { status, occurred_at } of history) {
    const afterMs = Date.parse(occurred_at) - begunMs;
    say(`  ${status.padEnd(10)} ${occurred_at}  +${afterMs} ms`);
  }
  say(`\n  charge     ${message.amount} ${message.currency}`);
  const after = await awaitSettled(stack, before, message);
  say(`  wallet     ${before.balance} before, ${after.balance} after, ${after.held} held`);

  for (const status of ["sent", "delivered"]) {
    const event = await awaitWebhook(stack, sent.id, status);
    const signature = event.verified ? "signature verified" : "signature NOT verified";
    say(`  webhook    ${status.padEnd(10)} ${event.received_at}  ${signature}`);
    if (!event.verified) throw new StackError("the webhook's signature is not right");
  }
}

/** Prints the commands to try next. */
export function sayNext(): void {
  say("\nnext: make status · make logs S=messaging · make demo · npx smsctl --help · make test");
}

async function awaitDelivered(stack: StackFile, id: string): Promise<Message> {
  let last: Message | undefined;
  const done = await pollUntil(
    async () => {
      last = await get<Message>(stack, `/v1/messages/${id}`);
      if (["failed", "undelivered", "cancelled", "rejected"].includes(last.status)) return last;
      return last.status === "delivered" && last;
    },
    WAIT_MS,
    50,
  );
  if (done?.status === "delivered") return done;
  throw new StackError(
    `message ${id} was not delivered within ${WAIT_MS / 1000} s, it is ${last?.status}: see make logs S=carrier`,
  );
}

async function awaitSettled(stack: StackFile, before: Balance, message: Message): Promise<Balance> {
  const charge = units(message.amount ?? "0");
  const settled = await pollUntil(
    async () => {
      const now = await get<Balance>(stack, "/v1/balance");
      return units(now.balance) <= units(before.balance) - charge && now;
    },
    SETTLEMENT_WAIT_MS,
    100,
  );
  if (settled !== undefined) return settled;
  throw new StackError(
    `message ${message.id} was not settled within ${SETTLEMENT_WAIT_MS / 1000} s: see make logs S=wallet`,
  );
}

/** Amounts as whole numbers of 1/10,000. */
function units(amount: string): bigint {
  return BigInt(amount.replace(".", ""));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await runCommand(async () => {
    const stack = await seedAgain(layoutOf());
    await runDemo(stack);
    await runCampaignDemo(stack);
    await runAnswerDemo(stack);
    sayNext();
  });
}

/** Makes what someone has removed since `make up`: the webhook endpoint, the sender ID, money. */
async function seedAgain(layout: Layout): Promise<StackFile> {
  const before = requireRunningStack(layout);
  const state = readJson<StackState>(layout.stateFile);
  if (state === undefined) return before;
  // Loaded after the check: the clients take longer than the answer that the stack is down.
  const [{ createLauncher }, { seed }] = await Promise.all([
    import("./launch.ts"),
    import("./seed.ts"),
  ]);
  const launcher = createLauncher(layout, state);
  const seeded = await seed(launcher);
  const stack = stackFile(layout, state, launcher.tls, launcher.secrets, seeded);
  if (seeded.webhook_secret !== before.receiver.secret) {
    say("the webhook endpoint of the demo tenant was gone: it is made again\n");
  }
  writeJson(layout.stackFile, stack);
  return stack;
}
