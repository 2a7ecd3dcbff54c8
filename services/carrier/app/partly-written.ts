import type { Clock } from "../../shared/core/clock.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { ClaimedMessage } from "../domain/message.ts";
import { type InFlight, startInFlight } from "./in-flight.ts";
import type { Link } from "./link.ts";

/** A message that an earlier process wrote in part, with the parts of which octets may have left. */
export type PartlyWritten = {
  readonly message: ClaimedMessage;
  readonly parts: number;
  readonly written: ReadonlySet<number>;
  /** The carrier has the first part: another one was written, which leaves only after the first was accepted. */
  readonly isFirstTaken: boolean;
};

/** A partly written message that a link has prepared again; its other parts follow. */
export type Restarted = { readonly flight: InFlight; readonly isFirstTaken: boolean };

/** Returned by `createPartlyWritten`. */
export type PartlyWrittenMessages = {
  take(link: Link | undefined): Restarted[];
  /** Gives up the messages that waited too long, or all of them. */
  check(isClosing: boolean): void;
};

/**
 * The partly written messages of a connector. They wait for its first bind, whose link prepares them again; `take`
 * returns them once. A message that waited longer than `waitMs` may have failed meanwhile, and a link with other
 * settings makes other parts, which would not fit those that the carrier has: `giveUp` gets these.
 */
export function createPartlyWritten(options: {
  readonly messages: readonly PartlyWritten[];
  readonly connectorId: string;
  readonly steady: Clock;
  readonly log: Logger;
  readonly waitMs: number;
  readonly giveUp: (message: ClaimedMessage) => void;
}): PartlyWrittenMessages {
  const { connectorId, steady, log } = options;
  const waiting = [...options.messages];
  const untilMs = steady.now() + options.waitMs;

  function restart(
    { message, parts, written, isFirstTaken }: PartlyWritten,
    link: Link,
  ): Restarted[] {
    const { messageId } = message;
    try {
      const flight = startInFlight(message, connectorId, link, steady.now());
      if (flight.parts.length !== parts) throw new Error("the parts of the message have changed");
      for (const index of written) {
        flight.written.add(index);
        flight.outcomes[index] = { kind: "unknown", code: "restart" };
      }
      return [{ flight, isFirstTaken }];
    } catch (error) {
      log.warn({ error, messageId }, "the other parts of a message cannot follow");
      options.giveUp(message);
      return [];
    }
  }

  return {
    take(link) {
      if (waiting.length === 0 || link === undefined) return [];
      return waiting.splice(0).flatMap((one) => restart(one, link));
    },
    check(isClosing) {
      if (waiting.length === 0 || !(isClosing || steady.now() >= untilMs)) return;
      log.warn(
        { connector: connectorId, count: waiting.length },
        "no link for partly written messages",
      );
      for (const { message } of waiting.splice(0)) options.giveUp(message);
    },
  };
}

/** Holds the partly written messages that the recovery found until the runner of their connector takes them. */
export function createPartlyWrittenByConnector() {
  let left = new Map<string, readonly PartlyWritten[]>();
  return {
    set(found: ReadonlyMap<string, readonly PartlyWritten[]>) {
      left = new Map(found);
    },
    take(connectorId: string): readonly PartlyWritten[] {
      const messages = left.get(connectorId) ?? [];
      left.delete(connectorId);
      return messages;
    },
  };
}
