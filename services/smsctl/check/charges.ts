/**
 * Reconciles messaging with the wallet: two streams ordered by message id, merged, so memory
 * follows what is in flight and not what is stored. Each stream is one snapshot, the wallet's a
 * moment after messaging's, so what looks wrong is looked at once more before it is called a
 * breach. What is late is judged by the instant of the snapshots: reading them takes minutes.
 */
import type { Charge } from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { idTimeMs, isId } from "../../shared/core/ids.ts";
import { judge } from "./check-charge.ts";
import { checkOpenHolds, type ExplainedHolds } from "./holds.ts";
import {
  lookAgain,
  lookForMessages,
  MISSING_MAX,
  orphanBreach,
  PATIENCE,
  type RetryUntilAvailable,
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
 * Messages are kept twelve months, or less where messaging says so; a settlement may outlive its message. Where they
 * are kept longer, they may have been kept shorter before: further back than this no message is missed.
 */
const KEPT_MAX_MS = 365 * 86_400_000;
/** Nothing is missed that is so near to its deletion, nor in the last half of its time: clocks may be apart. */
const KEPT_SLACK_MS = 86_400_000;

/** What was settled so long before the check's beginning had its message stored by then, by any clock. */
const CERTAIN_AGE_MS = 600_000;

/** Compares messages' charges with their settlements, and open holds with open messages. */
export async function checkCharges(
  run: CheckRun,
  patience: RetryUntilAvailable = PATIENCE,
): Promise<CheckReport> {
  run.note("comparing charges with settlements");
  const progress = createProgress(run.note);
  const atMs = Date.now();
  const found = createBreachList();
  const explained: ExplainedHolds = new Map();
  const looked = { charges: 0, settlements: 0, open_reservations: 0 };
  const settlements = createCursor(streamSettlements(run));
  const suspects: Suspect[] = [];
  const orphans = createOrphans(atMs, found);

  for await (const charge of streamCharges(run, orphans.hearKept)) {
    looked.charges += 1;
    progress(`${looked.charges} messages compared`);
    let settlement = await settlements.peek();
    while (settlement !== undefined && settlement.messageId < charge.messageId) {
      orphans.note(settlement);
      settlement = await settlements.next();
    }
    const match = settlement?.messageId === charge.messageId ? settlement : undefined;
    if (match !== undefined) {
      looked.settlements += 1;
      await settlements.next();
    }
    const verdict = judge(charge, match, atMs);
    if (verdict.kind === "breach") suspects.push({ charge, settlement: match });
    if (match === undefined) explain(explained, charge);
    if (suspects.length > BREACHES_MAX) break;
  }
  const isWhole = suspects.length <= BREACHES_MAX;
  if (isWhole) {
    // What is left lies behind the last message.
    let settlement = await settlements.peek();
    while (settlement !== undefined) {
      orphans.note(settlement);
      settlement = await settlements.next();
    }
  }
  const unfinished: string[] = [];
  if (isWhole) {
    const { open, unseen } = await checkOpenHolds(run, explained, atMs, found);
    looked.open_reservations = open;
    const what = `${unseen} more holds are missing or too small and were not looked at`;
    if (unseen > 0) unfinished.push(what);
  } else {
    // Holds of messages that were not reached would look like holds that nothing explains.
    const ended = `comparing ended after ${looked.charges} messages`;
    const why = `more than ${BREACHES_MAX} look wrong; open holds were not compared`;
    unfinished.push(`${ended}, of which ${why}`);
  }
  found.add(...(await lookForMessages(run, orphans.missing)));
  if (orphans.unseen > 0) {
    const what = "more settlements of late are missing and were not looked for";
    unfinished.push(`the messages of ${orphans.unseen} ${what}`);
  }
  found.add(...(await lookAgain(run, suspects, atMs, patience)));
  if (unfinished.length === 0) return { ...found.listed(), looked };
  return { ...found.listed(), looked, unfinished: unfinished.join("; ") };
}

/** Adds what a message that is not settled holds. */
function explain(
  explained: ExplainedHolds,
  { reservationId, heldAmount, tenantId, messageId }: Charge,
): void {
  if (reservationId === "" || heldAmount <= 0n) return;
  const before = explained.get(reservationId)?.amount ?? 0n;
  // The last of a send's messages: it is the one that most probably still waits at a second look.
  explained.set(reservationId, { amount: before + heldAmount, tenantId, messageId });
}

/** Collects settlements whose messages were not met; of very many, tells at once of those that are certain. */
function createOrphans(atMs: number, found: BreachList) {
  const missing: Settlement[] = [];
  let unseen = 0;
  let keptMs = KEPT_MAX_MS;
  return {
    /** Takes in how long messages are kept. */
    hearKept(ms: number): void {
      keptMs = Math.min(ms, KEPT_MAX_MS);
    },
    note(settlement: Settlement): void {
      // Messages are deleted by when they were made, which for a scheduled one is long before its settlement.
      const { messageId } = settlement;
      const settledMs = Number(settlement.settledAtMs);
      const madeMs = isId("message", messageId) ? idTimeMs(messageId) : settledMs;
      if (atMs - madeMs > keptMs - Math.min(KEPT_SLACK_MS, keptMs / 2)) return;
      // Its message may have been accepted after the charges' snapshot: it is looked for, whatever this clock says.
      if (missing.length < MISSING_MAX) missing.push(settlement);
      else if (atMs - settledMs > CERTAIN_AGE_MS) found.add(orphanBreach(settlement));
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
  hearKept: (ms: number) => void,
): AsyncGenerator<Charge> {
  const stream = clients.messaging.streamCharges({ tenantId }, { timeoutMs: 0, signal });
  for await (const { charges, messageKeepMs } of stream) {
    if (messageKeepMs !== undefined) hearKept(Number(messageKeepMs));
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
