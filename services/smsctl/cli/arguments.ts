import { AppError } from "../../shared/core/errors.ts";

/** A parsed command line: words, and options given as `--name value` or `--name`. */
export type Arguments = {
  readonly words: readonly string[];
  readonly options: ReadonlyMap<string, string>;
};

/** Options that take no value. */
const FLAGS = new Set(["json", "approve", "watch", "dry-run", "tls", "help"]);

/**
 * Parses a command line. `--name=value` works too; everything after `--` is a word. A value that
 * begins with `--` must be given as `--name=--value`, else it would be read as an option. An option
 * given twice is an error, because one of its values would be ignored.
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
