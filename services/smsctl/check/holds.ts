/** Open holds against open messages, in both directions (invariant 3). */
import { type Message, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { ReservationState } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../shared/core/money.ts";
import { MISSING_MAX, orNothing, sideBySide } from "./recheck.ts";
import type { BreachList, CheckRun, FoundBreach } from "./report.ts";

/** A hold without a send may live for the grace time, which is this where the wallet does not tell, and one sweep. */
const SWEEP_MS = 300_000;
const UNTOLD_GRACE_MS = 300_000n;

/** What the messages that are not settled hold of one reservation, and the last of them. */
export type ExplainedHold = {
  readonly amount: bigint;
  readonly tenantId: string;
  readonly messageId: string;
};

/** By reservation. */
export type ExplainedHolds = Map<string, ExplainedHold>;

/**
 * Every open hold must be explained, in full, by messages that are still open, but for a young one whose send may
 * not have been stored when the messages were read; and every send with open messages must have an open hold of
 * what they need. Holds are read after the messages, and only become less: what is missing or too little is looked at
 * once more. Takes from `explained` what it has seen; answers how many holds are open, and how many of those that are
 * missing or too small were not looked at because there are too many.
 */
export async function checkOpenHolds(
  run: CheckRun,
  explained: ExplainedHolds,
  atMs: number,
  found: BreachList,
): Promise<{ readonly open: number; readonly unseen: number }> {
  const { clients, tenantId, signal } = run;
  let open = 0;
  let unseen = 0;
  const short: [string, ExplainedHold][] = [];
  const stream = clients.wallets.streamReservations({}, { timeoutMs: 0, signal });
  for await (const { reservations, graceMs = UNTOLD_GRACE_MS } of stream) {
    const orphanMs = Number(graceMs) + SWEEP_MS;
    for (const { id, openAmount, tenantId: owner, createdAtMs } of reservations) {
      if (openAmount === 0n || (tenantId !== "" && owner !== tenantId)) continue;
      open += 1;
      const hold = explained.get(id);
      const amount = hold?.amount ?? 0n;
      explained.delete(id);
      if (hold !== undefined && openAmount < amount) {
        if (short.length < MISSING_MAX) short.push([id, hold]);
        else unseen += 1;
      }
      if (openAmount <= amount) continue;
      // A send's messages are stored together: one that explains a part of its hold would explain all of it.
      if (amount === 0n && atMs - Number(createdAtMs) < orphanMs) continue;
      const what =
        amount === 0n
          ? "a hold that no open message explains has outlived the grace time"
          : `a hold of ${formatAmount(openAmount)} where open messages explain ${formatAmount(amount)}`;
      found.add({ invariant: 3, what, ids: [id, owner] });
    }
  }
  found.add(...(await sideBySide(short, signal, ([id, hold]) => lookAtShortHold(run, id, hold))));
  const missing = [...explained].slice(0, MISSING_MAX);
  found.add(...(await sideBySide(missing, signal, ([id, hold]) => lookForHold(run, id, hold))));
  return { open, unseen: unseen + explained.size - missing.length };
}

/** The hold is read before the message: one that is open still when its hold is gone will go unpaid. */
async function lookForHold(
  { clients, signal }: CheckRun,
  reservationId: string,
  { tenantId, messageId }: ExplainedHold,
): Promise<FoundBreach[]> {
  const asked = { tenantId, reservationId };
  const found = await clients.wallets.getReservation(asked, { signal }).catch(orNothing);
  const state = found?.reservation?.state;
  if (state === ReservationState.OPEN) return [];
  const shown = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(orNothing);
  if (!isOpen(shown?.message)) return [];
  const what =
    state === undefined
      ? "an open message whose hold does not exist"
      : "an open message whose hold is closed";
  return [{ invariant: 3, what, ids: [messageId, reservationId, tenantId] }];
}

/**
 * A hold of less than its messages held when they were read: most were settled since. Again the hold is read before
 * the messages, so that what is open afterwards was held, in full, by it.
 */
async function lookAtShortHold(
  run: CheckRun,
  reservationId: string,
  { tenantId, messageId }: ExplainedHold,
): Promise<FoundBreach[]> {
  const { clients, signal } = run;
  const asked = { tenantId, reservationId };
  const found = await clients.wallets.getReservation(asked, { signal }).catch(orNothing);
  const openAmount = found?.reservation?.openAmount ?? 0n;
  let needed = 0n;
  for await (const message of openMessagesOf(run, reservationId, { tenantId, messageId })) {
    needed += message.heldAmount;
  }
  if (needed <= openAmount) return [];
  const what = `a hold of ${formatAmount(openAmount)} where open messages need ${formatAmount(needed)}`;
  return [{ invariant: 3, what, ids: [reservationId, tenantId] }];
}

/** Most recipients of a send, and the most messages of one page of a list. */
const SEND_MAX = 10_000;
const PAGE = 100;

/**
 * The open messages of a reservation, from the last of them down: those of a send lie together in the order of
 * their ids, and of those among them only the rejected and those at no price have no reservation.
 */
async function* openMessagesOf(
  { clients, signal }: CheckRun,
  reservationId: string,
  { tenantId, messageId }: { readonly tenantId: string; readonly messageId: string },
): AsyncGenerator<Message> {
  const last = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(orNothing);
  if (last?.message !== undefined && isOpen(last.message)) yield last.message;
  let beforeId = messageId;
  for (let read = 0; read < SEND_MAX; ) {
    const wanted = { tenantId, beforeId, limit: PAGE };
    const { messages, hasMore } = await clients.messaging.listMessages(wanted, { signal });
    for (const message of messages) {
      if (message.reservationId === reservationId && isOpen(message)) yield message;
      if (message.reservationId !== reservationId && message.reservationId !== "") return;
    }
    const lowest = messages.at(-1);
    if (lowest === undefined || !hasMore) return;
    beforeId = lowest.id;
    read += messages.length;
  }
}

function isOpen(message: Message | undefined): boolean {
  const status = message?.status;
  return status === MessageStatus.SCHEDULED || status === MessageStatus.QUEUED;
}
