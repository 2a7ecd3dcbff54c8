/**
 * The test numbers: the last four digits of a recipient choose the answer to a submit and its receipts
 * (`docs/contract.md#test-mode`). They belong to the carrier's test route and to the SMSC simulator, which must
 * agree on them and may not import each other; no other code uses this file.
 */

/** Why a submit is refused; `dnd` because the recipient wants no such messages. */
export type TestRefusal =
  | "invalid_destination"
  | "throttled"
  | "system_error"
  | "queue_full"
  | "dnd";

/** The answer to a submit. `drop_link` closes the connection without an answer. */
export type TestAnswer =
  | { kind: "accept"; afterMs: number }
  | { kind: "refuse"; reason: TestRefusal }
  | { kind: "none" }
  | { kind: "drop_link" };

/** A receipt of the submit; `afterMs` counts from the submit. */
export interface TestReceipt {
  afterMs: number;
  state: "delivered" | "undelivered" | "expired";
  error: "none" | "absent_subscriber" | "unknown_subscriber" | "validity_expired";
  /** How the message id is written: as in the answer, or in decimal where that was hexadecimal. */
  idForm: "as_answered" | "decimal";
}

/** The answer and the receipts of one submit. */
export interface TestPlan {
  answer: TestAnswer;
  receipts: readonly TestReceipt[];
}

/** The command_status, of the vendor range (SMPP 3.4 section 5.1.3), with which the simulator refuses for `dnd`. */
export const DND_STATUS = 0x420;

/** How long numbers that end in 9913 answer "message queue full". */
const QUEUE_FULL_MS = 5000;

const ACCEPT: TestAnswer = { kind: "accept", afterMs: 0 };
const DELIVERED: TestReceipt = {
  afterMs: 1000,
  state: "delivered",
  error: "none",
  idForm: "as_answered",
};
const PLAIN: TestPlan = { answer: ACCEPT, receipts: [DELIVERED] };

function refuse(reason: TestRefusal): TestPlan {
  return { answer: { kind: "refuse", reason }, receipts: [] };
}

function failed(state: TestReceipt["state"], error: TestReceipt["error"]): TestReceipt {
  return { ...DELIVERED, state, error };
}

type PlanOf = (submitCount: number, sinceFirstMs: number) => TestPlan;

const PLANS: Readonly<Record<string, PlanOf>> = {
  "9901": () => ({ answer: ACCEPT, receipts: [failed("undelivered", "absent_subscriber")] }),
  "9902": () => ({ answer: ACCEPT, receipts: [failed("undelivered", "unknown_subscriber")] }),
  "9903": () => refuse("invalid_destination"),
  "9904": (submitCount) => (submitCount <= 2 ? refuse("throttled") : PLAIN),
  "9905": () => ({ answer: ACCEPT, receipts: [] }),
  "9906": () => ({
    answer: ACCEPT,
    receipts: [failed("undelivered", "absent_subscriber"), { ...DELIVERED, afterMs: 3000 }],
  }),
  "9907": () => ({
    answer: { kind: "accept", afterMs: 300 },
    receipts: [{ ...DELIVERED, afterMs: 0 }],
  }),
  "9908": () => ({ answer: { kind: "none" }, receipts: [{ ...DELIVERED, afterMs: 3000 }] }),
  "9909": () => ({ answer: { kind: "none" }, receipts: [] }),
  "9910": () => ({ answer: ACCEPT, receipts: [failed("expired", "validity_expired")] }),
  "9911": () => ({ answer: { kind: "drop_link" }, receipts: [] }),
  "9912": (submitCount) => (submitCount === 1 ? refuse("system_error") : PLAIN),
  "9913": (_, sinceFirstMs) => (sinceFirstMs < QUEUE_FULL_MS ? refuse("queue_full") : PLAIN),
  "9914": () => ({
    answer: ACCEPT,
    receipts: [DELIVERED, { ...DELIVERED, afterMs: 1100 }, { ...DELIVERED, afterMs: 1200 }],
  }),
  "9915": () => ({ answer: ACCEPT, receipts: [{ ...DELIVERED, idForm: "decimal" }] }),
  "9916": () => refuse("dnd"),
};

/**
 * Plans a submit by the last four digits of the recipient; other numbers are delivered after one second.
 * `submitCount` counts the submits of this message from 1; `sinceFirstMs` is the time since the first of them.
 */
export function planSubmit(
  destination: string,
  submitCount: number,
  sinceFirstMs: number,
): TestPlan {
  return PLANS[destination.slice(-4)]?.(submitCount, sinceFirstMs) ?? PLAIN;
}
