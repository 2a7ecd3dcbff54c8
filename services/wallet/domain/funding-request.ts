/**
 * A funding that a person asks for.
 *
 * pending: needs a second person. Its amount, with this person's fundings of the last 24 hours in the same currency
 *   that no second person decided, is above the approval limit; or the person made 1,000 fundings in that time. Ends
 *   when another person approves it, or any person refuses it.
 * approved: within the limit, or approved. The money moves under the funding's id as its reference, so that a
 *   repeat after a crash moves nothing twice. Ends when it has moved, or when the wallet cannot take it.
 * funded, refused, failed: final.
 */
import { AppError } from "../../shared/core/errors.ts";

export const FUNDING_STATES = ["pending", "approved", "funded", "refused", "failed"] as const;

export type FundingState = (typeof FUNDING_STATES)[number];

/** A funding with its decision. */
export type Funding = {
  readonly id: string;
  readonly tenantId: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly reason: string;
  readonly state: FundingState;
  readonly requestedBy: string;
  readonly requestedAtMs: number;
  /** Empty when no second person was needed, and while pending. */
  readonly decidedBy: string;
  readonly decidedAtMs: number;
  /** Why an approved one failed; empty otherwise. */
  readonly failure: string;
};

/** Fundings of a person count towards the limit for this long. */
export const FUNDING_WINDOW_MS = 86_400_000;

/** A person with this many fundings in the window needs a second person for each further one: the sum is bounded. */
export const WINDOW_FUNDINGS_MAX = 1000;

/**
 * The first state of a funding: `pending` when it needs a second person. `recent` has the fundings of its person in its
 * currency within the window, `WINDOW_FUNDINGS_MAX` at most. Fundings that a second person decided do not count towards
 * the limit, nor those that are pending, refused or failed.
 */
export function stateAfterRequest(
  amount: bigint,
  recent: readonly Pick<Funding, "state" | "amount" | "decidedBy">[],
  approvalAbove: bigint,
): FundingState {
  if (recent.length >= WINDOW_FUNDINGS_MAX) return "pending";
  const alone = recent
    .filter(
      ({ state, decidedBy }) => decidedBy === "" && (state === "approved" || state === "funded"),
    )
    .reduce((sum, one) => sum + one.amount, 0n);
  return alone + amount > approvalAbove ? "pending" : "approved";
}

/**
 * The funding after a person's decision; the same one when the person has decided so before. Throws
 * `insufficient_scope` for the requester's own approval, `invalid_state_transition` when it is decided already.
 */
export function decideFundingRequest(
  funding: Funding,
  person: string,
  isApproved: boolean,
  nowMs: number,
): Funding {
  const isRepeat = funding.decidedBy === person && (funding.state === "refused") !== isApproved;
  if (funding.state !== "pending") {
    if (isRepeat) return funding;
    throw new AppError("invalid_state_transition", `This funding is ${funding.state} already.`);
  }
  if (isApproved && funding.requestedBy === person) {
    throw new AppError("insufficient_scope", "You asked for it; another person must approve it.");
  }
  const state = isApproved ? "approved" : "refused";
  return { ...funding, state, decidedBy: person, decidedAtMs: nowMs };
}

/** The people of the movement, as the ledger names them. */
export function peopleOf({ requestedBy, decidedBy }: Funding): string {
  return decidedBy === "" ? requestedBy : `${requestedBy}, ${decidedBy}`.slice(0, 128);
}
