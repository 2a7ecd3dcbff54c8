import { readFileSync } from "node:fs";
import { AppError } from "../core/errors.ts";
import { parseAmount } from "../core/money.ts";
import type { ParsedCommand } from "./definition.ts";
import { INSTANT_FORMS, parseWhen } from "./time.ts";

/** Typed access to a command's words and options; every error names the expected form. */
export type Options = ReturnType<typeof createOptions>;

export function createOptions({ options, args: words }: ParsedCommand) {
  function optional(name: string): string | undefined {
    return options.get(name);
  }

  function required(name: string): string {
    const value = optional(name);
    if (value === undefined || value === "") throw wrong(`--${name} is required.`);
    return value;
  }

  function read<T>(name: string, parse: (text: string) => T | undefined, expected: string) {
    const value = optional(name);
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if (parsed === undefined) throw wrong(`--${name} must be ${expected}.`);
    return parsed;
  }

  function boolean(name: string): boolean | undefined {
    const parse = (text: string) => (text === "true" ? true : text === "false" ? false : undefined);
    return read(name, parse, "true or false");
  }

  /** The text of the file that an option names, or of standard input when it is `-`. */
  function file(name: string): string | undefined {
    const path = optional(name);
    if (path === undefined) return undefined;
    let text: string;
    try {
      text = readFileSync(path === "-" ? 0 : path, "utf8");
    } catch (error) {
      throw wrong(`--${name} ${path} cannot be read: ${(error as Error).message}`);
    }
    // An unattached standard input reads as empty too, and an empty value would remove the stored one.
    if (path === "-" && text.trim() === "") throw wrong(`--${name} has no input.`);
    return text;
  }

  /**
   * The items of a list; none when the option is absent. Rejects an empty option: to the services an empty
   * list means "any", which an empty shell variable must not cause.
   */
  function list(name: string): string[] {
    const value = optional(name);
    if (value === undefined) return [];
    const items = value.split(",").map((item) => item.trim());
    const named = items.filter((item) => item !== "");
    if (named.length === 0) throw wrong(`--${name} must not be empty.`);
    return named;
  }

  /** Splits each item at its first `mark`. */
  function pairs(name: string, items: readonly string[], mark: string): Record<string, string> {
    const found = new Map<string, string>();
    for (const item of items) {
      const at = item.indexOf(mark);
      // The item itself may hold a credential.
      if (at < 1) throw wrong(`--${name} must be given as NAME${mark}VALUE.`);
      const key = item.slice(0, at).trim();
      if (found.has(key)) throw wrong(`--${name} has ${key} twice.`);
      found.set(key, item.slice(at + 1).trim());
    }
    return Object.fromEntries(found);
  }

  function map(name: string): Record<string, string> | undefined {
    return optional(name) === undefined ? undefined : pairs(name, list(name), "=");
  }

  /** An instant under one of two names, not under both. */
  function either(name: string, olderName: string): number | undefined {
    if (name !== olderName && optional(name) !== undefined && optional(olderName) !== undefined) {
      throw wrong(`--${name} and --${olderName} are the same: give one.`);
    }
    const given = optional(name) === undefined ? olderName : name;
    return read(given, (text) => parseWhen(text, Date.now()), INSTANT_FORMS);
  }

  /** The word at a place after the command, counted from 0. */
  function word(at: number, what: string): string {
    const value = words[at];
    if (value === undefined) throw wrong(`${what} is missing.`);
    return value;
  }

  return {
    optional,
    required,
    isSet: (name: string) => boolean(name) === true,
    word,
    /** A value given by an option or as the first word; both is an error, as one would be ignored. */
    optionOrWord(name: string, what: string): string {
      if (optional(name) === undefined) return word(0, what);
      if (words[0] !== undefined) throw wrong(`${what} is given twice: --${name}, ${words[0]}.`);
      return required(name);
    },
    /** All words, at least one. */
    words(what: string): readonly string[] {
      word(0, what);
      return words;
    },
    /** All words, possibly none. */
    rest: () => words,
    file,
    /**
     * A secret from `--name`, or from the file `--name-file`, because the process list shows arguments.
     * Rejects an empty secret: to the services it means "keep the stored one".
     */
    secret(name: string): string | undefined {
      const given = optional(name);
      const read = file(`${name}-file`)?.replace(/\r?\n$/, "");
      if (given !== undefined && read !== undefined) throw wrong(`--${name} is given twice.`);
      const value = given ?? read;
      if (value === "") throw wrong(`--${name} must not be empty.`);
      return value;
    },
    whole: (name: string) => read(name, wholeNumber, "a whole number"),
    /** A count of at least 1, such as binds: to the services 0 would mean their default. */
    count: (name: string) =>
      read(
        name,
        (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
        "a whole number of at least 1",
      ),
    /** A whole number, or a word for the service's default: the update then names the field and leaves it empty. */
    wholeOr: (name: string, word: string) =>
      read(name, (text) => (text === word ? -1 : wholeNumber(text)), `a whole number or ${word}`),
    /** A text that must not be empty: to the services empty means the default. */
    named: (name: string) =>
      read(name, (text) => (text === "" ? undefined : text), "given a value"),
    amount: (name: string) => read(name, parseAmount, "an amount such as 100.00"),
    boolean,
    /** An instant in milliseconds, or an age before now. */
    instant: (name: string) => read(name, (text) => parseWhen(text, Date.now()), INSTANT_FORMS),
    /** The range of a list: at or after `--since`, before `--until`. The older names also work. */
    range(sinceName = "from", untilName = "to"): { sinceMs?: number; untilMs?: number } {
      return defined({
        sinceMs: either("since", sinceName),
        untilMs: either("until", untilName),
      });
    },
    list,
    /** A list of `NAME=VALUE`, undefined when the option is absent. */
    map,
    /** A list of `NAME=VALUE`; the word `none` makes an empty one. */
    mapOrNone: (name: string) => (optional(name) === "none" ? {} : map(name)),
    /** The headers of a file, each as `Name: value` on a line of its own. */
    headers(name: string): Record<string, string> | undefined {
      const lines = file(name)
        ?.split("\n")
        .filter((line) => line.trim() !== "");
      return lines === undefined ? undefined : pairs(name, lines, ":");
    },
  };
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function wrong(text: string): AppError {
  return new AppError("validation_error", text);
}

/** Drops undefined values, so that defaults or stored values stay. */
export function defined<T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
