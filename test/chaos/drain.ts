/** After the storm: every request is answered, every message ends, every webhook is delivered. */
import { setTimeout as sleep } from "node:timers/promises";
import { pollUntil } from "../../deploy/dev/poll.ts";
import { answerWithin } from "../../services/shared/flow/backoff.ts";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { Client } from "./client.ts";
import type { Customers } from "./customers.ts";
import type { DatabaseReader, Open } from "./database-reader.ts";
import { HANGING_KINDS } from "./receivers.ts";
import type { Tenant } from "./tenants.ts";

/** The result of draining. */
export type Drained = {
  readonly tookMs: number;
  readonly open: Open;
  readonly breaches: readonly FoundBreach[];
};

/** Retries and settlements may take minutes; these limits exceed every wait configured here. */
const ANSWERS_MS_MAX = 120_000;
const REST_MS_MAX = 600_000;

/** Waits until all work has ended; work that does not end in time is a breach. */
export async function drain(parts: {
  readonly client: Client;
  readonly customers: Customers;
  readonly topUps: { end(): Promise<void> };
  readonly storedData: DatabaseReader;
  readonly tenants: readonly Tenant[];
  /** Processes that did not come back. */
  readonly unready: readonly string[];
  readonly say: (line: string) => void;
}): Promise<Drained> {
  const { client, customers, topUps, storedData, tenants, say } = parts;
  const breaches: FoundBreach[] = parts.unready.map((name) => {
    return { invariant: 8, what: `${name} is not ready after the storm`, ids: [] };
  });
  const beganMs = performance.now();
  const finished = customers.finish();
  const answered = finished.then(() => true);
  if ((await answerWithin(answered, ANSWERS_MS_MAX)) === undefined) {
    client.giveUp();
    breaches.push({ invariant: 3, what: "requests are not answered after the storm", ids: [] });
    await finished;
  }
  await topUps.end();
  say("every request is answered");
  const ids = tenants.map(({ id }) => id);
  const hanging = tenants
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ kind }) => HANGING_KINDS.has(kind))
    .map(({ id }) => id);
  let open = await storedData.open(ids, hanging);
  let hangingMost = open.hanging;
  await pollUntil(
    async () => {
      open = await storedData.open(ids, hanging);
      hangingMost = Math.max(hangingMost, open.hanging);
      return stillOpen(hangingMost, open) === undefined;
    },
    REST_MS_MAX,
    1000,
  );
  const what = stillOpen(hangingMost, open);
  if (what !== undefined) breaches.push({ invariant: 3, what, ids: [] });
  // A webhook may still be on the wire when its delivery is recorded as done.
  await sleep(500);
  return { tookMs: performance.now() - beganMs, open, breaches };
}

/**
 * Unfinished work. Only deliveries to hanging endpoints may remain: each attempt holds its slot until the
 * timeout, so their backlog outlasts any drain. It must still fall below its maximum, `hangingMost`,
 * which events in flight raise at first.
 */
export function stillOpen(hangingMost: number, open: Open): string | undefined {
  const { hanging, ...others } = open;
  const isOver = Object.values(others).every((count) => count === 0);
  if (isOver && (hanging === 0 || hanging < hangingMost)) return undefined;
  return `not over ${REST_MS_MAX / 1000} s after the storm: ${JSON.stringify(open)}`;
}
