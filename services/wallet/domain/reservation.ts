/**
 * The states of a reservation (the hold of one send):
 *
 * - open: entered when the hold is placed. Each settlement of one of its messages subtracts the
 *   message's held amount from `openAmount`. Left when nothing is open, or when messaging has
 *   fenced the reservation and the wallet releases the whole open amount.
 * - closed: nothing is held. Final.
 *
 * Invariants: amount = openAmount + settled + fencedAmount, where settled is the sum of the
 * held amounts of its messages' settlements. There are at most `messageCount` settlements.
 */
export type ReservationState = "open" | "closed";

/** The hold of one send. */
export type Reservation = {
  readonly id: string;
  readonly tenantId: string;
  readonly amount: bigint;
  /** The amount that is still held. */
  readonly openAmount: bigint;
  /** The amount that was released because the send never committed. */
  readonly fencedAmount: bigint;
  readonly state: ReservationState;
  readonly messageCount: number;
  /** The number of its settled messages. */
  readonly settledCount: number;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
  /** The campaign of the send; empty for none. The movements of this reservation store it. */
  readonly campaignId: string;
  readonly createdAtMs: number;
};

/**
 * The final capture and release of one message's part of a reservation. One per message at most.
 */
export type Settlement = {
  readonly messageId: string;
  readonly tenantId: string;
  readonly reservationId: string;
  /** The amount that was held for this message. */
  readonly heldAmount: bigint;
  /** The charged amount. The remainder was released. */
  readonly capturedAmount: bigint;
  readonly settledAtMs: number;
};

/** Subtracts a settled message's part, which must not exceed the open amount. */
export function settlePart(reservation: Reservation, part: bigint): Reservation {
  const openAmount = reservation.openAmount - part;
  const settledCount = reservation.settledCount + 1;
  return { ...reservation, openAmount, settledCount, state: openAmount === 0n ? "closed" : "open" };
}

/** Closes a reservation that messaging has fenced. */
export function fenceReservation(reservation: Reservation): Reservation {
  const fencedAmount = reservation.fencedAmount + reservation.openAmount;
  return { ...reservation, openAmount: 0n, fencedAmount, state: "closed" };
}
