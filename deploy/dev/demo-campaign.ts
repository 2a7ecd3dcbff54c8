import { call, get, post, say } from "./demo-calls.ts";
import { pollUntil } from "./poll.ts";
import { StackError } from "./stack-error.ts";
import type { StackFile } from "./stack-file.ts";

type Campaign = {
  readonly id: string;
  readonly status: string;
  readonly pause_reason: string | null;
  readonly currency: string;
  readonly progress: {
    readonly total: number;
    readonly delivered: number;
    readonly charged_amount: string;
  };
};

/** With a semicolon and a number that is not a number, as spreadsheets have them. */
const FILE = "to;name\n08031234501;Ada\n08031234502;Emeka\n08031234503;Zainab\nnone;Nobody\n";
const WAIT_MS = 30_000;

/** Sends a small campaign from a CSV file through REST and prints its path; throws one line when a step fails. */
export async function runCampaignDemo(stack: StackFile): Promise<void> {
  const draft = { name: "Demo", from: stack.sender_id, body: "Hello {{name}}, from make demo" };
  const { id } = await call<Campaign>(stack, "/v1/campaigns", post(draft));
  say(`\nPOST ${stack.gateway}/v1/campaigns  {"body":"Hello {{name}}, from make demo",…}`);
  const path = `/v1/campaigns/${id}`;
  const made = await call<{ taken: number; rejected: number }>(stack, `${path}/recipients`, {
    method: "POST",
    headers: { "content-type": "text/csv" },
    body: FILE,
  });
  say(`  ${id} with ${made.taken} recipients, ${made.rejected} line of the file rejected`);
  const cost = await call<{ amount: string; currency: string }>(
    stack,
    `${path}/estimate`,
    post({}),
  );
  say(`  estimate   ${cost.amount} ${cost.currency} at most`);
  await call(stack, `${path}/start`, post({}));
  const { status, progress, currency } = await awaitDelivered(stack, path);
  say(`  ${status.padEnd(10)} ${progress.delivered} of ${progress.total} delivered`);
  say(`  charge     ${progress.charged_amount} ${currency}`);
}

async function awaitDelivered(stack: StackFile, path: string): Promise<Campaign> {
  let last: Campaign | undefined;
  const done = await pollUntil(
    async () => {
      last = await get<Campaign>(stack, path);
      const { status, progress } = last;
      return status === "completed" && progress.delivered === progress.total && last;
    },
    WAIT_MS,
    100,
  );
  if (done !== undefined) return done;
  const reason = last?.pause_reason ?? "";
  throw new StackError(
    `the campaign was not delivered within ${WAIT_MS / 1000} s, it is ${last?.status} ${reason}: ` +
      "see make logs S=campaign",
  );
}
