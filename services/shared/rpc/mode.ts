import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { invert } from "../core/invert.ts";
import { checkKnown } from "../core/limits.ts";

/** Live or test traffic. */
export type ModeName = "live" | "test";

/** Our modes in the protocol. */
export const WIRE_MODE: Readonly<Record<ModeName, Mode>> = { live: Mode.LIVE, test: Mode.TEST };

const MODES = invert(WIRE_MODE);

/** Reads a mode; undefined stands for both. Throws `validation_error` for an unknown one. */
export function readMode(mode: Mode): ModeName | undefined {
  return mode === Mode.UNSPECIFIED ? undefined : checkKnown("mode", MODES.get(mode));
}
