/**
 * A funding that a person asks for.
 *
 * pending: above the approval limit. Left when another person approves it, or any person refuses it.
 * approved: at or below the limit, or approved. The money moves under the funding's id as its reference, so that a
 *   repeat after a crash moves nothing twice. Left when it has moved, or when the wallet cannot take it.
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

/** The first state of a funding: `pending` when its amount needs a second person. */
export function stateAfterRequest(amount: bigint, approvalAbove: bigint): FundingState {
  return amount > approvalAbove ? "pending" : "approved";
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
