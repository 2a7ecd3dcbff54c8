/**
 * Answers the wallet which messages belong to reservations that stayed open. For a reservation without a send it
 * writes a tombstone with the `_id` that a late commit of the send would need. So exactly one of the two can exist,
 * independent of clocks, and the wallet may release the reservation.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { MessageCharge } from "../domain/message-invariants.ts";
import type { MessageStore, SendStore } from "./ports.ts";

/** An open reservation, as the wallet knows it. */
export type ReservationQuery = {
  readonly tenantId: string;
  readonly reservationId: string;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
};

/** The charges of a reservation's messages; with a tombstone, there are none and never will be. */
export type ReservationAnswer = {
  readonly reservationId: string;
  /** A tombstone keeps the send from ever being committed. */
  readonly hasTombstone: boolean;
  readonly charges: readonly MessageCharge[];
};

/** The limit of one read of messages: more than one send can have. */
const MESSAGES_MAX = 100_000;

/** Reservations resolved concurrently; MongoDB groups the writes of concurrent tombstones. */
const CONCURRENCY = 16;

/** Resolves reservations; with `omitWaiting` without the charges of queued and scheduled messages. */
export type ResolveReservations = (
  queries: readonly ReservationQuery[],
  options?: { readonly omitWaiting: boolean },
) => Promise<ReservationAnswer[]>;

export function createReservationResolver(options: {
  readonly sends: SendStore;
  readonly store: MessageStore;
  readonly clock: Clock;
}): ResolveReservations {
  const { sends, store, clock } = options;

  function chargesOf(query: ReservationQuery, omitWaiting = false): Promise<MessageCharge[]> {
    const { tenantId, reservationId, firstMessageId, lastMessageId } = query;
    const range = { firstId: firstMessageId, lastId: lastMessageId };
    return store.findReserved(tenantId, reservationId, range, { limit: MESSAGES_MAX, omitWaiting });
  }

  /** Reads the messages of all reservations with a single message at once; the majority of reservations have one. */
  async function readSingles(queries: readonly ReservationQuery[]) {
    const ids = queries.filter(isSingle).map(({ firstMessageId }) => firstMessageId);
    const charges = new Map((await store.findCharges(ids)).map((charge) => [charge.id, charge]));
    return ({ firstMessageId, tenantId, reservationId }: ReservationQuery): MessageCharge[] => {
      const charge = charges.get(firstMessageId);
      const isOfIt = charge?.tenantId === tenantId && charge.reservationId === reservationId;
      return isOfIt ? [charge] : [];
    };
  }

  return async (queries, { omitWaiting } = { omitWaiting: false }) => {
    const known = await sends.findByIds(queries.map(({ reservationId }) => reservationId));
    const single = await readSingles(queries);

    async function resolve(query: ReservationQuery): Promise<ReservationAnswer> {
      const { reservationId } = query;
      const abandoned = { reservationId, hasTombstone: true, charges: [] };
      const record = known.get(reservationId);
      if (record === "tombstone") return abandoned;
      const isSent = record === "sent";
      // Records are deleted before messages. Without a record read all messages, waiting ones too.
      const charges = isSingle(query)
        ? single(query)
        : await chargesOf(query, omitWaiting && isSent);
      if (charges.length > 0 || isSent) return { reservationId, hasTombstone: false, charges };
      if ((await sends.putTombstone(reservationId, clock.now())) === "tombstone") return abandoned;
      return { reservationId, hasTombstone: false, charges: await chargesOf(query) };
    }

    const answers: ReservationAnswer[] = [];
    for (let at = 0; at < queries.length; at += CONCURRENCY) {
      answers.push(...(await Promise.all(queries.slice(at, at + CONCURRENCY).map(resolve))));
    }
    return answers;
  };
}

function isSingle({ firstMessageId, lastMessageId }: ReservationQuery): boolean {
  return firstMessageId === lastMessageId;
}
