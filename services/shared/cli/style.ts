import { AppError } from "../core/errors.ts";
import type { Options } from "./options.ts";
import { FORMATS, type Format, type OutputStyle } from "./output.ts";

/** The output that `-o`, `--json`, `--utc` and the terminal ask for. NO_COLOR and FORCE_COLOR are honoured. */
export function outputStyle(options: Options): OutputStyle {
  const { stdout } = process;
  return {
    format: readFormat(options),
    isUtc: options.isSet("utc"),
    // A pipe gets every column: `grep` and `less` have no width.
    width: stdout.isTTY ? stdout.columns : widthIn(process.env),
    isColoured: stdout.isTTY === true && stdout.hasColors(),
  };
}

function readFormat(options: Options): Format {
  const given = options.optional("output");
  const isJson = options.isSet("json");
  if (given === undefined) return isJson ? "json" : "table";
  const format = FORMATS.find((one) => one === given);
  if (format === undefined || (isJson && format !== "json")) {
    const known = FORMATS.join(", ");
    throw new AppError("validation_error", `-o must be one of ${known}, and --json is -o json.`);
  }
  return format;
}

/** The width of a pipe that shells and tests may name. */
function widthIn(env: NodeJS.ProcessEnv): number | undefined {
  const width = Number(env.COLUMNS);
  return Number.isInteger(width) && width > 0 ? width : undefined;
}
