/**
 * `make seed-history [COUNT=10000000]`: fills the running stack with past messages of the demo
 * tenant, spread over the last 80 days, for measuring lists at size. They never had a hold, so
 * `smsctl check` stays clean. Written in bulk without waiting for the disk: lost ones on a power
 * cut are no loss.
 */
import { MongoClient } from "mongodb";
import { layoutOf } from "../../deploy/dev/paths.ts";
import { requireRunningStack } from "../../deploy/dev/running-stack.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { seedHistory } from "./history.ts";

const stack = runningStack();
const count = Number(process.env.COUNT ?? 10_000_000);
const client = await new MongoClient(stack.mongodb_uri).connect();
const startedMs = performance.now();
await seedHistory(client, {
  tenantId: stack.tenant_id,
  senderId: stack.sender_id,
  count,
  onProgress(done) {
    const perSecond = done / ((performance.now() - startedMs) / 1000);
    process.stdout.write(`\r${done} of ${count} (${Math.round(perSecond)}/s)`);
  },
});
process.stdout.write("\n");
await client.close();

function runningStack(): StackFile {
  try {
    return requireRunningStack(layoutOf());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
}
