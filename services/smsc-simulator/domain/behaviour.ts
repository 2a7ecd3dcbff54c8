import { STATUS } from "../../shared/smpp/statuses.ts";
import { type Latency, type Random, seededRandom } from "./latency.ts";

/**
 * The fault catalogue with the point of each fault; README.md explains them. Faults at `submit` apply to a submit_sm or
 * data_sm that the test numbers would have accepted.
 */
export const FAULTS = {
  no_answer: "submit",
  late_answer: "submit",
  slow: "submit",
  wrong_sequence: "submit",
  generic_nack: "submit",
  unbind_on_submit: "submit",
  short_length: "submit",
  long_length: "submit",
  zero_length: "submit",
  huge_length: "submit",
  slow_loris: "submit",
  unknown_command: "submit",
  bad_body: "submit",
  bad_answer: "submit",
  receipt_before_answer: "submit",
  throttle: "submit",
  queue_full: "submit",
  system_error: "submit",
  drop_link: "submit",
  half_open: "submit",
  unbind_unanswered: "unbind",
  enquire_unanswered: "enquire_link",
  bind_refused: "bind",
  bind_unanswered: "bind",
  deliver_before_bind: "connect",
  outbind: "connect",
  parameter_refused: "parameter",
  parameter_drops_link: "parameter",
} as const;

/** A fault of the catalogue. */
export type FaultName = keyof typeof FAULTS;
/** The points of a session at which faults apply. */
export type FaultPoint = (typeof FAULTS)[FaultName];

/** The frequency and the parameters of a fault. */
export interface FaultSetting {
  /** The share of requests that the fault applies to, from 0 to 1; 1 by default. */
  probability: number;
  /** How many times the fault applies at most; no limit when absent. */
  limit?: number;
  /** The command_status of refusals. */
  status?: number;
  /** For `late_answer` and `slow`: how long the answer takes. For `slow_loris`: the time between two octets. */
  delay_ms?: number;
  /** For a fault at submit: it applies only to recipients whose digits begin with this text. */
  numbers?: string;
}

/** The settings that can change at run time. */
export interface Behaviour {
  latency_ms: Latency;
  /** Submits per second over all sessions; 0 is no limit. More are throttled. */
  rate_per_second: number;
  /** The command_status of submits over the rate or the window. */
  limit_status: number;
  /** Unanswered submits per session; more are throttled. */
  window: number;
  /**
   * The message ids in responses: one for each submit; one for all parts of a message; or one for all submits, as from
   * a carrier whose counter restarts.
   */
  message_ids: "unique" | "shared_by_parts" | "constant";
  /** The sc_interface_version in bind answers; 0 leaves it out, as SMPP 3.3 does. */
  interface_version: number;
  receipts: {
    /** Whether receipts carry the text, the optional parameters, or both. */
    format: "text" | "tlv" | "both";
    /** The delay of receipts where the test number says one second. */
    delay_ms: number;
    /** How long to wait before a refused or unanswered receipt is sent again. */
    resend_ms: number;
    /** The source address: the recipient as submitted, with a plus, without its country code, or none. */
    number: "as_is" | "plus" | "national" | "none";
    /** Whether each part of a long message gets receipts, or the last one alone. */
    parts: "each" | "last";
  };
  faults: Partial<Record<FaultName, FaultSetting>>;
}

/** The behaviour without faults and without latency. */
function calmBehaviour(): Behaviour {
  return {
    latency_ms: 0,
    rate_per_second: 0,
    limit_status: STATUS.ESME_RTHROTTLED,
    window: 1000,
    message_ids: "unique",
    interface_version: 0x34,
    receipts: {
      format: "both",
      delay_ms: 1000,
      resend_ms: 1000,
      number: "as_is",
      parts: "each",
    },
    faults: {},
  };
}

/** The current behaviour; decides whether a fault applies. */
export class BehaviourSwitch {
  current: Behaviour = calmBehaviour();
  random: Random = Math.random;
  #left = new Map<FaultName, number>();

  /** Applies a parsed change; a seed makes later random choices repeatable. */
  apply(change: BehaviourChange): void {
    const { seed, reset, receipts, ...rest } = change;
    const base = reset === true ? calmBehaviour() : this.current;
    this.current = { ...base, ...rest, receipts: { ...base.receipts, ...receipts } };
    if (seed !== undefined) this.random = seededRandom(seed);
    if (change.faults === undefined && reset !== true) return;
    this.#left = new Map();
    for (const [name, fault] of Object.entries(this.current.faults) as [
      FaultName,
      FaultSetting,
    ][]) {
      if (fault.limit !== undefined) this.#left.set(name, fault.limit);
    }
  }

  /** The first fault that applies at this point, if any. */
  strike(point: FaultPoint, recipient = ""): ({ name: FaultName } & FaultSetting) | undefined {
    for (const name in this.current.faults) {
      const fault = name as FaultName;
      if (FAULTS[fault] !== point) continue;
      const setting = this.current.faults[fault] as FaultSetting;
      const left = this.#left.get(fault) ?? Number.POSITIVE_INFINITY;
      if (left <= 0) continue;
      if (!recipient.startsWith(setting.numbers ?? "")) continue;
      if (setting.probability < 1 && this.random() >= setting.probability) continue;
      this.#left.set(fault, left - 1);
      return { name: fault, ...setting };
    }
    return undefined;
  }
}

/** A change of behaviour: absent members stay; `faults` replaces all faults. */
export type BehaviourChange = Partial<Omit<Behaviour, "receipts">> & {
  receipts?: Partial<Behaviour["receipts"]>;
  seed?: number;
  reset?: boolean;
};
