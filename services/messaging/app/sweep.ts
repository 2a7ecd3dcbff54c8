/**
 * Work caused by time alone. It needs no leader: each change is guarded, so any number of replicas may sweep at
 * once, and the second one finds nothing to change.
 */
import type { Clock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { AvailabilityOf } from "../domain/choose-route.ts";
import type { Timeouts } from "../domain/queue-transitions.ts";
import type { SendingRights } from "../domain/sending-rights.ts";
import { applyTimeout } from "../domain/timeouts.ts";
import { findOptOuts } from "./opt-outs.ts";
import type { DueMessage, MessageStore, SendStore, ServiceClients } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

/** The sweeps; each returns whether more work is due now. */
export type Sweeps = {
  /** Ends the states whose time has passed. */
  due(): Promise<boolean>;
  /** Deletes messages and records past their retention time. */
  retention(): Promise<boolean>;
  /** Deletes test messages past their own, shorter retention time. */
  testRetention(): Promise<boolean>;
};

/**
 * Due messages of one page. Many, so that messages due at one instant are not delayed by the outcomes and receipts of
 * the first of them.
 */
const DUE_PAGE = 5000;
/** Statuses whose end needs no call to another service. */
const NOT_SCHEDULED: readonly MessageStatus[] = ["queued", "sent"];
/** Keys are deleted this long after they expire, in order of creation. */
const KEY_SLACK_MS = 3_600_000;
const NO_RIGHTS_NEEDED: SendingRights = {
  tenantMaySend: true,
  senderIsUsable: true,
  recipientAllows: true,
};

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
  readonly testKeepMs: number;
  readonly idempotencyMs: number;
}): Sweeps {
  const { store, sends, changes, services, clock, timeouts, availabilityOf, log } = options;

  /** The last unexpected error of a page; one log line per page. */
  let fault: unknown;

  /** Whether a scheduled message may still be sent; undefined while that is unknown. */
  async function rightsOf(message: DueMessage): Promise<SendingRights | undefined> {
    if (message.status !== "scheduled") return NO_RIGHTS_NEEDED;
    try {
      const tenant = await services.tenant(message.tenantId);
      const sender = await services.usableSender(message.tenantId, message.from);
      const { tenantId, from, to, trafficClass } = message;
      const query = { tenantId, sender: from, trafficClass, numbers: [to] };
      const isOptedOut = await findOptOuts(services, query);
      return {
        tenantMaySend: tenant !== undefined && !tenant.suspended,
        senderIsUsable: sender !== undefined,
        recipientAllows: !isOptedOut(to),
      };
    } catch (error) {
      // One faulty message must not block the others.
      if (!isUnavailable(error)) fault = error;
      return undefined;
    }
  }

  async function end(message: DueMessage): Promise<boolean> {
    const rights = await rightsOf(message);
    // The message stays due; the next sweep tries again.
    if (rights === undefined) return false;
    try {
      await changes.change(message.id, (current, nowMs) =>
        applyTimeout(current, nowMs, timeouts, rights, availabilityOf, services.quietHours()),
      );
      return true;
    } catch (error) {
      // The message stays due. An outage ends the sweep; any other error concerns this message alone.
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
      // Scheduled messages whose tenant or sender ID is unknown now must not hide the rest.
      const others = await store.findDue(nowMs, DUE_PAGE, NOT_SCHEDULED);
      const othersEnded = await Promise.all(others.map(end));
      return others.length === DUE_PAGE && othersEnded.includes(true);
    },
    async retention() {
      const nowMs = clock.now();
      const keys = await sends.deleteExpired(nowMs, options.idempotencyMs + KEY_SLACK_MS);
      const messages = await store.deleteBefore(nowMs - options.keepMs);
      if (keys + messages > 0) log.info({ keys, messages }, "deleted expired keys and messages");
      return keys > 0 || messages > 0;
    },
    async testRetention() {
      const deleted = await store.deleteTestBefore(clock.now() - options.testKeepMs);
      if (deleted > 0) log.info({ deleted }, "deleted expired test messages");
      return deleted > 0;
    },
  };
}
