/**
 * Reconciles messaging with the wallet: merges two streams ordered by message id, so memory grows with
 * the messages in flight, not with those stored. Each stream is one snapshot, the wallet's a moment after
 * messaging's, so suspects are rechecked before they count as breaches. Lateness is measured at the
 * instant of the snapshots, because reading them takes minutes.
 */
import type { Charge } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { idTimeMs, isId } from "../../shared/core/ids.ts";
import { checkCharge } from "./check-charge.ts";
import { checkOpenHolds, type ExplainedHolds } from "./holds.ts";
import {
  orphanBreach,
  RECHECKS_MAX,
  recheck,
  recheckOrphans,
  SETTLEMENT_WAIT,
  type SettlementWait,
  type Suspect,
} from "./recheck.ts";
import {
  BREACHES_MAX,
  type BreachList,
  type CheckReport,
  type CheckRun,
  createBreachList,
  createProgress,
} from "./report.ts";

/**
 * Messages are kept twelve months, or less where messaging says so; a settlement may outlive its message.
 * A longer setting may be recent, so a settlement older than this needs no message.
 */
const RETENTION_MAX_MS = 365 * 86_400_000;
/** A settlement whose message is this close to deletion needs no message either: clocks may differ. */
const RETENTION_SLACK_MS = 86_400_000;

/** The message of a settlement this old was stored when the check started, at any clock skew. */
const STORED_FOR_CERTAIN_MS = 600_000;

/** Compares messages' charges with their settlements, and open holds with open messages. */
export async function checkCharges(
  run: CheckRun,
  wait: SettlementWait = SETTLEMENT_WAIT,
): Promise<CheckReport> {
  run.note("comparing charges with settlements");
  const progress = createProgress(run.note);
  const atMs = Date.now();
  const found = createBreachList();
  const explained: ExplainedHolds = new Map();
  const compared = { charges: 0, settlements: 0, open_reservations: 0 };
  const settlements = createCursor(streamSettlements(run));
  const suspects: Suspect[] = [];
  const orphans = createOrphans(atMs, found);

  for await (const charge of streamCharges(run, orphans.setRetention)) {
    compared.charges += 1;
    progress(`${compared.charges} messages compared`);
    let settlement = await settlements.peek();
    while (settlement !== undefined && settlement.messageId < charge.messageId) {
      orphans.note(settlement);
      settlement = await settlements.next();
    }
    const match = settlement?.messageId === charge.messageId ? settlement : undefined;
    if (match !== undefined) {
      compared.settlements += 1;
      await settlements.next();
    }
    const result = checkCharge(charge, match, atMs);
    if (result.kind === "breach") suspects.push({ charge, settlement: match });
    if (match === undefined) explain(explained, charge);
    if (suspects.length > BREACHES_MAX) break;
  }
  const isWhole = suspects.length <= BREACHES_MAX;
  if (isWhole) {
    // The remaining settlements come after the last message.
    let settlement = await settlements.peek();
    while (settlement !== undefined) {
      orphans.note(settlement);
      settlement = await settlements.next();
    }
  }
  const unfinished: string[] = [];
  if (isWhole) {
    const { open, unseen } = await checkOpenHolds(run, explained, atMs, found);
    compared.open_reservations = open;
    const what = `${unseen} more holds are missing or too small and were not compared`;
    if (unseen > 0) unfinished.push(what);
  } else {
    // Holds of messages that were not read would count as unexplained.
    const ended = `comparing ended after ${compared.charges} messages`;
    const why = `more than ${BREACHES_MAX} look wrong; open holds were not compared`;
    unfinished.push(`${ended}, of which ${why}`);
  }
  found.add(...(await recheckOrphans(run, orphans.missing)));
  if (orphans.unseen > 0) {
    const what = "more settlements of late are missing and were not searched";
    unfinished.push(`the messages of ${orphans.unseen} ${what}`);
  }
  found.add(...(await recheck(run, suspects, atMs, wait)));
  if (unfinished.length === 0) return { ...found.listed(), compared };
  return { ...found.listed(), compared, unfinished: unfinished.join("; ") };
}

/** Adds the amount that an unsettled message holds. */
function explain(
  explained: ExplainedHolds,
  { reservationId, heldAmount, tenantId, messageId }: Charge,
): void {
  if (reservationId === "" || heldAmount <= 0n) return;
  const before = explained.get(reservationId)?.amount ?? 0n;
  // Keep the last message of a send: it is the most likely to be open at the recheck.
  explained.set(reservationId, { amount: before + heldAmount, tenantId, messageId });
}

/** Collects settlements without messages; beyond the limit it reports the certain ones at once. */
function createOrphans(atMs: number, found: BreachList) {
  const missing: Settlement[] = [];
  let unseen = 0;
  let retentionMs = RETENTION_MAX_MS;
  return {
    /** Sets how long messages are kept. */
    setRetention(ms: number): void {
      retentionMs = Math.min(ms, RETENTION_MAX_MS);
    },
    note(settlement: Settlement): void {
      // Retention counts from creation, which for a scheduled message is long before its settlement.
      const { messageId } = settlement;
      const settledMs = Number(settlement.settledAtMs);
      const madeMs = isId("message", messageId) ? idTimeMs(messageId) : settledMs;
      if (atMs - madeMs > retentionMs - Math.min(RETENTION_SLACK_MS, retentionMs / 2)) return;
      // Look the message up: messaging may have accepted it after the snapshot of charges.
      if (missing.length < RECHECKS_MAX) missing.push(settlement);
      else if (atMs - settledMs > STORED_FOR_CERTAIN_MS) found.add(orphanBreach(settlement));
      else unseen += 1;
    },
    missing,
    get unseen() {
      return unseen;
    },
  };
}

async function* streamCharges(
  { clients, tenantId, signal }: CheckRun,
  setRetention: (ms: number) => void,
): AsyncGenerator<Charge> {
  const stream = clients.messaging.streamCharges({ tenantId }, { timeoutMs: 0, signal });
  for await (const { charges, messageKeepMs } of stream) {
    if (messageKeepMs !== undefined) setRetention(Number(messageKeepMs));
    yield* charges;
  }
}

async function* streamSettlements(run: CheckRun): AsyncGenerator<Settlement> {
  const { clients, tenantId, signal } = run;
  const stream = clients.wallets.streamSettlements({ tenantId }, { timeoutMs: 0, signal });
  for await (const { settlements } of stream) yield* settlements;
}

/** Reads a stream with one item of lookahead. */
function createCursor<T>(stream: AsyncGenerator<T>) {
  let current: Promise<T | undefined> | undefined;
  async function read(): Promise<T | undefined> {
    const item = await stream.next();
    return item.done === true ? undefined : item.value;
  }
  return {
    peek(): Promise<T | undefined> {
      current ??= read();
      return current;
    },
    next(): Promise<T | undefined> {
      current = read();
      return current;
    },
  };
}
