/**
 * Decides whether submits carry optional parameters (SMPP 3.4 section 5.3). With the setting `auto` a link uses them
 * when the bind answer has sc_interface_version 0x34 or more (section 3.4), and stops when the carrier refuses them:
 *
 * - `unproven`: no submit with parameters was accepted yet.
 * - `proven`: one was. Refusals are about messages now.
 * - `suspected`: one was refused for an unclear reason, or the link closed on it. Submits go without parameters. If one
 *   is accepted, the state becomes `stopped`; if it is refused, `unproven`, and after `TRIALS_MAX` of these `proven`.
 * - `stopped`: the carrier refused the parameters. It stays so while the connector's settings stay.
 */
import { STATUS } from "../../shared/smpp/statuses.ts";
import type { SubmitOutcome } from "../../shared/smpp/submit-outcome.ts";

export type OptionalParameters = {
  /** Whether submits over a link with this sc_interface_version carry parameters now. */
  isOn(interfaceVersion: number | undefined): boolean;
  /**
   * Notes the outcome of a submit. Returns true when the refusal may be about its parameters: the carrier has
   * nothing of the message, which may go again without them.
   */
  note(outcome: SubmitOutcome, hadParameters: boolean): boolean;
};

const VERSION_MIN = 0x34;
const TRIALS_MAX = 5;

/** Refusals that are about an optional parameter. */
const PARAMETER_STATUSES: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVOPTPARSTREAM,
  STATUS.ESME_ROPTPARNOTALLWD,
  STATUS.ESME_RINVPARLEN,
  // An SMPP 3.3 carrier knows no optional parameters, and refuses the PDU as too long.
  STATUS.ESME_RINVCMDLEN,
  STATUS.ESME_RINVOPTPARAMVAL,
]);

/** Refusals that are about the addresses, so the carrier has read the whole PDU. */
const ADDRESS_STATUSES: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVSRCADR,
  STATUS.ESME_RINVDSTADR,
]);

/** Creates the state that all binds of a connector share; `setting` is `auto`, `always`, `never` or empty. */
export function createOptionalParameters(setting = "auto"): OptionalParameters {
  const isAuto = setting !== "always" && setting !== "never";
  let state: "unproven" | "proven" | "suspected" | "stopped" = "unproven";
  let trials = 0;

  function clearSuspicion(): void {
    if (state !== "suspected") return;
    trials += 1;
    state = trials < TRIALS_MAX ? "unproven" : "proven";
  }

  function noteWithParameters(outcome: SubmitOutcome): boolean {
    if (outcome.kind === "accepted" && state !== "stopped") state = "proven";
    if (outcome.kind === "refused" && PARAMETER_STATUSES.has(outcome.status)) {
      state = "stopped";
      return true;
    }
    if (state === "stopped" || state === "proven" || !isUnclear(outcome)) return false;
    state = "suspected";
    return outcome.kind === "refused";
  }

  return {
    isOn(interfaceVersion = 0) {
      if (!isAuto) return setting === "always";
      return interfaceVersion >= VERSION_MIN && state !== "suspected" && state !== "stopped";
    },
    note(outcome, hadParameters) {
      if (!isAuto) return false;
      if (hadParameters) return noteWithParameters(outcome);
      if (outcome.kind === "accepted" && state === "suspected") state = "stopped";
      else if (isUnclear(outcome)) clearSuspicion();
      return false;
    },
  };
}

/** A refusal with a reason that old carriers give for parameters, or a link that closed on the submit. */
function isUnclear(outcome: SubmitOutcome): boolean {
  if (outcome.kind === "unknown") return outcome.reason === "closed";
  if (outcome.kind !== "refused" || ADDRESS_STATUSES.has(outcome.status)) return false;
  return outcome.disposition === "permanent" || outcome.disposition === "temporary";
}
