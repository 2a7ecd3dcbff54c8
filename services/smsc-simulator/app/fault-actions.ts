import { STATUS } from "../../shared/smpp/statuses.ts";
import type { FaultName, FaultSetting } from "../domain/behaviour.ts";
import {
  answerOctets,
  badAnswer,
  badBody,
  hugeLength,
  misstatedLength,
  unknownCommand,
  zeroLength,
} from "../domain/malformed-pdus.ts";
import type { Submit, SubmitActions } from "./submit.ts";

type Act = (submits: SubmitActions, submit: Submit, fault: FaultSetting) => void;

const WRONG_SEQUENCE_STEP = 1_000_000;
const LATE_MS = 15_000;
const SLOW_MS = 2000;
const OCTET_INTERVAL_MS = 500;
const ANSWER_AFTER_RECEIPT_MS = 300;
/** Time after which a frozen link is closed; the peer has closed it long before. */
const HALF_OPEN_MS = 120_000;

const refuse =
  (standard: number): Act =>
  (submits, submit, fault) =>
    submits.refuse(submit, fault.status ?? standard);

/** Accepts the message and writes the given octets instead of the answer. */
const answerWith =
  (octets: (submit: Submit) => Buffer): Act =>
  (submits, submit) => {
    submits.leave(submit);
    submits.sendReceipts(submit, 0);
    submit.peer.session.sendRaw(octets(submit));
  };

/** Writes the given octets and then accepts the message. */
const precedeWith =
  (octets: () => Buffer): Act =>
  (submits, submit) => {
    submit.peer.session.sendRaw(octets());
    submits.accept(submit, 0);
  };

const ACTIONS: Partial<Record<FaultName, Act>> = {
  no_answer: (submits, submit) => submits.leave(submit),
  late_answer: (submits, submit, fault) => submits.accept(submit, fault.delay_ms ?? LATE_MS),
  slow: (submits, submit, fault) => submits.accept(submit, fault.delay_ms ?? SLOW_MS),
  wrong_sequence: (submits, submit) => {
    submits.leave(submit);
    submits.sendReceipts(submit, 0);
    submits.answer(
      { ...submit, peer: { ...submit.peer } },
      submit.pdu.sequence + WRONG_SEQUENCE_STEP,
    );
  },
  generic_nack: (submits, submit, fault) => {
    submits.leaveRefused(submit);
    submit.peer.session.nack(submit.pdu.sequence, fault.status ?? STATUS.ESME_RSYSERR);
  },
  unbind_on_submit: (submits, submit) => {
    submits.leave(submit);
    void submit.peer.session.unbind();
  },
  short_length: answerWith(({ pdu, messageId }) => misstatedLength(pdu, messageId, -8)),
  long_length: answerWith(({ pdu, messageId }) => misstatedLength(pdu, messageId, 8)),
  zero_length: answerWith(zeroLength),
  huge_length: answerWith(hugeLength),
  bad_answer: answerWith(({ pdu }) => badAnswer(pdu)),
  unknown_command: precedeWith(unknownCommand),
  bad_body: precedeWith(badBody),
  slow_loris: (submits, submit, fault) => {
    submits.leave(submit);
    submits.sendReceipts(submit, 0);
    const octets = answerOctets(submit.pdu, submit.messageId);
    dribble(submit, octets, fault.delay_ms ?? OCTET_INTERVAL_MS);
  },
  receipt_before_answer: (submits, submit) => {
    const [first] = submit.plan.receipts;
    const receipts = first === undefined ? [] : [{ ...first, afterMs: 0 }];
    submits.accept({ ...submit, plan: { ...submit.plan, receipts } }, ANSWER_AFTER_RECEIPT_MS);
  },
  throttle: refuse(STATUS.ESME_RTHROTTLED),
  queue_full: refuse(STATUS.ESME_RMSGQFUL),
  system_error: refuse(STATUS.ESME_RSYSERR),
  drop_link: (submits, submit) => submits.drop(submit),
  parameter_refused: refuse(STATUS.ESME_RINVOPTPARSTREAM),
  // The carrier does not have the message, but its client cannot know that.
  parameter_drops_link: (submits, submit) => {
    submits.leaveRefused(submit);
    submit.peer.session.close("socket_error");
  },
  half_open: (submits, submit) => {
    submits.leave(submit);
    const { session } = submit.peer;
    session.freeze();
    setTimeout(() => session.close(), HALF_OPEN_MS).unref();
  },
};

/** Applies a fault of the catalogue to a submit. */
export function actOnFault(
  submits: SubmitActions,
  submit: Submit,
  fault: { name: FaultName } & FaultSetting,
): void {
  const act = ACTIONS[fault.name];
  if (act === undefined) submits.accept(submit, 0);
  else act(submits, submit, fault);
}

/** Writes octet by octet until the session closes. */
function dribble(submit: Submit, octets: Buffer, intervalMs: number): void {
  const { session } = submit.peer;
  let at = 0;
  const timer = setInterval(() => {
    if (at >= octets.length || session.state === "closed") return clearInterval(timer);
    session.sendRaw(octets.subarray(at, ++at));
  }, intervalMs);
  timer.unref();
}
