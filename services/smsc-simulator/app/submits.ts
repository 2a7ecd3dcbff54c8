import { STATUS } from "../../shared/smpp/statuses.ts";
import { DND_STATUS, planSubmit, type TestPlan } from "../../shared/smpp/test-numbers.ts";
import type { BehaviourSwitch } from "../domain/behaviour.ts";
import { placeOf, submitIdentity } from "../domain/deduplicate.ts";
import { sampleLatency } from "../domain/latency.ts";
import { SlidingRate } from "../domain/sliding-rate.ts";
import type { Counters } from "./counters.ts";
import type { Deliveries } from "./deliveries.ts";
import { actOnFault } from "./fault-actions.ts";
import { CONSTANT_ID, type MessageStore } from "./message-store.ts";
import { isReceiptWanted, receiptDelivery } from "./receipt-delivery.ts";
import type { Peer } from "./sessions.ts";
import type { Submit, SubmitActions } from "./submit.ts";

const REFUSALS = {
  invalid_destination: STATUS.ESME_RINVDSTADR,
  throttled: STATUS.ESME_RTHROTTLED,
  system_error: STATUS.ESME_RSYSERR,
  queue_full: STATUS.ESME_RMSGQFUL,
  dnd: DND_STATUS,
} as const;

/** The default delay of receipts in the test numbers; `receipts.delay_ms` replaces it. */
const PLAIN_DELAY_MS = 1000;

/** Answers submits: faults of parameters decide first, then the limits, the test numbers, and the other faults. */
export class Submits implements SubmitActions {
  readonly behaviour: BehaviourSwitch;
  readonly #counters: Counters;
  readonly #deliveries: Deliveries;
  readonly #messages: MessageStore;
  readonly #admitted = new SlidingRate();

  constructor(parts: {
    behaviour: BehaviourSwitch;
    counters: Counters;
    deliveries: Deliveries;
    messages: MessageStore;
  }) {
    this.behaviour = parts.behaviour;
    this.#counters = parts.counters;
    this.#deliveries = parts.deliveries;
    this.#messages = parts.messages;
  }

  handle(pdu: Submit["pdu"], peer: Peer): void {
    const nowMs = performance.now();
    const destination = destinationOf(pdu);
    this.#counters.arrived(nowMs);
    const seen = this.#counters.see(submitIdentity(pdu), nowMs);
    peer.open++;
    const isOver = this.#isOverLimit(peer, nowMs);
    const plan: TestPlan = isOver
      ? { answer: { kind: "refuse", reason: "throttled" }, receipts: [] }
      : planSubmit(destination, seen.count, nowMs - seen.firstAtMs);
    // A submit over the limits does not use up a test number's refusals.
    if (isOver) seen.count--;
    else this.#admitted.add(nowMs);
    const submit: Submit = { pdu, peer, seen, plan, messageId: this.#idOf(pdu) };
    const { answer } = plan;
    const fault = isEmpty(pdu.tlvs) ? undefined : this.behaviour.strike("parameter", destination);
    if (fault !== undefined) actOnFault(this, submit, fault);
    else if (isOver) this.refuse(submit, this.behaviour.current.limit_status);
    else if (answer.kind === "refuse") this.refuse(submit, REFUSALS[answer.reason]);
    else if (answer.kind === "drop_link") this.drop(submit);
    else if (answer.kind === "none") {
      this.leave(submit);
      this.sendReceipts(submit, 0);
    } else {
      const struck = this.behaviour.strike("submit", destination);
      if (struck === undefined) this.accept(submit, answer.afterMs);
      else actOnFault(this, submit, struck);
    }
  }

  accept(submit: Submit, extraMs: number): void {
    this.#count(submit, false);
    const latencyMs = this.#latencyMs();
    const isReceiptFirst = submit.plan.receipts[0]?.afterMs === 0;
    if (isReceiptFirst) this.sendReceipts(submit, 0);
    // Of two timers with the same end the one set first fires first.
    after(latencyMs + extraMs, () => this.answer(submit));
    if (!isReceiptFirst) this.sendReceipts(submit, latencyMs);
  }

  answer(submit: Submit, sequence?: number): void {
    const { pdu, peer, messageId } = submit;
    peer.open--;
    peer.session.respond(pdu, { body: { messageId }, ...(sequence && { sequence }) });
  }

  refuse(submit: Submit, status: number): void {
    this.#count(submit, true);
    after(this.#latencyMs(), () => {
      submit.peer.open--;
      submit.peer.session.respond(submit.pdu, { status, body: { messageId: "" } });
    });
  }

  leave(submit: Submit): void {
    this.#count(submit, false);
    submit.peer.open--;
    submit.peer.session.ignore();
  }

  leaveRefused(submit: Submit): void {
    this.#count(submit, true);
    submit.peer.open--;
    submit.peer.session.ignore();
  }

  drop(submit: Submit): void {
    this.leave(submit);
    submit.peer.session.close("socket_error");
  }

  sendReceipts(submit: Submit, sinceAnswerMs: number): void {
    const { pdu, peer, messageId, plan } = submit;
    const { format, number, parts, delay_ms: delayMs } = this.behaviour.current.receipts;
    const place = parts === "last" ? placeOf(pdu) : undefined;
    if (place !== undefined && place.sequence < place.total) return;
    const submittedAt = new Date();
    const wanted = plan.receipts.filter((receipt) =>
      isReceiptWanted(pdu.body.registeredDelivery, receipt),
    );
    this.#counters.report(
      destinationOf(pdu),
      wanted.map(({ state }) => state),
    );
    const shiftMs = plan.receipts[0]?.afterMs === PLAIN_DELAY_MS ? delayMs - PLAIN_DELAY_MS : 0;
    for (const receipt of plan.receipts) {
      const afterMs = sinceAnswerMs + receipt.afterMs + shiftMs;
      this.#messages.note(messageId, receipt.state, submittedAt.getTime() + afterMs);
      if (!wanted.includes(receipt)) continue;
      const { systemId } = peer;
      const content = { systemId, submit: pdu, messageId, receipt, format, number, submittedAt };
      const doneAt = new Date(submittedAt.getTime() + afterMs);
      this.#deliveries.add(receiptDelivery(content, doneAt), afterMs);
    }
  }

  #isOverLimit(peer: Peer, nowMs: number): boolean {
    const { rate_per_second: rate, window } = this.behaviour.current;
    return peer.open > window || (rate > 0 && this.#admitted.count(nowMs) >= rate);
  }

  /** The id of a submit, as `message_ids` of the behaviour says. */
  #idOf(pdu: Submit["pdu"]): string {
    const ids = this.behaviour.current.message_ids;
    if (ids === "constant") return CONSTANT_ID;
    const place = ids === "shared_by_parts" ? placeOf(pdu) : undefined;
    if (place === undefined) return this.#messages.nextId();
    const { sourceAddr, destinationAddr } = pdu.body;
    const message = `${sourceAddr}/${destinationAddr}/${place.reference}/${place.total}`;
    return this.#messages.sharedId(message);
  }

  #latencyMs(): number {
    return sampleLatency(this.behaviour.current.latency_ms, this.behaviour.random);
  }

  #count(submit: Submit, isRefused: boolean): void {
    this.#counters.countSubmit(destinationOf(submit.pdu), submit.seen, isRefused);
    if (!isRefused) this.#messages.add(submit.messageId);
  }
}

/** The digits of the recipient, as counters and test numbers use them. */
function destinationOf(pdu: Submit["pdu"]): string {
  const { destinationAddr } = pdu.body;
  return destinationAddr.startsWith("+") ? destinationAddr.slice(1) : destinationAddr;
}

function isEmpty(tlvs: object): boolean {
  return Object.keys(tlvs).length === 0;
}

function after(delayMs: number, act: () => void): void {
  if (delayMs <= 0) act();
  else setTimeout(act, delayMs);
}
