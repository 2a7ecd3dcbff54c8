/**
 * `make seed-history [COUNT=10000000]`: fills the running stack with past messages of the demo
 * tenant, spread over the last 80 days, for measuring lists at size. They never had a hold, so
 * `smsctl check` stays clean. Written in bulk without waiting for the disk: lost ones on a power
 * cut are no loss.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { seedHistory } from "./history.ts";

const file = join(process.env.STACK_DIR ?? ".local", "stack.json");
if (!existsSync(file)) {
  process.stderr.write("no stack is running: make up first\n");
  process.exit(1);
}
const stack = JSON.parse(readFileSync(file, "utf8")) as StackFile;
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
