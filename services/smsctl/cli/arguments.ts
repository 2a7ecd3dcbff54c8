import { AppError } from "../../shared/core/errors.ts";

/** A command line taken apart: words, and options given as `--name value` or `--name`. */
export type Arguments = {
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
};

/** Options that take no value. */
const FLAGS = new Set(["json", "approve", "watch", "dry-run", "tls", "help"]);

/**
 * Takes a command line apart. `--name=value` works too; what follows `--` is words. A value that
 * begins with `--` must be given as `--name=--value`: apart, it is an option whose forerunner has
 * lost its value. An option given twice is refused: one of its values would be ignored.
 */
export function parseArguments(argv: readonly string[]): Arguments {
  const words: string[] = [];
  const options = new Map<string, string>();
  const set = (name: string, value: string): void => {
    if (options.has(name)) throw new AppError("validation_error", `--${name} is given twice.`);
    options.set(name, value);
  };
  for (let at = 0; at < argv.length; at += 1) {
    const item = argv[at] as string;
    if (item === "--") {
      words.push(...argv.slice(at + 1));
      break;
    }
    if (!item.startsWith("--")) {
      words.push(item);
      continue;
    }
    const [name, inline] = splitOnce(item.slice(2));
    if (inline !== undefined) set(name, inline);
    else if (FLAGS.has(name)) set(name, "true");
    else {
      at += 1;
      const value = argv[at];
      if (value === undefined || value.startsWith("--"))
        throw new AppError("validation_error", `--${name} needs a value.`);
      set(name, value);
    }
  }
  return { words, options };
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf("=");
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
