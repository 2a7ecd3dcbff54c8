/**
 * The work that time alone causes. No sweeper needs a leader: each change is guarded, so any
 * number of replicas may sweep at once, and the second to come changes nothing.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import type { Timeouts } from "../domain/queue-transitions.ts";
import type { SendingRights } from "../domain/schedule.ts";
import { applyTimeout } from "../domain/timeouts.ts";
import type { DueMessage, MessageStore, SendStore, ServiceClients } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

/** The sweeps; each answers whether more is to be done at once. */
export type Sweeps = {
  /** Ends the states whose time has come. */
  due(): Promise<boolean>;
  /** Deletes what is past its keeping time. */
  retention(): Promise<boolean>;
};

/**
 * What is due at one instant goes through the changes ahead of the outcomes and receipts that its
 * first messages cause, which would otherwise take their turns between the pages.
 */
const DUE_PAGE = 5000;
/** States with a time to end that ask no neighbour. */
const NOT_SCHEDULED: readonly MessageStatus[] = ["queued", "sent"];
/** Keys are deleted this long after they have ended, by a walk in order of their making. */
const KEY_SLACK_MS = 3_600_000;
const NO_RIGHTS_NEEDED: SendingRights = { tenantMaySend: true, senderIsUsable: true };

/** Makes them. */
export function createSweeps(options: {
  readonly store: MessageStore;
  readonly sends: SendStore;
  readonly changes: Changes;
  readonly services: ServiceClients;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeouts: Timeouts;
  readonly availabilityOf: AvailabilityOf;
  readonly keepMs: number;
  readonly idempotencyMs: number;
}): Sweeps {
  const { store, sends, changes, services, clock, timeouts, availabilityOf, log } = options;

  /** The last of a page's unexpected faults, which are told once however many there are. */
  let fault: unknown;

  /** Whether a scheduled message may still be sent; undefined while that cannot be told. */
  async function rightsOf(message: DueMessage): Promise<SendingRights | undefined> {
    if (message.status !== "scheduled") return NO_RIGHTS_NEEDED;
    try {
      const tenant = await services.tenant(message.tenantId);
      const sender = await services.usableSender(message.tenantId, message.from);
      return {
        tenantMaySend: tenant !== undefined && !tenant.suspended,
        senderIsUsable: sender !== undefined,
      };
    } catch (error) {
      // Whatever went wrong with one of them must not keep the others from their ends.
      if (!isUnavailable(error)) fault = error;
      return undefined;
    }
  }

  async function end(message: DueMessage): Promise<boolean> {
    const rights = await rightsOf(message);
    // Nobody to ask: the message stays due, and the next sweep asks again.
    if (rights === undefined) return false;
    try {
      await changes.change(message.id, (current, nowMs) =>
        applyTimeout(current, nowMs, timeouts, rights, availabilityOf),
      );
      return true;
    } catch (error) {
      // It stays due. In an outage the whole sweep waits; what is wrong with one keeps no other.
      if (isUnavailable(error)) throw error;
      fault = error;
      return false;
    }
  }

  return {
    async due() {
      const nowMs = clock.now();
      const due = await store.findDue(nowMs, DUE_PAGE);
      fault = undefined;
      const ended = await Promise.all(due.map(end));
      if (fault !== undefined) log.warn({ error: fault }, "some due messages stay due");
      if (due.length < DUE_PAGE) return false;
      if (ended.includes(true)) return true;
      // A page of scheduled messages whose tenants or senders cannot be asked now must not hide the rest.
      const others = await store.findDue(nowMs, DUE_PAGE, NOT_SCHEDULED);
      const othersEnded = await Promise.all(others.map(end));
      return others.length === DUE_PAGE && othersEnded.includes(true);
    },
    async retention() {
      const nowMs = clock.now();
      const keys = await sends.deleteExpired(nowMs, options.idempotencyMs + KEY_SLACK_MS);
      const messages = await store.deleteBefore(nowMs - options.keepMs);
      if (keys + messages > 0) log.info({ keys, messages }, "deleted what is past its time");
      return keys > 0 || messages > 0;
    },
  };
}
