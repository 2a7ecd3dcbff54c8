/**
 * Quiet hours of queued messages. A claim that meets messages in their quiet hours takes them out of their queue; a
 * background loop puts them back when their quiet hours have ended, a limited number at a time. So the queues hold only
 * messages that may be submitted, and the outcomes of other messages are written between two steps.
 */
import { type Clock, steadyClock } from "../../shared/core/clock.ts";
import { isUnavailable } from "../../shared/core/errors.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { pause } from "../../shared/flow/backoff.ts";
import type { Message, OpenSpan } from "../domain/message.ts";
import type { Timeouts } from "../domain/queue-transitions.ts";
import {
  enterQuietHours,
  isQuietAt,
  leaveQuietHours,
  openSpan,
  type QuietHours,
} from "../domain/quiet-hours.ts";
import type { SendingRights } from "../domain/sending-rights.ts";
import { findOptOuts } from "./opt-outs.ts";
import type { DueMessage, MessageStore, ServiceClients } from "./ports.ts";
import type { Changes } from "./update-messages.ts";

export type QuietGate = {
  /** True if quiet hours bind the message now. */
  binds(message: Message): boolean;
  /** The span in which a message may be submitted; undefined when it always may. */
  openSpanOf(message: Message): OpenSpan | undefined;
  /** True while the maximum of concurrent `takeOut` steps run. */
  readonly isBusy: boolean;
  /**
   * Begins to take waiting messages out of their queues if quiet hours bind them; fails those that must not wait. A
   * message whose write fails stays where it is.
   */
  takeOut(messages: readonly Message[]): void;
  /** Puts messages back whose quiet hours have ended; returns whether more are due now. */
  release(): Promise<boolean>;
};

/** The most messages of one release step. The connectors claim fewer in the time of a step. */
const RELEASE_MAX = 250;
const RELEASE_PAUSE_MAX_MS = 1000;
/** The maximum number of concurrent steps that take messages out of their queues. */
const STEPS_MAX = 2;

export function createQuietGate(options: {
  readonly store: Pick<MessageStore, "findQuiet" | "endQuietAt">;
  readonly changes: Changes;
  readonly services: ServiceClients;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeouts: Timeouts;
}): QuietGate {
  const { store, changes, services, clock, timeouts, log } = options;
  let running = 0;
  /** The rules by which the waiting messages were last checked; undefined before they are first known. */
  let checkedWith: QuietHours | undefined;

  /** After a change of the rules, checks the waiting messages again: their quiet hours may end earlier now. */
  async function followRules(): Promise<void> {
    const current = services.quietHours();
    if (current.isUnknown === true || current === checkedWith) return;
    if (checkedWith !== undefined) await store.endQuietAt(clock.now());
    checkedWith = current;
  }

  /**
   * Lets the next step check the messages again if the rules have changed since `quietHours`: a write decided by these
   * old rules may come after the check by the new rules.
   */
  function noteDecidedBy(quietHours: QuietHours): void {
    if (checkedWith !== undefined && quietHours !== services.quietHours()) checkedWith = quietHours;
  }

  /** The rights of messages of one tenant, sender ID and class; undefined while they are not known. */
  async function rightsOf(
    group: readonly DueMessage[],
  ): Promise<((message: DueMessage) => SendingRights) | undefined> {
    const [first] = group;
    if (first === undefined) return undefined;
    const { tenantId, from, trafficClass } = first;
    try {
      const tenant = await services.tenant(tenantId);
      const sender = await services.usableSender(tenantId, from);
      const numbers = group.map(({ to }) => to);
      const isOptedOut = await findOptOuts(services, {
        ...{ tenantId, sender: from, trafficClass, numbers },
      });
      return ({ to }) => ({
        tenantMaySend: tenant !== undefined && !tenant.suspended,
        senderIsUsable: sender !== undefined,
        recipientAllows: !isOptedOut(to),
      });
    } catch (error) {
      // The messages stay due; the next step tries again.
      if (!isUnavailable(error)) log.warn({ error, tenantId }, "messages stay in quiet hours");
      return undefined;
    }
  }

  /** Returns the number of released messages. */
  async function releaseGroup(group: readonly DueMessage[]): Promise<number> {
    const rights = await rightsOf(group);
    if (rights === undefined) return 0;
    const quietHours = services.quietHours();
    const released = group.map(async (one) => {
      try {
        await changes.change(one.id, (message, nowMs) =>
          leaveQuietHours(message, nowMs, timeouts, rights(one), quietHours),
        );
        return 1;
      } catch (error) {
        // An outage ends the step; any other error concerns this message alone, which stays due.
        if (isUnavailable(error)) throw error;
        log.warn({ error, messageId: one.id }, "a message stays in quiet hours");
        return 0;
      }
    });
    const count = (await Promise.all(released)).reduce<number>((sum, one) => sum + one, 0);
    noteDecidedBy(quietHours);
    return count;
  }

  async function takeOutAll(messages: readonly Message[]): Promise<void> {
    const quietHours = services.quietHours();
    const moved = messages.map(({ id }) =>
      changes.change(id, (message, nowMs) => enterQuietHours(message, nowMs, quietHours)),
    );
    const ends = await Promise.allSettled(moved);
    noteDecidedBy(quietHours);
    const faults = ends.flatMap((one) =>
      one.status === "rejected" ? [one.reason as unknown] : [],
    );
    if (faults.length === 0) return;
    log.warn({ error: faults[0], count: faults.length }, "messages stay in a queue in quiet hours");
  }

  return {
    binds: (message) => isQuietAt(message, clock.now(), services.quietHours()),
    openSpanOf: (message) => openSpan(message, clock.now(), services.quietHours()),
    get isBusy() {
      return running >= STEPS_MAX;
    },
    takeOut(messages) {
      running += 1;
      void takeOutAll(messages).finally(() => {
        running -= 1;
      });
    },
    async release() {
      await followRules();
      const startedMs = steadyClock.now();
      const due = await store.findQuiet(clock.now(), RELEASE_MAX);
      const groups = Map.groupBy(due, (one) => `${one.tenantId}|${one.from}|${one.trafficClass}`);
      const released = await Promise.all([...groups.values()].map(releaseGroup));
      const count = released.reduce((sum, one) => sum + one, 0);
      if (due.length < RELEASE_MAX || count === 0) return false;
      // Pause for as long as the step took, at most a second, so that other changes get as much time: a whole country's
      // messages become due at one instant.
      await pause(Math.min(steadyClock.now() - startedMs, RELEASE_PAUSE_MAX_MS));
      return true;
    },
  };
}
