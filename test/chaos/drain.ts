/** After the storm: every request is answered, every message ends, every webhook is delivered. */
import { setTimeout as sleep } from "node:timers/promises";
import { pollUntil } from "../../deploy/dev/poll.ts";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { BookReader, Open } from "./books.ts";
import type { Client } from "./client.ts";
import type { Customers } from "./customers.ts";
import type { Tenant } from "./tenants.ts";

/** How the end came. */
export type Drained = {
  readonly tookMs: number;
  readonly open: Open;
  readonly breaches: readonly FoundBreach[];
};

/** The promise of retries and settlements is minutes; this is a little more than all waits set here. */
const ANSWERS_MS_MAX = 120_000;
const REST_MS_MAX = 300_000;

/** Waits for the end of everything; what has not ended in time is a breach by itself. */
export async function drain(parts: {
  readonly client: Client;
  readonly customers: Customers;
  readonly topUps: { end(): Promise<void> };
  readonly books: BookReader;
  readonly tenants: readonly Tenant[];
  /** Processes that did not come back. */
  readonly unready: readonly string[];
  readonly say: (line: string) => void;
}): Promise<Drained> {
  const { client, customers, topUps, books, tenants, say } = parts;
  const breaches: FoundBreach[] = parts.unready.map((name) => {
    return { invariant: 8, what: `${name} is not ready after the storm`, ids: [] };
  });
  const beganMs = performance.now();
  const finished = customers.finish();
  if ((await within(finished, ANSWERS_MS_MAX)) === "late") {
    client.giveUp();
    breaches.push({ invariant: 3, what: "requests are not answered after the storm", ids: [] });
    await finished;
  }
  await topUps.end();
  say("every request is answered");
  let open: Open = {};
  const ids = tenants.map(({ id }) => id);
  const isOver = await pollUntil(
    async () => {
      open = await books.open(ids);
      return Object.values(open).every((count) => count === 0);
    },
    REST_MS_MAX,
    1000,
  );
  if (isOver !== true) {
    const what = `not over ${REST_MS_MAX / 1000} s after the storm: ${JSON.stringify(open)}`;
    breaches.push({ invariant: 3, what, ids: [] });
  }
  // Webhooks under way when their delivery was noted as done may still be on the wire.
  await sleep(500);
  return { tookMs: performance.now() - beganMs, open, breaches };
}

async function within(work: Promise<void>, limitMs: number): Promise<"done" | "late"> {
  const halt = new AbortController();
  const limit = sleep(limitMs, "late" as const, { signal: halt.signal }).catch(
    () => "late" as const,
  );
  const first = await Promise.race([work.then(() => "done" as const), limit]);
  halt.abort();
  return first;
}
