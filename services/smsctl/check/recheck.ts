/** What looked wrong in two snapshots is looked at as it is now, before it is called a breach. */
import { create } from "@bufbuild/protobuf";
import {
  type Charge,
  ChargeSchema,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { backoffMs, pause } from "../../shared/flow/backoff.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { PASSING } from "../calls/retryable-errors.ts";
import { judge, SETTLEMENT_PROMISE_MS } from "./check-charge.ts";
import { type CheckRun, createProgress, type FoundBreach } from "./report.ts";

/** A message that looks wrong, and its settlement as far as it was seen. */
export type Suspect = { readonly charge: Charge; readonly settlement: Settlement | undefined };

/** How long a settlement may take once its message was seen changed, and how often it is looked for meanwhile. */
export type RetryUntilAvailable = { readonly promiseMs: number; readonly everyMs: number };

/** As the contract has it. */
export const PATIENCE: RetryUntilAvailable = { promiseMs: SETTLEMENT_PROMISE_MS, everyMs: 1000 };

/** Settlements that are asked for at once. */
const LOOK_MAX = 1000;

/** Things that are looked for one by one, each with a call or two: altogether of a kind, and side by side. */
export const MISSING_MAX = 100_000;
const AT_ONCE = 16;

/** With its pauses half a minute, longer than a service takes to be exchanged. */
const TRIES_MAX = 10;

/**
 * Looks at suspects again; answers those that are breaches still. A message has the time of its change from its
 * carrier, which may have been long before it was known here. What is not settled is therefore waited for until it
 * has been seen changed, at `atMs`, for as long as settling may take.
 */
export async function lookAgain(
  run: CheckRun,
  suspects: readonly Suspect[],
  atMs: number,
  patience: RetryUntilAvailable,
): Promise<FoundBreach[]> {
  const found: FoundBreach[] = [];
  const unsettled: Charge[] = [];
  const call = (charge: Charge, settlement: Settlement | undefined) => {
    const verdict = judge(charge, settlement, atMs);
    if (verdict.kind !== "breach") return;
    const { invariant, what } = verdict;
    found.push({ invariant, what, ids: [charge.messageId, charge.tenantId] });
  };
  for (const { charge, settlement } of suspects) {
    const now = await insist(() => readCharge(run, charge), run.signal);
    if (now === undefined) continue;
    if (settlement !== undefined) call(now, settlement);
    else if (judge(now, undefined, atMs).kind === "breach") unsettled.push(now);
  }
  const settlements = await awaitSettlements(run, unsettled, atMs, patience);
  for (const charge of unsettled) call(charge, settlements.get(charge.messageId));
  return found;
}

/** A message's charge as it is now; undefined when it was deleted meanwhile, its time being over. */
async function readCharge(
  { clients, signal }: CheckRun,
  charge: Charge,
): Promise<Charge | undefined> {
  const { tenantId, messageId } = charge;
  const found = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(orNothing);
  if (found === undefined) return undefined;
  const { message } = found;
  return create(ChargeSchema, {
    ...charge,
    status: message?.status ?? MessageStatus.UNSPECIFIED,
    updatedAtMs: message?.updatedAtMs ?? charge.updatedAtMs,
    ...(message?.amount === undefined ? {} : { amount: message.amount }),
  });
}

/** The settlements of messages, by message; looks at least once. */
async function awaitSettlements(
  run: CheckRun,
  charges: readonly Charge[],
  atMs: number,
  { promiseMs, everyMs }: RetryUntilAvailable,
): Promise<Map<string, Settlement>> {
  const settlements = new Map<string, Settlement>();
  const progress = createProgress(run.note);
  for (;;) {
    const missing = charges.filter(({ messageId }) => !settlements.has(messageId));
    for (let at = 0; at < missing.length; at += LOOK_MAX) {
      const messageIds = missing.slice(at, at + LOOK_MAX).map(({ messageId }) => messageId);
      const some = await insist(() => findSettlements(run, messageIds), run.signal);
      for (const one of some) settlements.set(one.messageId, one);
    }
    const left = charges.length - settlements.size;
    if (left === 0 || Date.now() >= atMs + promiseMs) return settlements;
    progress(`waiting for the settlements of ${left} messages`);
    await pause(everyMs, run.signal);
    run.signal.throwIfAborted();
  }
}

async function findSettlements(
  { clients, tenantId, signal }: CheckRun,
  messageIds: readonly string[],
): Promise<Settlement[]> {
  const wanted = new Set(messageIds);
  const request = { tenantId, messageIds: [...messageIds] };
  const found: Settlement[] = [];
  const stream = clients.wallets.streamSettlements(request, { timeoutMs: 0, signal });
  for await (const { settlements } of stream) {
    // A wallet that does not know of such questions yet answers everything.
    found.push(...settlements.filter(({ messageId }) => wanted.has(messageId)));
  }
  return found;
}

/** Looks for the messages of settlements that were met without them: nothing settles what is not stored. */
export async function lookForMessages(
  { clients, signal }: CheckRun,
  orphans: readonly Settlement[],
): Promise<FoundBreach[]> {
  return sideBySide(orphans, signal, async (settlement) => {
    const { tenantId, messageId } = settlement;
    const found = await clients.messaging
      .getMessage({ tenantId, messageId }, { signal })
      .catch(orNothing);
    return found === undefined ? [orphanBreach(settlement)] : [];
  });
}

/** A settlement of a message that does not exist. */
export function orphanBreach({ messageId, tenantId }: Settlement): FoundBreach {
  const what = "a settlement whose message does not exist";
  return { invariant: 2, what, ids: [messageId, tenantId] };
}

/** What is not there is an answer; any other failure is thrown. */
export function orNothing(thrown: unknown): undefined {
  if (toAppError(thrown).code === "not_found") return undefined;
  throw thrown;
}

/** One of very many looks: a service that is exchanged meanwhile, or has no room, is asked again. */
async function insist<T>(look: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look();
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === TRIES_MAX || !PASSING.has(toAppError(error).code)) throw error;
    }
    await pause(backoffMs(attempt, 100, 5000), signal);
  }
}

/** Looks at each item with a call or two, a few at once; answers the breaches in order. */
export async function sideBySide<T>(
  items: readonly T[],
  signal: AbortSignal,
  look: (item: T) => Promise<FoundBreach[]>,
): Promise<FoundBreach[]> {
  const found: FoundBreach[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const some = items.slice(at, at + AT_ONCE);
    const breaches = await Promise.all(some.map((item) => insist(() => look(item), signal)));
    found.push(...breaches.flat());
  }
  return found;
}
