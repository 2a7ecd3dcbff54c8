/** After the storm: every request is answered, every message ends, every webhook is delivered. */
import { setTimeout as sleep } from "node:timers/promises";
import { pollUntil } from "../../deploy/dev/poll.ts";
import { answerWithin } from "../../services/shared/flow/backoff.ts";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { BookReader, Open } from "./books.ts";
import type { Client } from "./client.ts";
import type { Customers } from "./customers.ts";
import { HANGING_KINDS } from "./receivers.ts";
import type { Tenant } from "./tenants.ts";

/** How the end came. */
export type Drained = {
  readonly tookMs: number;
  readonly open: Open;
  readonly breaches: readonly FoundBreach[];
};

/** The promise of retries and settlements is minutes; these are more than all waits set here. */
const ANSWERS_MS_MAX = 120_000;
const REST_MS_MAX = 600_000;

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
  let open = await books.open(ids, hanging);
  let hangingMost = open.hanging;
  await pollUntil(
    async () => {
      open = await books.open(ids, hanging);
      hangingMost = Math.max(hangingMost, open.hanging);
      return stillOpen(hangingMost, open) === undefined;
    },
    REST_MS_MAX,
    1000,
  );
  const what = stillOpen(hangingMost, open);
  if (what !== undefined) breaches.push({ invariant: 3, what, ids: [] });
  // Webhooks under way when their delivery was noted as done may still be on the wire.
  await sleep(500);
  return { tookMs: performance.now() - beganMs, open, breaches };
}

/**
 * What should be over and is not. Only what waits for endpoints that hang may: each attempt holds
 * its slot until the timeout, so half an hour's backlog outlasts any drain; but it must become less
 * than the most it was, `hangingMost`: events that were still on their way add to it at first.
 */
export function stillOpen(hangingMost: number, open: Open): string | undefined {
  const { hanging, ...others } = open;
  const isOver = Object.values(others).every((count) => count === 0);
  if (isOver && (hanging === 0 || hanging < hangingMost)) return undefined;
  return `not over ${REST_MS_MAX / 1000} s after the storm: ${JSON.stringify(open)}`;
}
