/**
 * Answers the wallet which messages belong to reservations that stayed open. For a reservation without a send it
 * writes a tombstone with the `_id` that a late commit of the send would need. So exactly one of the two can exist,
 * independent of clocks, and the wallet may release the reservation.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Message } from "../domain/message.ts";
import type { MessageStore, SendStore } from "./ports.ts";

/** An open reservation, as the wallet knows it. */
export type ReservationQuery = {
  readonly tenantId: string;
  readonly reservationId: string;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
};

/** The messages of a reservation; with a tombstone, there are none and never will be. */
export type ReservationAnswer = {
  readonly reservationId: string;
  /** A tombstone keeps the send from ever being committed. */
  readonly hasTombstone: boolean;
  readonly messages: readonly Message[];
};

/** More messages than one send can have. */
const MESSAGES_MAX = 100_000;

/** Reservations resolved concurrently; MongoDB groups the writes of concurrent tombstones. */
const CONCURRENCY = 16;

export function createReservationResolver(options: {
  readonly sends: SendStore;
  readonly store: MessageStore;
  readonly clock: Clock;
}): (queries: readonly ReservationQuery[]) => Promise<ReservationAnswer[]> {
  const { sends, store, clock } = options;

  async function messagesOf(query: ReservationQuery): Promise<Message[]> {
    const { tenantId, reservationId, firstMessageId, lastMessageId } = query;
    const range = { firstId: firstMessageId, lastId: lastMessageId };
    return store.findReserved(tenantId, reservationId, range, MESSAGES_MAX);
  }

  /** Most reservations have one message: one read for all of those. */
  async function readSingles(queries: readonly ReservationQuery[]) {
    const ids = queries.filter(isSingle).map(({ firstMessageId }) => firstMessageId);
    const messages = new Map((await store.findMany(ids)).map((message) => [message.id, message]));
    return ({ firstMessageId, tenantId, reservationId }: ReservationQuery): Message[] => {
      const message = messages.get(firstMessageId);
      const isOfIt = message?.tenantId === tenantId && message.reservationId === reservationId;
      return isOfIt ? [message] : [];
    };
  }

  async function resolve(
    query: ReservationQuery,
    known: "sent" | "tombstone" | undefined,
    single: (query: ReservationQuery) => Message[],
  ): Promise<ReservationAnswer> {
    const { reservationId } = query;
    const abandoned = { reservationId, hasTombstone: true, messages: [] };
    if (known === "tombstone") return abandoned;
    // Records are deleted before messages, so look for the messages as well.
    const messages = isSingle(query) ? single(query) : await messagesOf(query);
    if (messages.length > 0 || known === "sent")
      return { reservationId, hasTombstone: false, messages };
    if ((await sends.putTombstone(reservationId, clock.now())) === "tombstone") return abandoned;
    return { reservationId, hasTombstone: false, messages: await messagesOf(query) };
  }

  return async (queries) => {
    const known = await sends.findByIds(queries.map(({ reservationId }) => reservationId));
    const single = await readSingles(queries);
    const answers: ReservationAnswer[] = [];
    for (let at = 0; at < queries.length; at += CONCURRENCY) {
      const some = queries.slice(at, at + CONCURRENCY);
      const asked = some.map((one) => resolve(one, known.get(one.reservationId), single));
      answers.push(...(await Promise.all(asked)));
    }
    return answers;
  };
}

function isSingle({ firstMessageId, lastMessageId }: ReservationQuery): boolean {
  return firstMessageId === lastMessageId;
}
