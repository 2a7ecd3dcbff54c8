/** Rereads suspects from two snapshots in their current state before they count as breaches. */
import { create } from "@bufbuild/protobuf";
import {
  type Charge,
  ChargeSchema,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Settlement } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { pause } from "../../shared/flow/backoff.ts";
import { retry } from "../../shared/flow/retry.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { TRANSIENT_ERRORS } from "../calls/retryable-errors.ts";
import { checkCharge, SETTLEMENT_PROMISE_MS } from "./check-charge.ts";
import { type CheckRun, createProgress, type FoundBreach } from "./report.ts";

/** A message that seems wrong, with its settlement if the snapshots had one. */
export type Suspect = { readonly charge: Charge; readonly settlement: Settlement | undefined };

/** How long a settlement may take after its message was seen changed, and how often to poll for it. */
export type SettlementWait = { readonly promiseMs: number; readonly everyMs: number };

/** The wait for the time that docs/contract.md#money promises. */
export const SETTLEMENT_WAIT: SettlementWait = { promiseMs: SETTLEMENT_PROMISE_MS, everyMs: 1000 };

/** Settlements requested in one call. */
const SETTLEMENTS_PER_CALL = 1000;

/** Most suspects of a kind to recheck, with one or two calls each, and how many at a time. */
export const RECHECKS_MAX = 100_000;
const CONCURRENCY = 16;

/** Attempts of one read. With the pauses they take half a minute, longer than the restart of a service. */
const ATTEMPTS_MAX = 10;

/**
 * Rechecks suspects and returns those that are still breaches. The time of a message's change comes from its
 * carrier and may precede its arrival here. So an unsettled message is due only when the settlement time has
 * passed since `atMs`, when its change was seen.
 */
export async function recheck(
  run: CheckRun,
  suspects: readonly Suspect[],
  atMs: number,
  wait: SettlementWait,
): Promise<FoundBreach[]> {
  const found: FoundBreach[] = [];
  const unsettled: Charge[] = [];
  const call = (charge: Charge, settlement: Settlement | undefined) => {
    const result = checkCharge(charge, settlement, atMs);
    if (result.kind !== "breach") return;
    const { invariant, what } = result;
    found.push({ invariant, what, ids: [charge.messageId, charge.tenantId] });
  };
  for (const { charge, settlement } of suspects) {
    const now = await retryTransient(() => readCharge(run, charge), run.signal);
    if (now === undefined) continue;
    if (settlement !== undefined) call(now, settlement);
    else if (checkCharge(now, undefined, atMs).kind === "breach") unsettled.push(now);
  }
  const settlements = await awaitSettlements(run, unsettled, atMs, wait);
  for (const charge of unsettled) call(charge, settlements.get(charge.messageId));
  return found;
}

/** A message's current charge; undefined when retention has deleted it. */
async function readCharge(
  { clients, signal }: CheckRun,
  charge: Charge,
): Promise<Charge | undefined> {
  const { tenantId, messageId } = charge;
  const found = await clients.messaging
    .getMessage({ tenantId, messageId }, { signal })
    .catch(undefinedIfNotFound);
  if (found === undefined) return undefined;
  const { message } = found;
  return create(ChargeSchema, {
    ...charge,
    status: message?.status ?? MessageStatus.UNSPECIFIED,
    updatedAtMs: message?.updatedAtMs ?? charge.updatedAtMs,
    ...(message?.amount === undefined ? {} : { amount: message.amount }),
  });
}

/** The settlements of messages, by message; polls at least once. */
async function awaitSettlements(
  run: CheckRun,
  charges: readonly Charge[],
  atMs: number,
  { promiseMs, everyMs }: SettlementWait,
): Promise<Map<string, Settlement>> {
  const settlements = new Map<string, Settlement>();
  const progress = createProgress(run.note);
  for (;;) {
    const missing = charges.filter(({ messageId }) => !settlements.has(messageId));
    for (let at = 0; at < missing.length; at += SETTLEMENTS_PER_CALL) {
      const messageIds = missing
        .slice(at, at + SETTLEMENTS_PER_CALL)
        .map(({ messageId }) => messageId);
      const some = await retryTransient(() => findSettlements(run, messageIds), run.signal);
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
    // An older wallet ignores the filter and returns every settlement.
    found.push(...settlements.filter(({ messageId }) => wanted.has(messageId)));
  }
  return found;
}

/** Looks up the messages of orphaned settlements: only stored messages are settled. */
export async function recheckOrphans(
  { clients, signal }: CheckRun,
  orphans: readonly Settlement[],
): Promise<FoundBreach[]> {
  return checkInParallel(orphans, signal, async (settlement) => {
    const { tenantId, messageId } = settlement;
    const found = await clients.messaging
      .getMessage({ tenantId, messageId }, { signal })
      .catch(undefinedIfNotFound);
    return found === undefined ? [orphanBreach(settlement)] : [];
  });
}

/** A settlement of a message that does not exist. */
export function orphanBreach({ messageId, tenantId }: Settlement): FoundBreach {
  const what = "a settlement whose message does not exist";
  return { invariant: 2, what, ids: [messageId, tenantId] };
}

/** Turns `not_found` into undefined; throws any other error. */
export function undefinedIfNotFound(thrown: unknown): undefined {
  if (toAppError(thrown).code === "not_found") return undefined;
  throw thrown;
}

/** Retries one of many reads while a service restarts or sheds load. */
function retryTransient<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return retry(read, {
    ...{ baseMs: 200, capMs: 5000, attemptsMax: ATTEMPTS_MAX, signal },
    isRetryable: (error) => TRANSIENT_ERRORS.has(toAppError(error).code),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}

/** Checks items, a few at a time; returns the breaches in order. */
export async function checkInParallel<T>(
  items: readonly T[],
  signal: AbortSignal,
  check: (item: T) => Promise<FoundBreach[]>,
): Promise<FoundBreach[]> {
  const found: FoundBreach[] = [];
  for (let at = 0; at < items.length; at += CONCURRENCY) {
    const some = items.slice(at, at + CONCURRENCY);
    const breaches = await Promise.all(
      some.map((item) => retryTransient(() => check(item), signal)),
    );
    found.push(...breaches.flat());
  }
  return found;
}
