/** Open holds against open messages, in both directions (invariant 3). */
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { ReservationState } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../shared/core/money.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import type { BreachList, CheckRun, FoundBreach } from "./report.ts";
import { MISSING_MAX, sideBySide } from "./second-look.ts";

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
 * not have been stored when the messages were read; and every send with open messages must have an open hold. Holds are
 * read after the messages, and only become less: what is missing is looked at once more. Takes from `explained`
 * what it has seen; answers how many holds are open, and how many messages' holds were not looked for because too
 * many are missing.
 */
export async function checkOpenHolds(
  run: CheckRun,
  explained: ExplainedHolds,
  atMs: number,
  found: BreachList,
): Promise<{ readonly open: number; readonly unseen: number }> {
  const { clients, tenantId, signal } = run;
  let open = 0;
  const stream = clients.wallets.streamReservations({}, { timeoutMs: 0, signal });
  for await (const { reservations, graceMs = UNTOLD_GRACE_MS } of stream) {
    const orphanMs = Number(graceMs) + SWEEP_MS;
    for (const { id, openAmount, tenantId: owner, createdAtMs } of reservations) {
      if (openAmount === 0n || (tenantId !== "" && owner !== tenantId)) continue;
      open += 1;
      const { amount } = explained.get(id) ?? { amount: 0n };
      explained.delete(id);
      if (openAmount <= amount) continue;
      // A send's messages are stored together: one that explains a part of its hold would explain all of it.
      if (amount === 0n && atMs - Number(createdAtMs) < orphanMs) continue;
      const what =
        amount === 0n
          ? "a hold that no open message explains has outlived the grace time"
          : `a hold of ${formatAmount(openAmount)} where open messages explain ${formatAmount(amount)}`;
      found.add({ invariant: 3, what, ids: [id] });
    }
  }
  const missing = [...explained].slice(0, MISSING_MAX);
  found.add(...(await sideBySide(missing, signal, ([id, hold]) => lookForHold(run, id, hold))));
  return { open, unseen: explained.size - missing.length };
}

/** The hold is read before the message: one that is open still when its hold is gone will go unpaid. */
async function lookForHold(
  { clients, signal }: CheckRun,
  reservationId: string,
  { tenantId, messageId }: ExplainedHold,
): Promise<FoundBreach[]> {
  const state = await clients.wallets.getReservation({ tenantId, reservationId }, { signal }).then(
    ({ reservation }) => reservation?.state,
    (thrown: unknown) => {
      if (toAppError(thrown).code === "not_found") return undefined;
      throw thrown;
    },
  );
  if (state === ReservationState.OPEN) return [];
  const { message } = await clients.messaging.getMessage({ tenantId, messageId }, { signal });
  const status = message?.status;
  if (status !== MessageStatus.SCHEDULED && status !== MessageStatus.QUEUED) return [];
  const what =
    state === undefined
      ? "an open message whose hold does not exist"
      : "an open message whose hold is closed";
  return [{ invariant: 3, what, ids: [messageId, reservationId] }];
}
