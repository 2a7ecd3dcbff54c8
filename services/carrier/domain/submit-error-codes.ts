/**
 * Refusals of a submit that have an error code of ours, by the connector's setting `submit_error_codes`. Such a refusal
 * is permanent, also where its status has another meaning at other carriers.
 */
import type { PartOutcome } from "./message.ts";

/** A carrier's status to our error code. */
export type SubmitErrorCodes = ReadonlyMap<number, string>;

/** The codes of an SMPP connector, by hexadecimal command_status. */
export function smppSubmitErrors(own: Readonly<Record<string, string>>): SubmitErrorCodes {
  return new Map(Object.entries(own).map(([status, code]) => [Number(status), code]));
}

/** A permanent refusal with a code of ours. */
export function refusedWith(code: string, errorCode: string): PartOutcome {
  return { kind: "refused", code, disposition: "permanent", errorCode };
}
