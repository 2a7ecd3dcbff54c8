/**
 * `node test/chaos/webhook.ts [--seed N] [--rate N] [--events N] [--short]`: 20,000 events, 100 a
 * second, to 200 endpoints, of which 20 hang, 20 answer 500, 10 cut the connection and 10 drip, with
 * the process killed every three seconds and NATS and MongoDB stopped and started. Prints its seed;
 * exits 1 when a promise broke, and prints the first twenty (SHOW=20).
 */

import { runWebhookChaos } from "./webhook-run.ts";
import { LONG_STORM, SHORT_STORM } from "./webhook-storms.ts";

const seed = option("--seed") ?? Date.now() % 1_000_000;
const shape = process.argv.includes("--short") ? SHORT_STORM : LONG_STORM;
const storm = {
  ...shape,
  events: option("--events") ?? shape.events,
  perSecond: option("--rate") ?? shape.perSecond,
};
const say = (line: string) => void process.stdout.write(`${line}\n`);

say(`seed ${seed}`);
const { faults, figures } = await runWebhookChaos({ ...storm, seed, say });
for (const [name, value] of Object.entries(figures)) say(`${name.padEnd(20)} ${value}`);
for (const fault of faults.slice(0, Number(process.env.SHOW ?? 20))) say(`BROKEN: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else say("every promise held");

function option(name: string): number | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : Number(process.argv[at + 1]);
}
