/**
 * The wallet's question about reservations that stayed open: what became of their messages? A
 * reservation without a send is fenced off: a tombstone is written under the very `_id` that a
 * late commit of the send would need, so exactly one of the two can ever exist, whatever the
 * clocks say. Only then may the wallet release.
 */
import type { Clock } from "../../shared/core/clock.ts";
import type { Message } from "../domain/message.ts";
import type { MessageStore, SendStore } from "./ports.ts";

/** An open reservation, as the wallet knows it. */
export type ReservationQuestion = {
  readonly tenantId: string;
  readonly reservationId: string;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
};

/** Its messages; or none, for ever. */
export type ReservationAnswer = {
  readonly reservationId: string;
  /** A tombstone keeps the send from ever being committed. */
  readonly hasTombstone: boolean;
  readonly messages: readonly Message[];
};

/** More messages than one send can have. */
const MESSAGES_MAX = 100_000;

/** Reservations looked into at once: each is fenced for itself, and MongoDB writes those of one moment together. */
const AT_ONCE = 16;

/** Makes the resolver. */
export function createReservationResolver(options: {
  readonly sends: SendStore;
  readonly store: MessageStore;
  readonly clock: Clock;
}): (questions: readonly ReservationQuestion[]) => Promise<ReservationAnswer[]> {
  const { sends, store, clock } = options;

  async function messagesOf(question: ReservationQuestion): Promise<Message[]> {
    const { tenantId, reservationId, firstMessageId, lastMessageId } = question;
    const range = { firstId: firstMessageId, lastId: lastMessageId };
    return store.findReserved(tenantId, reservationId, range, MESSAGES_MAX);
  }

  async function resolve(
    question: ReservationQuestion,
    known: "sent" | "tombstone" | undefined,
  ): Promise<ReservationAnswer> {
    const { reservationId } = question;
    const abandoned = { reservationId, hasTombstone: true, messages: [] };
    if (known === "tombstone") return abandoned;
    // Records end before messages do, so the messages themselves are asked, too.
    const messages = await messagesOf(question);
    if (messages.length > 0 || known === "sent")
      return { reservationId, hasTombstone: false, messages };
    if ((await sends.putTombstone(reservationId, clock.now())) === "tombstone") return abandoned;
    return { reservationId, hasTombstone: false, messages: await messagesOf(question) };
  }

  return async (questions) => {
    const known = await sends.findByIds(questions.map(({ reservationId }) => reservationId));
    const answers: ReservationAnswer[] = [];
    for (let at = 0; at < questions.length; at += AT_ONCE) {
      const some = questions.slice(at, at + AT_ONCE);
      const asked = some.map((one) => resolve(one, known.get(one.reservationId)));
      answers.push(...(await Promise.all(asked)));
    }
    return answers;
  };
}
