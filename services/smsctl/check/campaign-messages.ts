/**
 * Compares messages with the source `campaign` with the rows of their campaigns, a page at a time: memory does not grow
 * with the number of messages. Rows follow messages by events, so suspects are read again before they are breaches.
 */
import type { CampaignRecipient } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { type Message, MessageSource } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { pause } from "../../shared/flow/backoff.ts";
import { checkRow, type RowFault } from "./check-row.ts";
import { checkedTenants } from "./checked-tenants.ts";
import { checkInParallel, RECHECKS_MAX, undefinedIfNotFound } from "./recheck.ts";
import {
  type CheckReport,
  type CheckRun,
  createBreachList,
  createProgress,
  type FoundBreach,
} from "./report.ts";

/** The largest page of messages. */
const PAGE = 100;

/** How long a row may take to follow its message, and how often suspects are read again. */
type FollowWait = { readonly promiseMs: number; readonly everyMs: number };
const FOLLOW_WAIT: FollowWait = { promiseMs: 60_000, everyMs: 1000 };

type Suspect = Pick<Message, "id" | "tenantId">;

/** Each message of a campaign has its row, which names it and has its status (invariants 11 and 12). */
export async function checkCampaignMessages(
  run: CheckRun,
  wait: FollowWait = FOLLOW_WAIT,
): Promise<CheckReport> {
  run.note("comparing messages of campaigns with their rows");
  const progress = createProgress(run.note);
  const found = createBreachList();
  const suspects: Suspect[] = [];
  let compared = 0;
  let unseen = 0;
  async function compare(page: readonly Message[]): Promise<void> {
    for (const { message, fault } of await check(run, page)) {
      if (fault === undefined) continue;
      if (suspects.length < RECHECKS_MAX) suspects.push(message);
      else unseen += 1;
    }
    compared += page.length;
    progress(`${compared} messages of campaigns compared`);
  }
  // Read the next page while the previous one is compared.
  let comparing = Promise.resolve();
  for await (const tenantId of checkedTenants(run)) {
    for await (const page of pagesOfMessages(run, tenantId)) {
      await comparing;
      comparing = compare(page);
      // The loop awaits it later. If the list fails before that, this rejection must not be unhandled.
      comparing.catch(() => undefined);
    }
  }
  await comparing;
  found.add(...(await recheckUntilFollowed(run, suspects, wait)));
  const report = { ...found.listed(), compared: { campaign_messages: compared } };
  if (unseen === 0) return report;
  return { ...report, unfinished: `${unseen} more messages of campaigns were not read again` };
}

/** Reads suspects until each agrees with its row, or the time for it is over. */
async function recheckUntilFollowed(
  run: CheckRun,
  suspects: readonly Suspect[],
  { promiseMs, everyMs }: FollowWait,
): Promise<FoundBreach[]> {
  const { clients, signal } = run;
  const endMs = performance.now() + promiseMs;
  let left = suspects;
  for (;;) {
    const wrong = new Set<Suspect>();
    const breaches = await checkInParallel(left, signal, async (suspect) => {
      const { id: messageId, tenantId } = suspect;
      const read = clients.messaging.getMessage({ tenantId, messageId }, { signal });
      const { message } = (await read.catch(undefinedIfNotFound)) ?? {};
      if (message === undefined) return [];
      const [checked] = await check(run, [message]);
      if (checked?.fault === undefined) return [];
      wrong.add(suspect);
      return [{ ...checked.fault, ids: [messageId, message.campaignId, tenantId] }];
    });
    if (breaches.length === 0 || performance.now() >= endMs) return breaches;
    left = left.filter((suspect) => wrong.has(suspect));
    await pause(everyMs, signal);
  }
}

/** Compares messages of one tenant with their rows. */
async function check(run: CheckRun, messages: readonly Message[]) {
  const checked: { message: Message; fault: RowFault | undefined }[] = [];
  for (const [campaignId, some] of Map.groupBy(messages, (message) => message.campaignId)) {
    const rows = await readRows(run, campaignId, some);
    for (const message of some) {
      const row = rows.byNumber.get(message.to);
      const isRemoved = row === undefined && rows.areExpired;
      checked.push({ message, fault: isRemoved ? undefined : checkRow(message, row) });
    }
  }
  return checked;
}

async function readRows(run: CheckRun, campaignId: string, messages: readonly Message[]) {
  const { clients, signal } = run;
  const tenantId = messages[0]?.tenantId ?? "";
  const numbers = [...new Set(messages.map(({ to }) => to))];
  const asked = { tenantId, campaignId, numbers };
  const answer = await clients.campaigns
    .findRecipients(asked, { signal })
    .catch(undefinedIfNotFound);
  const rows: readonly CampaignRecipient[] = answer?.recipients ?? [];
  const byNumber = new Map(rows.map((row) => [row.to, row]));
  return { byNumber, areExpired: answer?.rowsExpired ?? false };
}

/** The tenant's messages of campaigns, newest first. */
async function* pagesOfMessages(
  { clients, signal }: CheckRun,
  tenantId: string,
): AsyncGenerator<Message[]> {
  const wanted = { tenantId, sources: [MessageSource.CAMPAIGN], limit: PAGE };
  for (let beforeId = ""; ; ) {
    const asked = { ...wanted, beforeId, allowsShortPages: true };
    const page = await clients.messaging.listMessages(asked, { signal });
    yield page.messages;
    beforeId = page.nextBeforeId || (page.messages.at(-1)?.id ?? "");
    if (!page.hasMore || beforeId === "") return;
  }
}
