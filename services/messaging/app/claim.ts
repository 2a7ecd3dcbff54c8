/**
 * Claims: priority class `single` before `bulk`, and round robin over tenants within each. Messages that a carrier
 * has put off come behind those not tried yet, and get a quarter of the places while both wait, so that neither kind
 * starves (ADR 109). How long a claim lasts is `CLAIM_LEASE_MS` (`../config.ts`).
 *
 * In this process the claims of one connector run one after another. Between processes the guard of the write
 * decides, so a message is never claimed twice. Concurrent claims of several connectors share a command.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { UNROUTED } from "../domain/choose-route.ts";
import { type ClaimCall, claimIdOf } from "../domain/claim-epoch.ts";
import { CLAIM_MAX } from "../domain/fair-share.ts";
import type { Claim, Message, PriorityClass } from "../domain/message.ts";
import { queueName } from "../domain/queue-transitions.ts";
import { createHeartbeats } from "./carrier-heartbeats.ts";
import { checkClaim } from "./check-claim.ts";
import { type ClaimChecks, passAll } from "./claim-checks.ts";
import {
  type PendingIndex,
  type PendingKind,
  type PendingMessage,
  type TenantQueue,
  toPending,
} from "./pending-index.ts";
import type { ClaimBatch, QueueQuery, QueueStore } from "./ports.ts";
import type { QuietGate } from "./quiet-gate.ts";
import { rotateAfter, roundRobin } from "./round-robin.ts";

/** The result of a claim. */
export type Claimed = {
  readonly messages: readonly Message[];
  /** More messages may wait; claim again at once. */
  readonly more: boolean;
};

/** Hands waiting messages to carriers. */
export type Claimer = {
  /** `call` identifies the carrier's call; the carrier later reports which calls have ended. */
  claim(connectorId: string, carrierId: string, max: number, call?: ClaimCall): Promise<Claimed>;
  /** Connectors with waiting messages, due or not. */
  waitingConnectors(): Promise<string[]>;
};

/** The most tenants that one claim scans, together or one by one; later claims scan the others. */
const TENANTS_PER_SCAN = 256;
const TENANTS_ONE_BY_ONE = 32;
/** The most reads of one priority class and kind. A further read replaces messages that other replicas have claimed. */
const ROUNDS_MAX = 4;
/** After a scan over many tenants hit its limit, scan tenant by tenant for this long. */
const SCAN_ONE_BY_ONE_MS = 1000;
const PRIORITIES: readonly PriorityClass[] = ["single", "bulk"];
const KINDS: readonly PendingKind[] = ["fresh", "putOff"];
const PUT_OFF_SHARE = 0.25;
/** A claim that meets quiet hours reads at least this many messages, and takes out those that quiet hours bind. */
const QUIET_STEP = 250;
/** The most items in one command, concurrent commands, and queued items of each batcher. */
const BATCHING = { batchMax: 32, concurrency: 4, queueMax: 4096 } as const;

export function createClaimer(options: {
  readonly store: QueueStore;
  readonly pending: PendingIndex;
  readonly quiet: Pick<QuietGate, "binds" | "isBusy" | "openSpanOf" | "takeOut">;
  readonly clock: Clock;
  /** Keeps messages back that must not be sent now; without it every message passes. */
  readonly checks?: ClaimChecks;
  /** Announces messages that stay in their queue until later. */
  readonly notify?: (messages: readonly Message[]) => void;
}): Claimer {
  const { store, pending, quiet, clock, checks = passAll, notify } = options;
  const lastClaims = new Map<string, Promise<unknown>>();
  const lastServed = new Map<string, string>();
  /** The fraction of a place, by connector, that put-off messages are still due. */
  const putOffShares = new Map<string, number>();
  const storeHeartbeat = createHeartbeats(store, clock);
  const oneByOneUntilMs = new Map<string, number>();
  // A write that failed in part can be repeated: it finds the messages that it has moved by the claim's id.
  const batching = { ...BATCHING, isTransient: isUnavailable };
  const reads = createBatcher<QueueQuery, Message[]>({
    name: "messages by id",
    flush: (queries) => store.findByIds(queries),
    ...batching,
  });
  const writes = createBatcher<ClaimBatch, Message[]>({
    name: "claims",
    flush: (batches) => store.claim(batches),
    ...batching,
  });

  async function claimAll(
    connectorId: string,
    carrierId: string,
    max: number,
    call: ClaimCall | undefined,
  ): Promise<Claimed> {
    await storeHeartbeat(carrierId);
    const claim: Claim = { id: claimIdOf(call, randomUUID()), carrierId, atMs: clock.now() };
    const reserved = await reservePutOff(connectorId, max);
    let room = max;
    let more = false;
    const chosen: (Chosen & { readonly priority: PriorityClass })[] = [];
    for (const kind of KINDS) {
      for (const priority of PRIORITIES) {
        const limit = kind === "fresh" ? room - reserved : room;
        if (limit <= 0) {
          const tenantIds = await pending.list(connectorId, priority);
          const nowMs = clock.now();
          more ||= tenantIds.some((tenantId) =>
            mayHaveDue({ connectorId, priority, tenantId }, kind, nowMs),
          );
          continue;
        }
        const some = await chooseOpen(connectorId, priority, kind, limit);
        more ||= some.more;
        room -= some.found.length;
        if (some.found.length > 0) chosen.push({ ...some, priority });
      }
    }
    const messages: Message[] = [];
    for (const priority of PRIORITIES) {
      const own = chosen.filter((one) => one.priority === priority);
      if (own.length === 0) continue;
      const all = own.flatMap((one) => one.found);
      const { passed: found, putOff } = await checks(all);
      if (found.length > 0) {
        const spanOf = quiet.openSpanOf;
        messages.push(...(await writes.add({ connectorId, priority, found, claim, spanOf })));
      }
      // Remove the entries after the write: when the write fails, the messages still wait.
      for (const { picks } of own) remove(picks);
      // Messages that the checks kept back leave places for others.
      more ||= found.length < all.length;
      if (putOff.length > 0) notify?.(putOff);
    }
    return { messages, more };
  }

  /** The places that due put-off messages get in a claim; fractions of a place add up over claims. */
  async function reservePutOff(connectorId: string, max: number): Promise<number> {
    let due = 0;
    for (const priority of PRIORITIES) {
      for (const tenantId of await pending.list(connectorId, priority)) {
        const place = { connectorId, priority, tenantId };
        due += pending.due(place, "putOff", clock.now(), max - due).length;
        if (due === max) break;
      }
    }
    if (due === 0) return 0;
    const share = (putOffShares.get(connectorId) ?? 0) + max * PUT_OFF_SHARE;
    const places = Math.min(due, Math.floor(share));
    putOffShares.set(connectorId, Math.min(1, share - places));
    return places;
  }

  /**
   * Chooses messages that quiet hours do not bind. When it meets a bound one, it starts to take many bound messages out
   * of the queue in the background, so that they delay neither this claim nor the messages behind them.
   */
  async function chooseOpen(
    connectorId: string,
    priority: PriorityClass,
    kind: PendingKind,
    room: number,
  ): Promise<Chosen> {
    const first = await chooseMessages(connectorId, priority, kind, room);
    if (!first.found.some(quiet.binds)) return first;
    if (quiet.isBusy) return { ...split(first).open, more: true };
    const many = await chooseMessages(connectorId, priority, kind, Math.max(room, QUIET_STEP));
    const { open, bound } = split(many);
    // A message that stays in the queue, because the write fails, is found by the next full rescan.
    quiet.takeOut(bound.found);
    remove(bound.picks);
    // Drop the open messages beyond `room`: they are not claimed and still wait.
    return { found: open.found.slice(0, room), picks: open.picks.slice(0, room), more: true };
  }

  /** Separates the messages that quiet hours bind. */
  function split(chosen: Chosen): { readonly open: Chosen; readonly bound: Chosen } {
    const open: Chosen = { found: [], picks: [], more: true };
    const bound: Chosen = { found: [], picks: [], more: true };
    chosen.found.forEach((message, at) => {
      const one = quiet.binds(message) ? bound : open;
      one.found.push(message);
      one.picks.push(chosen.picks[at] as Choice);
    });
    return { open, bound };
  }

  /** Chooses due messages of a queue by round robin over tenants, each tenant's oldest first. */
  async function chooseMessages(
    connectorId: string,
    priority: PriorityClass,
    kind: PendingKind,
    room: number,
  ): Promise<Chosen> {
    const all = await pending.list(connectorId, priority);
    const name = `${queueName(connectorId, priority)}|${kind}`;
    const nowMs = clock.now();
    const { places, hasOthers } = choosePlaces(
      { connectorId, priority },
      kind,
      rotateAfter(all, lastServed.get(name)),
      Math.min(TENANTS_PER_SCAN, room),
      nowMs,
    );
    const loaded = await scanForUnknown(kind === "fresh" ? places : [], room, nowMs);
    // Offer every place to each tenant, so that long queues use the places that short ones leave. One message beyond
    // the places shows whether more wait.
    let queues = places.map((place) =>
      pending.due(place, kind, nowMs, room + 1).map((message): Choice => ({ place, message })),
    );
    const chosen: Chosen = { found: [], picks: [], more: false };
    for (let round = 0; round < ROUNDS_MAX && chosen.found.length < room; round += 1) {
      const { messages: picks, last } = roundRobin(queues, room - chosen.found.length);
      if (last === undefined) break;
      lastServed.set(name, places[last]?.tenantId as string);
      const picked = new Set(picks);
      queues = queues.map((queue) => queue.filter((pick) => !picked.has(pick)));
      await read(chosen, picks, loaded, nowMs);
    }
    // Advance the round robin past tenants with nothing due; otherwise later tenants starve.
    const last = places.at(-1);
    if (chosen.found.length === 0 && last !== undefined) lastServed.set(name, last.tenantId);
    chosen.more =
      hasOthers ||
      queues.some((queue) => queue.length > 0) ||
      // A scan is limited; while it finds messages, more may follow.
      (kind === "fresh" && chosen.found.length > 0 && places.some(pending.hasUnknown));
    return chosen;
  }

  /**
   * The first `max` of these tenants that may have due messages. Skips tenants whose messages are all deferred, so
   * that they take no place from others.
   */
  function choosePlaces(
    queue: Omit<TenantQueue, "tenantId">,
    kind: PendingKind,
    inTurn: readonly string[],
    max: number,
    nowMs: number,
  ): { readonly places: readonly TenantQueue[]; readonly hasOthers: boolean } {
    const places: TenantQueue[] = [];
    for (const tenantId of inTurn) {
      const place = { ...queue, tenantId };
      if (!mayHaveDue(place, kind, nowMs)) continue;
      if (places.length === max) return { places, hasOthers: true };
      places.push(place);
    }
    return { places, hasOthers: false };
  }

  /** Whether a tenant may have due messages of a kind. Only the pass over fresh messages scans for unknown ones. */
  function mayHaveDue(place: TenantQueue, kind: PendingKind, nowMs: number): boolean {
    if (kind === "fresh" && pending.hasUnknown(place)) return true;
    return pending.due(place, kind, nowMs, 1).length > 0;
  }

  /** Reads the picked messages, and removes ids whose messages no longer wait. */
  async function read(
    chosen: Chosen,
    picks: readonly Choice[],
    loaded: ReadonlyMap<string, Message>,
    nowMs: number,
  ): Promise<void> {
    const [first] = picks;
    if (first === undefined) return;
    const { connectorId, priority } = first.place;
    const missing = picks.flatMap(({ message: { messageId } }) =>
      loaded.has(messageId) ? [] : [messageId],
    );
    const found =
      missing.length === 0 ? [] : await reads.add({ connectorId, priority, ids: missing, nowMs });
    const byId = new Map(found.map((message) => [message.id, message]));
    const gone: Choice[] = [];
    for (const pick of picks) {
      const { messageId } = pick.message;
      const message = loaded.get(messageId) ?? byId.get(messageId);
      if (message === undefined) gone.push(pick);
      else {
        chosen.found.push(message);
        chosen.picks.push(pick);
      }
    }
    remove(gone);
  }

  function remove(picks: readonly Choice[]): void {
    for (const [place, own] of Map.groupBy(picks, (pick) => pick.place)) {
      pending.remove(
        place,
        own.map(({ message }) => message),
      );
    }
  }

  /** Scans for messages with unknown ids where needed; returns the messages that it read. */
  async function scanForUnknown(
    places: readonly TenantQueue[],
    room: number,
    nowMs: number,
  ): Promise<ReadonlyMap<string, Message>> {
    const share = shareOf(room, places.length);
    const unscanned = places.filter((place) => pending.needsScan(place, nowMs, share));
    const found =
      unscanned.length === 0
        ? []
        : ((await scanTogether(unscanned, room, nowMs)) ??
          (await scanOneByOne(unscanned, room, nowMs)));
    return new Map(found.map((message) => [message.id, message]));
  }

  /** Scans many queues at once; undefined when their messages exceed the limit, or did in the last second. */
  async function scanTogether(
    places: readonly TenantQueue[],
    room: number,
    nowMs: number,
  ): Promise<readonly Message[] | undefined> {
    const [first] = places;
    if (first === undefined || places.length < 2) return undefined;
    const { connectorId, priority } = first;
    const name = queueName(connectorId, priority);
    if (nowMs < (oneByOneUntilMs.get(name) ?? 0)) return undefined;
    const limit = 2 * room;
    const fromId = pending.startScan(places, nowMs);
    const tenantIds = places.map(({ tenantId }) => tenantId);
    const scan = { tenantIds, fromId, nowMs, limit: limit + 1 };
    const found = await store.findWaiting(connectorId, priority, scan);
    if (found.length > limit) {
      oneByOneUntilMs.set(name, nowMs + SCAN_ONE_BY_ONE_MS);
      return undefined;
    }
    const byTenant = Map.groupBy(found, ({ tenantId }) => tenantId);
    for (const place of places) {
      const own = byTenant.get(place.tenantId) ?? [];
      pending.endScan(place, own.map(toPending), true);
    }
    return found;
  }

  /** Scans the heads of some tenants' queues, one query each. */
  async function scanOneByOne(
    places: readonly TenantQueue[],
    room: number,
    nowMs: number,
  ): Promise<readonly Message[]> {
    const some = places.slice(0, TENANTS_ONE_BY_ONE);
    const share = shareOf(room, some.length);
    const scans = some.map(async (place) => {
      const { connectorId, priority, tenantId } = place;
      const fromId = pending.startScan([place], nowMs);
      const scan = { tenantIds: [tenantId], fromId, nowMs, limit: share + 1 };
      const found = await store.findWaiting(connectorId, priority, scan);
      const isAll = found.length <= share;
      // Put-off messages may fill the scan. Scan for fresh ones alone too, so that they do not wait behind them.
      const isCrowded = !isAll && found.some(({ notBeforeMs }) => notBeforeMs > 0);
      const fresh = isCrowded
        ? await store.findWaiting(connectorId, priority, { ...scan, isFresh: true })
        : [];
      pending.endScan(place, found.map(toPending), isAll, fresh.map(toPending));
      return [...found, ...fresh];
    });
    return (await Promise.all(scans)).flat();
  }

  return {
    async waitingConnectors() {
      return (await pending.connectors()).filter((connectorId) => connectorId !== UNROUTED);
    },
    claim(connectorId, carrierId, max, call) {
      checkClaim(connectorId, carrierId, max);
      const before = lastClaims.get(connectorId) ?? Promise.resolve();
      const claimed = before.then(() =>
        claimAll(connectorId, carrierId, Math.min(max, CLAIM_MAX), call),
      );
      lastClaims.set(
        connectorId,
        claimed.catch(() => undefined),
      );
      return claimed;
    },
  };
}

/** A pending message and its queue. */
type Choice = { readonly place: TenantQueue; readonly message: PendingMessage };

/** The messages to be claimed, and their entries in the pending index. */
type Chosen = { readonly found: Message[]; readonly picks: Choice[]; more: boolean };

/** The messages to read per tenant: twice the equal share, so that long queues use the places that short ones leave. */
function shareOf(room: number, tenants: number): number {
  return tenants === 1 ? room : Math.ceil((2 * room) / tenants);
}
