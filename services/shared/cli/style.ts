import { AppError } from "../core/errors.ts";
import type { Options } from "./options.ts";
import { FORMATS, type Format, type OutputStyle } from "./output.ts";

/** The output that `-o`, `--json`, `--utc` and the terminal ask for. NO_COLOR and FORCE_COLOR are honoured. */
export function outputStyle(options: Options): OutputStyle {
  const { stdout } = process;
  return {
    format: readFormat(options),
    isUtc: options.isSet("utc"),
    width: terminalWidth(stdout, process.env),
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

/**
 * The columns of the terminal; undefined for no limit. A pipe gets every column unless COLUMNS says otherwise: `grep`
 * and `less` have no width. A terminal without a size, such as a serial line, has 0 columns.
 */
export function terminalWidth(
  stdout: { readonly isTTY?: boolean; readonly columns?: number },
  env: NodeJS.ProcessEnv,
): number | undefined {
  const widths = [stdout.isTTY === true ? stdout.columns : undefined, Number(env.COLUMNS)];
  return widths.find((width) => Number.isInteger(width) && Number(width) > 0);
}
