/**
 * The states of a reservation (the hold of one send):
 *
 * - open: entered when the hold is placed. Each settlement of one of its messages takes that
 *   message's held amount out of `openAmount`. Left when nothing is open any more, or when
 *   messaging has fenced the send off and everything open is released at once.
 * - closed: nothing is held. Final.
 *
 * At all times: amount = openAmount + settled + fencedAmount, where settled is the sum of the
 * held amounts of its messages' settlements.
 */
/** Where a reservation is in its life. */
export type ReservationState = "open" | "closed";

/** The hold of one send. */
export type Reservation = {
  readonly id: string;
  readonly tenantId: string;
  readonly amount: bigint;
  /** What is still held. */
  readonly openAmount: bigint;
  /** What was released because the send never committed. */
  readonly fencedAmount: bigint;
  readonly state: ReservationState;
  readonly messageCount: number;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
  readonly createdAtMs: number;
};

/** What became of one message's part of a reservation; at most one per message, ever. */
export type Settlement = {
  readonly messageId: string;
  readonly tenantId: string;
  readonly reservationId: string;
  /** What was held for this message. */
  readonly heldAmount: bigint;
  /** What was charged of it; the remainder was released. */
  readonly capturedAmount: bigint;
  readonly settledAtMs: number;
};

/** Takes one message's part out of a reservation. The part must not exceed what is open. */
export function takePart(reservation: Reservation, part: bigint): Reservation {
  const openAmount = reservation.openAmount - part;
  return { ...reservation, openAmount, state: openAmount === 0n ? "closed" : "open" };
}

/** Closes a reservation whose send messaging has fenced off. */
export function fenceReservation(reservation: Reservation): Reservation {
  const fencedAmount = reservation.fencedAmount + reservation.openAmount;
  return { ...reservation, openAmount: 0n, fencedAmount, state: "closed" };
}
