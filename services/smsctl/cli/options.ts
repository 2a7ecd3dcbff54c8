import { readFileSync } from "node:fs";
import { AppError } from "../../shared/core/errors.ts";
import { parseAmount } from "../../shared/core/money.ts";
import { parseInstant } from "../../shared/core/rfc3339.ts";
import type { Arguments } from "./arguments.ts";

/** Typed access to a command's options; every reader says what it expected. */
export type Options = ReturnType<typeof createOptions>;

/** Wraps parsed arguments. */
export function createOptions({ options, words }: Arguments) {
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
    // Where the terminal's input was not handed on it looks the same, and would take away what is there.
    if (path === "-" && text.trim() === "") throw wrong(`--${name} has no input.`);
    return text;
  }

  /**
   * The items of a list, none when the option is absent. An option that is there and names nothing is
   * refused: to the services an empty list means "any", which an empty shell variable must not say.
   */
  function list(name: string): string[] {
    const value = optional(name);
    if (value === undefined) return [];
    const items = value.split(",").map((item) => item.trim());
    const named = items.filter((item) => item !== "");
    if (named.length === 0) throw wrong(`--${name} must not be empty.`);
    return named;
  }

  /** What stands before and behind the first `mark` of each item. */
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

  /** The word at a place; the noun and the verb are the first two. */
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
    /** What may be given by an option or as the third word; both at once would leave one ignored. */
    optionOrWord(name: string, what: string): string {
      if (optional(name) === undefined) return word(2, what);
      if (words[2] !== undefined) throw wrong(`${what} is given twice: --${name}, ${words[2]}.`);
      return required(name);
    },
    /** The words from a place on, one at least. */
    words(at: number, what: string): string[] {
      word(at, what);
      return words.slice(at);
    },
    /** The words from a place on, if there are any. */
    rest: (at: number) => words.slice(at),
    file,
    /**
     * A secret, from `--name`, or from the file that `--name-file` names: arguments can be read in the list of
     * processes. An empty one is refused: to the services it means the one before.
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
    /** A number of things, such as binds: to the services 0 means their default, which it must not say by accident. */
    count: (name: string) =>
      read(
        name,
        (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
        "a whole number of at least 1",
      ),
    /** A whole number, or the word that leaves it to the service's own rule: the field is then named, and empty. */
    wholeOr: (name: string, word: string) =>
      read(name, (text) => (text === word ? -1 : wholeNumber(text)), `a whole number or ${word}`),
    /** A text that means the default to the services when it is empty. */
    named: (name: string) =>
      read(name, (text) => (text === "" ? undefined : text), "given a value"),
    amount: (name: string) => read(name, parseAmount, "an amount such as 100.00"),
    boolean,
    instant: (name: string) =>
      read(name, parseInstant, "a date-time with its zone, such as 2026-07-01T00:00:00Z"),
    list,
    /** A list of `NAME=VALUE`, undefined when the option is absent. */
    map,
    /** The same, and none of them for `none`. */
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

/** Leaves out what was not given, so that defaults or the old values hold. */
export function defined<T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
