/**
 * A sender ID's states:
 *
 * - pending: entered when registered; waits for an operator. Left by approve or reject.
 * - approved: entered by approve or reinstate; the only state that allows sending. Left by suspend.
 * - rejected: entered by reject, with a reason. Left by approve, after an appeal, or by a new request of the customer,
 *   which makes it pending.
 * - suspended: entered by suspend, after misuse. Left by reinstate.
 */

import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { isLegalMove, type StateTable } from "../../shared/core/state-table.ts";
import { SENDER_NAME } from "../../shared/core/text-forms.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";

/** A state of the machine above. */
export type SenderIdStatus = "pending" | "approved" | "rejected" | "suspended";

/** An operator's review. */
export type Review = "approve" | "reject" | "suspend" | "reinstate";

/** A name that a tenant sends from (docs/contract.md#sender-ids). */
export type SenderId = {
  readonly id: string;
  readonly tenantId: string;
  /** The name with the case in which it was registered. */
  readonly name: string;
  readonly status: SenderIdStatus;
  /** Empty unless rejected. */
  readonly rejectionReason: string;
  readonly trafficClass: TrafficClass;
  /** The customer's reason for the name, and a sample text; both empty when an operator registered it. */
  readonly useCase: string;
  readonly sample: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

const MOVES: StateTable<SenderIdStatus> = Object.freeze({
  pending: ["approved", "rejected"],
  approved: ["suspended"],
  rejected: ["approved", "pending"],
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
  refuse(nameFaults(input.name));
  return {
    id: input.id,
    tenantId: input.tenantId,
    name: input.name,
    status: input.isApproved ? "approved" : "pending",
    rejectionReason: "",
    trafficClass: input.trafficClass ?? "transactional",
    useCase: "",
    sample: "",
    createdAtMs: input.nowMs,
    updatedAtMs: input.nowMs,
  };
}

/** A customer's request of a name. */
export type NameRequest = {
  readonly name: string;
  readonly useCase: string;
  readonly sample: string;
};

/** How many names a tenant has: those of any status, and those that wait for a review. */
export type NameCounts = { readonly all: number; readonly pending: number };

/** Most names of a tenant that wait for a review: operators read each. */
export const PENDING_MAX = 10;
const NAMES_MAX = 200;
const USE_CASE_CHARS_MAX = 500;
const SAMPLE_CHARS_MAX = 1600;

/** Throws `validation_error` with every fault of a request. */
export function checkNameRequest({ name, useCase, sample }: NameRequest): void {
  refuse([
    ...nameFaults(name),
    ...textFaults("use_case", useCase, USE_CASE_CHARS_MAX),
    ...textFaults("sample", sample, SAMPLE_CHARS_MAX),
  ]);
}

/**
 * The sender ID after a checked request; `present` is the tenant's sender ID of that name. Throws `already_exists`
 * unless `present` was rejected, and `validation_error` when the tenant has too many.
 */
export function requestSenderId(
  present: SenderId | undefined,
  { name, useCase, sample }: NameRequest,
  counts: NameCounts,
  made: { readonly id: string; readonly tenantId: string; readonly nowMs: number },
): SenderId {
  if (present !== undefined && !isLegalMove(MOVES, present.status, "pending")) {
    throw new AppError(
      "already_exists",
      `The account has this sender ID; it is ${present.status}.`,
    );
  }
  if (counts.pending >= PENDING_MAX || (present === undefined && counts.all >= NAMES_MAX)) {
    const message =
      counts.pending >= PENDING_MAX
        ? `At most ${PENDING_MAX} sender IDs may wait for their review.`
        : `An account has at most ${NAMES_MAX} sender IDs.`;
    refuse([{ field: "name", code: "too_many", message }]);
  }
  const asked = { name, useCase, sample };
  if (present === undefined)
    return { ...createSenderId({ ...made, name, isApproved: false }), ...asked };
  return { ...present, ...asked, status: "pending", rejectionReason: "", updatedAtMs: made.nowMs };
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

function nameFaults(name: string): FieldError[] {
  if (SENDER_NAME.test(name) && name.trim() === name) return [];
  const message =
    "A sender ID has 3 to 11 of A-Z, a-z, 0-9, space, dot and dash, and no space at its beginning or end.";
  return [{ field: "name", code: "invalid_format", message }];
}

function textFaults(field: string, text: string, max: number): FieldError[] {
  if (text.trim() === "") return [{ field, code: "required", message: "This field is required." }];
  if (text.length <= max) return [];
  return [{ field, code: "too_long", message: `It has at most ${max} characters.` }];
}

function refuse(fields: readonly FieldError[]): void {
  if (fields.length === 0) return;
  throw new AppError("validation_error", "The sender ID is not valid.", { fields });
}

/** The key of a name: names are unique per tenant without regard to case. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
