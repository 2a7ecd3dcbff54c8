/**
 * A sender ID's states:
 *
 * - pending: entered when registered; an operator looks at it. Approve or reject leaves it.
 * - approved: entered by approval or reinstatement; the only state that can be sent from.
 *   Suspend leaves it.
 * - rejected: entered by rejection, with a reason. Approve leaves it (on appeal).
 * - suspended: entered when an approved name is misused. Reinstate leaves it.
 */
import { AppError } from "../../shared/core/errors.ts";
import { isLegalMove, type StateTable } from "../../shared/core/state-table.ts";

/** Where a sender ID stands. */
export type SenderIdStatus = "pending" | "approved" | "rejected" | "suspended";

/** What an operator may do with one. */
export type Review = "approve" | "reject" | "suspend" | "reinstate";

/** A name a tenant sends from. */
export type SenderId = {
  readonly id: string;
  readonly tenantId: string;
  /** As registered. */
  readonly name: string;
  readonly status: SenderIdStatus;
  /** Empty unless rejected. */
  readonly rejectionReason: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

const MOVES: StateTable<SenderIdStatus> = Object.freeze({
  pending: ["approved", "rejected"],
  approved: ["suspended"],
  rejected: ["approved"],
  suspended: ["approved"],
});

/** What each review aims at, and the states it may start from. */
const REVIEWS: Readonly<Record<Review, { to: SenderIdStatus; from: readonly SenderIdStatus[] }>> = {
  approve: { to: "approved", from: ["pending", "rejected"] },
  reject: { to: "rejected", from: ["pending"] },
  suspend: { to: "suspended", from: ["approved"] },
  reinstate: { to: "approved", from: ["suspended"] },
};

const NAME = /^[A-Za-z0-9 .-]{3,11}$/;

/** Registers a name, or throws `validation_error`. */
export function createSenderId(input: {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly isApproved: boolean;
  readonly nowMs: number;
}): SenderId {
  if (!NAME.test(input.name) || input.name.trim() !== input.name) {
    throw new AppError("validation_error", "The sender ID is not valid.", {
      fields: [
        {
          field: "name",
          code: "invalid_format",
          message:
            "A sender ID has 3 to 11 of A-Z, a-z, 0-9, space, dot and dash, and no space at its " +
            "beginning or end.",
        },
      ],
    });
  }
  return {
    id: input.id,
    tenantId: input.tenantId,
    name: input.name,
    status: input.isApproved ? "approved" : "pending",
    rejectionReason: "",
    createdAtMs: input.nowMs,
    updatedAtMs: input.nowMs,
  };
}

/**
 * Reviews a sender ID. The same review again answers it unchanged, so that a repeated command is
 * harmless; a review the state does not allow throws `invalid_state_transition`.
 */
export function review(
  senderId: SenderId,
  action: Review,
  reason: string,
  nowMs: number,
): SenderId {
  const { to, from } = REVIEWS[action];
  if (senderId.status === to) return senderId;
  if (!from.includes(senderId.status) || !isLegalMove(MOVES, senderId.status, to)) {
    throw new AppError(
      "invalid_state_transition",
      `A sender ID that is ${senderId.status} cannot be changed by ${action}.`,
    );
  }
  if (action === "reject" && (reason.trim() === "" || reason.length > 500)) {
    const code = reason.length > 500 ? "too_long" : "required";
    throw new AppError("validation_error", "A rejection needs a reason.", {
      fields: [{ field: "reason", code, message: "Say why, in 1 to 500 characters." }],
    });
  }
  return {
    ...senderId,
    status: to,
    rejectionReason: action === "reject" ? reason : "",
    updatedAtMs: nowMs,
  };
}

/** Tells whether the name can be sent from, apart from the tenant's own state. */
export function isUsable(senderId: SenderId): boolean {
  return senderId.status === "approved";
}

/** The key under which names are unique per tenant: without regard to case. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
