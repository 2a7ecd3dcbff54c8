import type { PduOf } from "../../shared/smpp/pdu.ts";
import type { TestPlan } from "../../shared/smpp/test-numbers.ts";
import type { SeenSubmit } from "./counters.ts";
import type { Peer } from "./sessions.ts";

/** A submit_sm or data_sm that has no answer yet. */
export interface Submit {
  pdu: PduOf<"submit_sm"> | PduOf<"data_sm">;
  peer: Peer;
  seen: SeenSubmit;
  plan: TestPlan;
  messageId: string;
}

/** The ways to end a submit; `submits.ts` implements them. */
export interface SubmitActions {
  /** Accepts after the latency and `extraMs`; the receipts follow. */
  accept(submit: Submit, extraMs: number): void;
  /** Writes the accepting answer; `sequence` may be a wrong one. */
  answer(submit: Submit, sequence?: number): void;
  refuse(submit: Submit, status: number): void;
  /** Accepts the message without an answer. */
  leave(submit: Submit): void;
  /** Counts a submit as refused, without an answer; the caller answers it or closes the link. */
  leaveRefused(submit: Submit): void;
  /** Accepts the message and closes the connection without an answer. */
  drop(submit: Submit): void;
  sendReceipts(submit: Submit, sinceAnswerMs: number): void;
}
