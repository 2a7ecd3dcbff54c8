import type { Suppression } from "../../../proto/gen/sms/v1/consent_pb.js";
import type { Message } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { isDespiteOptOut } from "./check-opt-out.ts";
import { checkedTenants } from "./checked-tenants.ts";
import { checkInParallel } from "./recheck.ts";
import {
  type CheckReport,
  type CheckRun,
  createBreachList,
  createProgress,
  type FoundBreach,
} from "./report.ts";

const SUPPRESSIONS_PAGE = 1000;
const MESSAGES_PAGE = 100;
/** A message may wait this long from its creation to its claim: 90 days of schedule, and its queue time. */
const WAIT_MAX_MS = 91 * 86_400_000;

/** No message was claimed for a number that had opted out (invariant 15). */
export async function checkOptOuts(run: CheckRun): Promise<CheckReport> {
  run.note("comparing opt-outs with messages");
  const progress = createProgress(run.note);
  const found = createBreachList();
  let compared = 0;
  for await (const tenantId of checkedTenants(run)) {
    for await (const page of pagesOfOptOuts(run, tenantId)) {
      found.add(
        ...(await checkInParallel(page, run.signal, (optOut) => compare(run, tenantId, optOut))),
      );
      compared += page.length;
      progress(`${compared} opt-outs compared`);
    }
  }
  return { ...found.listed(), compared: { opt_outs: compared } };
}

async function compare(
  run: CheckRun,
  tenantId: string,
  optOut: Suppression,
): Promise<FoundBreach[]> {
  const breaches: FoundBreach[] = [];
  for await (const message of messagesTo(run, tenantId, optOut)) {
    if (!isDespiteOptOut(message, optOut)) continue;
    const what = "a message was sent to a number that had opted out";
    breaches.push({ invariant: 15, what, ids: [message.id, tenantId] });
  }
  return breaches;
}

/** The messages to a number that may have been claimed after its opt-out, newest first. */
async function* messagesTo(
  { clients, signal }: CheckRun,
  tenantId: string,
  { number, createdAtMs }: Suppression,
): AsyncGenerator<Message> {
  const createdAfterMs = createdAtMs - BigInt(WAIT_MAX_MS);
  const wanted = { tenantId, to: number, createdAfterMs, limit: MESSAGES_PAGE };
  for (let beforeId = ""; ; ) {
    const asked = { ...wanted, beforeId, allowsShortPages: true };
    const page = await clients.messaging.listMessages(asked, { signal });
    yield* page.messages;
    beforeId = page.nextBeforeId || (page.messages.at(-1)?.id ?? "");
    if (!page.hasMore || beforeId === "") return;
  }
}

async function* pagesOfOptOuts(
  { clients, signal }: CheckRun,
  tenantId: string,
): AsyncGenerator<Suppression[]> {
  for (let after = ""; ; ) {
    const asked = { tenantId, limit: SUPPRESSIONS_PAGE, after };
    const page = await clients.consent.listSuppressions(asked, { signal });
    yield page.suppressions;
    after = page.next;
    if (after === "") return;
  }
}
