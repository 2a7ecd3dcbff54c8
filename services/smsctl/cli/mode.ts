import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import type { CommandContext } from "./command.ts";

/** The mode that `--mode` names; live by default. */
export function readMode(options: CommandContext["options"]): Mode {
  const mode = options.optional("mode") ?? "live";
  if (mode === "live") return Mode.LIVE;
  if (mode === "test") return Mode.TEST;
  throw new AppError("validation_error", "--mode must be live or test.");
}
