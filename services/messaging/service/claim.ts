/**
 * Claiming: the single lane before the bulk lane, and tenants by turn within each. Claims of one
 * connector run one after another in this process; between processes the guard of the write
 * decides, so a message is never claimed twice.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { type ClaimCall, claimIdOf } from "../domain/claim-calls.ts";
import type { Claim, Lane, Message } from "../domain/message.ts";
import { queueName } from "../domain/queueing.ts";
import type { QueueStore } from "./ports.ts";
import type { WaitingTenants } from "./waiting-tenants.ts";

/** What a claim brought. */
export type Claimed = {
  readonly messages: readonly Message[];
  /** More were waiting than were claimed. */
  readonly more: boolean;
};

/** Hands waiting messages to carriers. */
export type Claimer = {
  /** `call` names the carrier's call, so that it can later say that it has ended. */
  claim(connectorId: string, carrierId: string, max: number, call?: ClaimCall): Promise<Claimed>;
  /** Connectors at which anything waits, due or not. */
  waitingConnectors(): Promise<string[]>;
};

const CLAIM_MAX = 1000;
/** Tenants looked at in one claim, with one look or one by one; the others have their turn later. */
const TENANTS_AT_A_LOOK = 256;
const TENANTS_ONE_BY_ONE = 32;
/** After a look that could not see all queues to their end, they are looked at one by one this long. */
const CROWDED_MS = 1000;
/** A beat no older than this proves that a claiming carrier is alive. */
const BEAT_EVERY_MS = 5000;
const LANES: readonly Lane[] = ["single", "bulk"];

/** Makes the claimer. */
export function createClaimer(options: {
  readonly store: QueueStore;
  readonly tenants: WaitingTenants;
  readonly clock: Clock;
}): Claimer {
  const { store, tenants, clock } = options;
  const lines = new Map<string, Promise<unknown>>();
  const lastServed = new Map<string, string>();
  const beats = new Map<string, number>();
  const crowdedUntilMs = new Map<string, number>();

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
    for (const lane of LANES) {
      const room = max - messages.length;
      if (room === 0) {
        more ||= (await tenants.list(connectorId, lane)).length > 0;
        continue;
      }
      const found = await findByTurn(connectorId, lane, room);
      more ||= found.more;
      if (found.messages.length === 0) continue;
      messages.push(...(await store.claim(connectorId, lane, found.messages, claim)));
    }
    return { messages, more };
  }

  /** Messages of a lane, so many of each tenant that all get their share; first come, first. */
  async function findByTurn(connectorId: string, lane: Lane, room: number): Promise<Claimed> {
    const all = await tenants.list(connectorId, lane);
    if (all.length === 0) return { messages: [], more: false };
    const name = queueName(connectorId, lane);
    const rotated = rotate(all, lastServed.get(name));
    const { order, queues } =
      (await lookAtAll(connectorId, lane, rotated, room)) ??
      (await lookAtEach(connectorId, lane, rotated, room));
    queues.forEach((queue, at) => {
      tenants.seen(connectorId, lane, order[at] as string, queue[0]?.id);
    });
    const { messages, last } = takeByTurn(queues, room);
    if (last !== undefined) lastServed.set(name, order[last] as string);
    const found = queues.reduce((sum, queue) => sum + queue.length, 0);
    return { messages, more: found > messages.length || all.length > order.length };
  }

  /** The queues of many tenants at one look; undefined when they are too long for it, or were. */
  async function lookAtAll(
    connectorId: string,
    lane: Lane,
    tenantIds: readonly string[],
    room: number,
  ): Promise<Queues | undefined> {
    const order = tenantIds.slice(0, Math.min(TENANTS_AT_A_LOOK, room));
    const name = queueName(connectorId, lane);
    const nowMs = clock.now();
    if (order.length < 2 || nowMs < (crowdedUntilMs.get(name) ?? 0)) return undefined;
    const limit = 2 * room;
    const fromId = tenants.lookFrom(connectorId, lane, order, nowMs);
    const look = { tenantIds: order, fromId, nowMs, limit: limit + 1 };
    const found = await store.findWaiting(connectorId, lane, look);
    if (found.length > limit) {
      crowdedUntilMs.set(name, nowMs + CROWDED_MS);
      return undefined;
    }
    const byTenant = Map.groupBy(found, ({ tenantId }) => tenantId);
    return { order, queues: order.map((tenantId) => byTenant.get(tenantId) ?? []) };
  }

  /** The heads of some tenants' queues, each by a look of its own. */
  async function lookAtEach(
    connectorId: string,
    lane: Lane,
    tenantIds: readonly string[],
    room: number,
  ): Promise<Queues> {
    const order = tenantIds.slice(0, Math.min(TENANTS_ONE_BY_ONE, room));
    // Twice the even share, so that short queues leave their room to long ones.
    const share = order.length === 1 ? room : Math.ceil((2 * room) / order.length);
    const nowMs = clock.now();
    const looks = order.map((tenantId) => {
      const tenantIds = [tenantId];
      const fromId = tenants.lookFrom(connectorId, lane, tenantIds, nowMs);
      return store.findWaiting(connectorId, lane, { tenantIds, fromId, nowMs, limit: share + 1 });
    });
    return { order, queues: await Promise.all(looks) };
  }

  /** A carrier that claims is alive, and must be known before anything is in its hands. */
  async function noteAlive(carrierId: string): Promise<void> {
    const nowMs = clock.now();
    if (nowMs - (beats.get(carrierId) ?? 0) < BEAT_EVERY_MS) return;
    await store.beat(carrierId, nowMs);
    beats.set(carrierId, nowMs);
  }

  return {
    waitingConnectors: () => tenants.connectors(),
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

/** Tenants in the order of their turns, and what of each one's queue was seen. */
type Queues = {
  readonly order: readonly string[];
  readonly queues: readonly (readonly Message[])[];
};

const CONNECTOR_NAME = /^[a-z0-9-]{1,64}$/;
const CARRIER_NAME = /^[A-Za-z0-9._:-]{1,128}$/;

function checkNames(connectorId: string, carrierId: string, max: number): void {
  if (CONNECTOR_NAME.test(connectorId) && CARRIER_NAME.test(carrierId) && max > 0) return;
  throw new AppError("validation_error", "A claim names its connector, its carrier and how many.");
}

/** The tenants after the one served last, then the others, in a stable order. */
function rotate(tenantIds: readonly string[], last: string | undefined): string[] {
  const sorted = [...tenantIds].sort();
  const at = last === undefined ? 0 : sorted.findIndex((tenantId) => tenantId > last);
  return at <= 0 ? sorted : [...sorted.slice(at), ...sorted.slice(0, at)];
}

/** Takes one of each queue in turn until `max`; answers whose turn was last. */
export function takeByTurn<T>(
  queues: readonly (readonly T[])[],
  max: number,
): { messages: T[]; last: number | undefined } {
  const messages: T[] = [];
  let last: number | undefined;
  for (let round = 0; messages.length < max; round += 1) {
    const before = messages.length;
    for (let at = 0; at < queues.length && messages.length < max; at += 1) {
      const message = queues[at]?.[round];
      if (message === undefined) continue;
      messages.push(message);
      last = at;
    }
    if (messages.length === before) break;
  }
  return { messages, last };
}
