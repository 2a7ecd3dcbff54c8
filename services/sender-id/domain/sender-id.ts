/**
 * A sender ID's states:
 *
 * - pending: entered when registered; waits for an operator. Left by approve or reject.
 * - approved: entered by approve or reinstate; the only state that allows sending. Left by suspend.
 * - rejected: entered by reject, with a reason. Left by approve, after an appeal.
 * - suspended: entered by suspend, after misuse. Left by reinstate.
 */

import { AppError } from "../../shared/core/errors.ts";
import { isLegalMove, type StateTable } from "../../shared/core/state-table.ts";
import { SENDER_NAME } from "../../shared/core/text-forms.ts";

/** A state of the machine above. */
export type SenderIdStatus = "pending" | "approved" | "rejected" | "suspended";

/** An operator's review. */
export type Review = "approve" | "reject" | "suspend" | "reinstate";

/** What a sender ID may carry (docs/contract.md#consent), from the most to the least privileged. */
export type TrafficClass = "otp" | "transactional" | "promotional";

/** A name that a tenant sends from (docs/contract.md#sender-ids). */
export type SenderId = {
  readonly id: string;
  readonly tenantId: string;
  /** As registered. */
  readonly name: string;
  readonly status: SenderIdStatus;
  /** Empty unless rejected. */
  readonly rejectionReason: string;
  readonly trafficClass: TrafficClass;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

const MOVES: StateTable<SenderIdStatus> = Object.freeze({
  pending: ["approved", "rejected"],
  approved: ["suspended"],
  rejected: ["approved"],
  suspended: ["approved"],
});

/** The target state of each review, and the states that allow it. */
const REVIEWS: Readonly<Record<Review, { to: SenderIdStatus; from: readonly SenderIdStatus[] }>> = {
  approve: { to: "approved", from: ["pending", "rejected"] },
  reject: { to: "rejected", from: ["pending"] },
  suspend: { to: "suspended", from: ["approved"] },
  reinstate: { to: "approved", from: ["suspended"] },
};

/** Registers a name; throws `validation_error`. */
export function createSenderId(input: {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly isApproved: boolean;
  readonly trafficClass?: TrafficClass | undefined;
  readonly nowMs: number;
}): SenderId {
  if (!SENDER_NAME.test(input.name) || input.name.trim() !== input.name) {
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
    trafficClass: input.trafficClass ?? "transactional",
    createdAtMs: input.nowMs,
    updatedAtMs: input.nowMs,
  };
}

/**
 * Reviews a sender ID. A repeated review returns it unchanged, so a retry is harmless. A review
 * that the state does not allow throws `invalid_state_transition`.
 */
export function review(
  senderId: SenderId,
  action: Review,
  reason: string,
  nowMs: number,
  approvedClass: TrafficClass = senderId.trafficClass,
): SenderId {
  const { to, from } = REVIEWS[action];
  const trafficClass = action === "approve" ? approvedClass : senderId.trafficClass;
  if (senderId.status === to) {
    // Approving an approved name again may change its class.
    if (trafficClass === senderId.trafficClass) return senderId;
    return { ...senderId, trafficClass, updatedAtMs: nowMs };
  }
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
    trafficClass,
    rejectionReason: action === "reject" ? reason : "",
    updatedAtMs: nowMs,
  };
}

/** Whether the name can be sent from; the tenant's own state counts separately. */
export function isUsable(senderId: SenderId): boolean {
  return senderId.status === "approved";
}

/** The key of a name: names are unique per tenant without regard to case. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
