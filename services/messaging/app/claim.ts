/**
 * Claiming: the single lane before the bulk lane, and tenants by turn within each. Claims of one
 * connector run one after another in this process; between processes the guard of the write
 * decides, so a message is never claimed twice. Claims of several connectors that read or write at
 * the same moment share the command.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import { createBatcher } from "../../shared/flow/batcher.ts";
import { UNROUTED } from "../domain/choose-route.ts";
import { type ClaimCall, claimIdOf } from "../domain/claim-epoch.ts";
import { CLAIM_MAX } from "../domain/fair-share.ts";
import type { Claim, Message, PriorityClass } from "../domain/message.ts";
import { queueName } from "../domain/queue-transitions.ts";
import type { PendingIndex, PendingMessage, Place } from "./pending-index.ts";
import type { ClaimBatch, QueueQuery, QueueStore } from "./ports.ts";
import { rotateAfter, roundRobin } from "./round-robin.ts";

/** What a claim brought. */
export type Claimed = {
  readonly messages: readonly Message[];
  /** More are waiting than were claimed, or may be: it is worth asking again at once. */
  readonly more: boolean;
};

/** Hands waiting messages to carriers. */
export type Claimer = {
  /** `call` names the carrier's call, so that it can later say that it has ended. */
  claim(connectorId: string, carrierId: string, max: number, call?: ClaimCall): Promise<Claimed>;
  /** Connectors at which anything waits, due or not. */
  waitingConnectors(): Promise<string[]>;
};

/** Tenants looked at in one claim, with one look or one by one; the others have their turn later. */
const TENANTS_AT_A_LOOK = 256;
const TENANTS_ONE_BY_ONE = 32;
/** Times that a claim asks again because names were of messages that other replicas have claimed. */
const ROUNDS_MAX = 4;
/** After a look that could not see all queues to their end, they are looked at one by one this long. */
const CROWDED_MS = 1000;
/** A beat no older than this proves that a claiming carrier is alive. */
const BEAT_EVERY_MS = 5000;
const PRIORITIES: readonly PriorityClass[] = ["single", "bulk"];
/** Connectors' claims that share a command, commands at once, and claims that may wait for one. */
const TOGETHER = { batchMax: 32, concurrency: 4, queueMax: 4096 } as const;

/** Makes the claimer. */
export function createClaimer(options: {
  readonly store: QueueStore;
  readonly pending: PendingIndex;
  readonly clock: Clock;
}): Claimer {
  const { store, pending, clock } = options;
  const lines = new Map<string, Promise<unknown>>();
  const lastServed = new Map<string, string>();
  const beats = new Map<string, number>();
  const crowdedUntilMs = new Map<string, number>();
  // A write that failed in part may be tried again: what a claim has moved, it finds by its id.
  const together = { ...TOGETHER, isTransient: isUnavailable };
  const reads = createBatcher<QueueQuery, Message[]>({
    name: "messages by name",
    flush: (looks) => store.findByIds(looks),
    ...together,
  });
  const writes = createBatcher<ClaimBatch, Message[]>({
    name: "claims",
    flush: (takings) => store.claim(takings),
    ...together,
  });

  async function claimAll(
    connectorId: string,
    carrierId: string,
    max: number,
    call: ClaimCall | undefined,
  ): Promise<Claimed> {
    await noteAlive(carrierId);
    const claim: Claim = { id: claimIdOf(call, randomUUID()), carrierId, atMs: clock.now() };
    const messages: Message[] = [];
    let more = false;
    for (const priority of PRIORITIES) {
      const room = max - messages.length;
      if (room === 0) {
        more ||= (await pending.list(connectorId, priority)).length > 0;
        continue;
      }
      const turn = await findByTurn(connectorId, priority, room);
      more ||= turn.more;
      if (turn.found.length === 0) continue;
      const taking = { connectorId, priority, found: turn.found, claim };
      messages.push(...(await writes.add(taking)));
      // Only now: had the claim failed, they would still wait.
      forget(turn.picks);
    }
    return { messages, more };
  }

  /** Messages of a lane, so many of each tenant that all get their share; first come, first. */
  async function findByTurn(
    connectorId: string,
    priority: PriorityClass,
    room: number,
  ): Promise<Turn> {
    const all = await pending.list(connectorId, priority);
    const name = queueName(connectorId, priority);
    const nowMs = clock.now();
    const { places, hasOthers } = choosePlaces(
      { connectorId, priority },
      rotateAfter(all, lastServed.get(name)),
      Math.min(TENANTS_AT_A_LOOK, room),
      nowMs,
    );
    const loaded = await lookForUnnamed(places, room, nowMs);
    // The whole room of each, so that short queues leave theirs to long ones; one beyond tells of more.
    let queues = places.map((place) =>
      pending.named(place, nowMs, room + 1).map((arrival): Choice => ({ place, arrival })),
    );
    const turn: Turn = { found: [], picks: [], more: false };
    for (let round = 0; round < ROUNDS_MAX && turn.found.length < room; round += 1) {
      const { messages: picks, last } = roundRobin(queues, room - turn.found.length);
      if (last === undefined) break;
      lastServed.set(name, places[last]?.tenantId as string);
      const picked = new Set(picks);
      queues = queues.map((queue) => queue.filter((pick) => !picked.has(pick)));
      await read(turn, picks, loaded, nowMs);
    }
    // Whoever turned out to have nothing now has had a turn, or nobody behind would ever have one.
    const seen = places.at(-1);
    if (turn.found.length === 0 && seen !== undefined) lastServed.set(name, seen.tenantId);
    turn.more =
      hasOthers ||
      queues.some((queue) => queue.length > 0) ||
      // One look does not find everything; while it finds something, there may be more behind it.
      (turn.found.length > 0 && places.some(pending.hasUnknown));
    return turn;
  }

  /**
   * Places of the first of these tenants that may have something now, so many at most. Those whose
   * messages are all put off are passed over: their places are for others.
   */
  function choosePlaces(
    queue: Omit<Place, "tenantId">,
    inTurn: readonly string[],
    max: number,
    nowMs: number,
  ): { readonly places: readonly Place[]; readonly hasOthers: boolean } {
    const places: Place[] = [];
    for (const tenantId of inTurn) {
      const place = { ...queue, tenantId };
      if (!pending.hasUnknown(place) && pending.named(place, nowMs, 1).length === 0) continue;
      if (places.length === max) return { places, hasOthers: true };
      places.push(place);
    }
    return { places, hasOthers: false };
  }

  /** Reads what was picked; a name whose message is not there any more is forgotten. */
  async function read(
    turn: Turn,
    picks: readonly Choice[],
    loaded: ReadonlyMap<string, Message>,
    nowMs: number,
  ): Promise<void> {
    const [first] = picks;
    if (first === undefined) return;
    const { connectorId, priority } = first.place;
    const missing = picks.flatMap(({ arrival: { messageId } }) =>
      loaded.has(messageId) ? [] : [messageId],
    );
    const found =
      missing.length === 0 ? [] : await reads.add({ connectorId, priority, ids: missing, nowMs });
    const byId = new Map(found.map((message) => [message.id, message]));
    const gone: Choice[] = [];
    for (const pick of picks) {
      const { messageId } = pick.arrival;
      const message = loaded.get(messageId) ?? byId.get(messageId);
      if (message === undefined) gone.push(pick);
      else {
        turn.found.push(message);
        turn.picks.push(pick);
      }
    }
    forget(gone);
  }

  function forget(picks: readonly Choice[]): void {
    for (const [place, own] of Map.groupBy(picks, (pick) => pick.place)) {
      pending.forget(
        place,
        own.map(({ arrival }) => arrival),
      );
    }
  }

  /** Names what has no name yet, where that is called for; answers the messages that were read. */
  async function lookForUnnamed(
    places: readonly Place[],
    room: number,
    nowMs: number,
  ): Promise<ReadonlyMap<string, Message>> {
    const share = shareOf(room, places.length);
    const blind = places.filter((place) => pending.needsScan(place, nowMs, share));
    const found =
      blind.length === 0
        ? []
        : ((await lookAtAll(blind, room, nowMs)) ?? (await lookAtEach(blind, room, nowMs)));
    return new Map(found.map((message) => [message.id, message]));
  }

  /** The queues of many tenants at one look; undefined when they are too long for it, or were. */
  async function lookAtAll(
    places: readonly Place[],
    room: number,
    nowMs: number,
  ): Promise<readonly Message[] | undefined> {
    const [first] = places;
    if (first === undefined || places.length < 2) return undefined;
    const { connectorId, priority } = first;
    const name = queueName(connectorId, priority);
    if (nowMs < (crowdedUntilMs.get(name) ?? 0)) return undefined;
    const limit = 2 * room;
    const fromId = pending.startScan(places, nowMs);
    const tenantIds = places.map(({ tenantId }) => tenantId);
    const look = { tenantIds, fromId, nowMs, limit: limit + 1 };
    const found = await store.findWaiting(connectorId, priority, look);
    if (found.length > limit) {
      crowdedUntilMs.set(name, nowMs + CROWDED_MS);
      return undefined;
    }
    const byTenant = Map.groupBy(found, ({ tenantId }) => tenantId);
    for (const place of places) {
      const own = byTenant.get(place.tenantId) ?? [];
      pending.endScan(
        place,
        own.map(({ id }) => id),
        true,
      );
    }
    return found;
  }

  /** The heads of some tenants' queues, each by a look of its own. */
  async function lookAtEach(
    places: readonly Place[],
    room: number,
    nowMs: number,
  ): Promise<readonly Message[]> {
    const some = places.slice(0, TENANTS_ONE_BY_ONE);
    const share = shareOf(room, some.length);
    const looks = some.map(async (place) => {
      const { connectorId, priority, tenantId } = place;
      const fromId = pending.startScan([place], nowMs);
      const look = { tenantIds: [tenantId], fromId, nowMs, limit: share + 1 };
      const found = await store.findWaiting(connectorId, priority, look);
      pending.endScan(
        place,
        found.map(({ id }) => id),
        found.length <= share,
      );
      return found;
    });
    return (await Promise.all(looks)).flat();
  }

  /** A carrier that claims is alive, and must be known before anything is in its hands. */
  async function noteAlive(carrierId: string): Promise<void> {
    const nowMs = clock.now();
    if (nowMs - (beats.get(carrierId) ?? 0) < BEAT_EVERY_MS) return;
    await store.beat(carrierId, nowMs);
    beats.set(carrierId, nowMs);
  }

  return {
    async waitingConnectors() {
      return (await pending.connectors()).filter((connectorId) => connectorId !== UNROUTED);
    },
    claim(connectorId, carrierId, max, call) {
      checkNames(connectorId, carrierId, max);
      const before = lines.get(connectorId) ?? Promise.resolve();
      const claimed = before.then(() =>
        claimAll(connectorId, carrierId, Math.min(max, CLAIM_MAX), call),
      );
      lines.set(
        connectorId,
        claimed.catch(() => undefined),
      );
      return claimed;
    },
  };
}

/** A message by name, and whose it is. */
type Choice = { readonly place: Place; readonly arrival: PendingMessage };

/** What a lane's turn brought: the messages to be claimed, and the names they go by. */
type Turn = { readonly found: Message[]; readonly picks: Choice[]; more: boolean };

/** Twice the even share, so that short queues leave their room to long ones. */
function shareOf(room: number, tenants: number): number {
  return tenants === 1 ? room : Math.ceil((2 * room) / tenants);
}

const CONNECTOR_NAME = /^[a-z0-9-]{1,64}$/;
const CARRIER_NAME = /^[A-Za-z0-9._:-]{1,128}$/;

function checkNames(connectorId: string, carrierId: string, max: number): void {
  if (!CONNECTOR_NAME.test(connectorId)) {
    throw invalidField("connector_id", "invalid_format", "is no connector's name");
  }
  checkCarrierName(carrierId);
  if (max <= 0) throw invalidField("max", "out_of_range", "must be at least 1");
}

/** Throws `validation_error` for what cannot be a carrier's name. */
export function checkCarrierName(carrierId: string): void {
  if (CARRIER_NAME.test(carrierId)) return;
  throw invalidField("carrier_id", "invalid_format", "is no carrier's name");
}
