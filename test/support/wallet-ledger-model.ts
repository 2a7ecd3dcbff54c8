/** A minimal reference ledger for model-based tests. */

export type ModelMessage = {
  readonly id: string;
  readonly held: bigint;
  captured: bigint | undefined;
};

export type ModelReservation = {
  readonly id: string;
  readonly amount: bigint;
  readonly messages: readonly ModelMessage[];
  /** The amount it was placed with; undefined until then. */
  placed: bigint | undefined;
  open: bigint;
};

export type LedgerModel = {
  balance: bigint;
  held: bigint;
  threshold: bigint;
  frozen: boolean;
  low: boolean;
  lowEvents: number;
  /** The movement of each reference. */
  readonly funded: Map<string, string>;
  readonly reservations: ModelReservation[];
};

/** One operation on the wallet. */
export type Op =
  | { readonly kind: "hold"; readonly reservation: ModelReservation; readonly amount: bigint }
  | {
      readonly kind: "settle";
      readonly reservation: ModelReservation;
      readonly message: ModelMessage;
      readonly captured: bigint;
    }
  | { readonly kind: "release"; readonly reservation: ModelReservation }
  | { readonly kind: "fund"; readonly amount: bigint; readonly reference: string }
  | { readonly kind: "adjust"; readonly amount: bigint; readonly reference: string }
  | { readonly kind: "freeze"; readonly frozen: boolean }
  | { readonly kind: "threshold"; readonly amount: bigint };

export function newModel(): LedgerModel {
  return {
    balance: 0n,
    held: 0n,
    threshold: 0n,
    frozen: false,
    low: false,
    lowEvents: 0,
    funded: new Map(),
    reservations: [],
  };
}

/** Applies the operation; returns the expected result: "ok" or an error code. */
export function applyOp(model: LedgerModel, op: Op): string {
  const answer = apply(model, op);
  const low = model.balance - model.held < model.threshold;
  if (low && !model.low) model.lowEvents += 1;
  model.low = low;
  return answer;
}

function apply(model: LedgerModel, op: Op): string {
  switch (op.kind) {
    case "hold":
      return hold(model, op.reservation, op.amount);
    case "settle":
      return settle(model, op);
    case "release":
      if (op.reservation.placed === undefined) return "not_found";
      model.held -= op.reservation.open;
      op.reservation.open = 0n;
      return "ok";
    case "fund":
    case "adjust":
      return fund(model, op);
    case "freeze":
      model.frozen = op.frozen;
      return "ok";
    case "threshold":
      model.threshold = op.amount;
      return "ok";
  }
}

function hold(model: LedgerModel, reservation: ModelReservation, amount: bigint): string {
  if (reservation.placed !== undefined) {
    return reservation.placed === amount ? "ok" : "idempotency_key_reused";
  }
  if (model.frozen) return "tenant_suspended";
  if (amount > model.balance - model.held) return "insufficient_balance";
  model.held += amount;
  reservation.open = amount;
  reservation.placed = amount;
  return "ok";
}

function settle(model: LedgerModel, op: Op & { kind: "settle" }): string {
  const { reservation, message, captured } = op;
  if (message.captured !== undefined) return "ok";
  if (reservation.placed === undefined) return "not_found";
  if (message.held > reservation.open) return "invalid_state_transition";
  message.captured = captured;
  reservation.open -= message.held;
  model.held -= message.held;
  model.balance -= captured;
  return "ok";
}

function fund(model: LedgerModel, op: Op & { kind: "fund" | "adjust" }): string {
  const movement = `${op.kind} ${op.amount}`;
  const earlier = model.funded.get(op.reference);
  if (earlier !== undefined) return earlier === movement ? "ok" : "idempotency_key_reused";
  if (-op.amount > model.balance - model.held) return "insufficient_balance";
  model.funded.set(op.reference, movement);
  model.balance += op.amount;
  return "ok";
}
