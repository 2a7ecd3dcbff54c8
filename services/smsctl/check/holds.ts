/** Compares open holds with open messages, in both directions (invariant 3). */
import { type Message, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { ReservationState } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../shared/core/money.ts";
import { checkInParallel, RECHECKS_MAX, undefinedIfNotFound } from "./recheck.ts";
import type { BreachList, CheckRun, FoundBreach } from "./report.ts";

/** A hold without a send may exist for the wallet's grace time, if given, or the default, plus one sweep. */
const SWEEP_MS = 300_000;
const GRACE_DEFAULT_MS = 300_000n;

/** The amount that unsettled messages hold of one reservation, and the last such message. */
export type ExplainedHold = {
  readonly amount: bigint;
  readonly tenantId: string;
  readonly messageId: string;
};

/** Explained holds by reservation id. */
export type ExplainedHolds = Map<string, ExplainedHold>;

/**
 * Open messages must explain every open hold in full, except a young hold whose send was not stored when
 * the messages were read. Every send with open messages must have an open hold of the amount they need.
 * Holds are read after the messages and only shrink, so missing and short holds are rechecked. Deletes the
 * holds it has seen from `explained`. Returns the number of open holds, and of missing or short holds that
 * were too many to recheck.
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
  for await (const { reservations, graceMs = GRACE_DEFAULT_MS } of stream) {
    const orphanMs = Number(graceMs) + SWEEP_MS;
    for (const { id, openAmount, tenantId: owner, createdAtMs } of reservations) {
      if (openAmount === 0n || (tenantId !== "" && owner !== tenantId)) continue;
      open += 1;
      const hold = explained.get(id);
      const amount = hold?.amount ?? 0n;
      explained.delete(id);
      if (hold !== undefined && openAmount < amount) {
        if (short.length < RECHECKS_MAX) short.push([id, hold]);
        else unseen += 1;
      }
      if (openAmount <= amount) continue;
      // A send's messages are stored together: they explain all of their hold or nothing of it.
      if (amount === 0n && atMs - Number(createdAtMs) < orphanMs) continue;
      const what =
        amount === 0n
          ? "a hold that no open message explains has outlived the grace time"
          : `a hold of ${formatAmount(openAmount)} where open messages explain ${formatAmount(amount)}`;
      found.add({ invariant: 3, what, ids: [id, owner] });
    }
  }
  found.add(
    ...(await checkInParallel(short, signal, ([id, hold]) => recheckShortHold(run, id, hold))),
  );
  const missing = [...explained].slice(0, RECHECKS_MAX);
  found.add(
    ...(await checkInParallel(missing, signal, ([id, hold]) => recheckMissingHold(run, id, hold))),
  );
  return { open, unseen: unseen + explained.size - missing.length };
}

/** Reads the hold before the message: a message that is still open after its hold was released is not paid. */
async function recheckMissingHold(
  { clients, signal }: CheckRun,
  reservationId: string,
  { tenantId, messageId }: ExplainedHold,
): Promise<FoundBreach[]> {
  const asked = { tenantId, reservationId };
  const found = await clients.wallets.getReservation(asked, { signal }).catch(undefinedIfNotFound);
  const state = found?.reservation?.state;
  if (state === ReservationState.OPEN) return [];
  const shown = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(undefinedIfNotFound);
  if (!isOpen(shown?.message)) return [];
  const what =
    state === undefined
      ? "an open message whose hold does not exist"
      : "an open message whose hold is closed";
  return [{ invariant: 3, what, ids: [messageId, reservationId, tenantId] }];
}

/**
 * Rechecks a hold that is smaller than its messages' amounts: most messages were settled in between.
 * Reads the hold before the messages: it must cover every message that is still open afterwards.
 */
async function recheckShortHold(
  run: CheckRun,
  reservationId: string,
  { tenantId, messageId }: ExplainedHold,
): Promise<FoundBreach[]> {
  const { clients, signal } = run;
  const asked = { tenantId, reservationId };
  const found = await clients.wallets.getReservation(asked, { signal }).catch(undefinedIfNotFound);
  const openAmount = found?.reservation?.openAmount ?? 0n;
  let needed = 0n;
  for await (const message of openMessagesOf(run, reservationId, { tenantId, messageId })) {
    needed += message.heldAmount;
  }
  if (needed <= openAmount) return [];
  const what = `a hold of ${formatAmount(openAmount)} where open messages need ${formatAmount(needed)}`;
  return [{ invariant: 3, what, ids: [reservationId, tenantId] }];
}

/** The most recipients of a send, and the largest page of a list. */
const SEND_MAX = 10_000;
const PAGE = 100;

/**
 * The open messages of a reservation, last first. A send's ids are contiguous; between them only rejected
 * and free messages have no reservation.
 */
async function* openMessagesOf(
  { clients, signal }: CheckRun,
  reservationId: string,
  { tenantId, messageId }: { readonly tenantId: string; readonly messageId: string },
): AsyncGenerator<Message> {
  const last = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(undefinedIfNotFound);
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
