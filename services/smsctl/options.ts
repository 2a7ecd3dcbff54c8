import { AppError } from "../shared/core/errors.ts";
import { parseAmount } from "../shared/core/money.ts";
import { parseInstant } from "../shared/core/rfc3339.ts";
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

  return {
    optional,
    required,
    isSet: (name: string) => optional(name) === "true",
    /** The word at a place after the command's two words. */
    word(at: number, what: string): string {
      const value = words[at];
      if (value === undefined) throw wrong(`${what} is missing.`);
      return value;
    },
    optionalWord: (at: number) => words[at],
    whole: (name: string) =>
      read(name, (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined), "a whole number"),
    amount: (name: string) => read(name, parseAmount, "an amount such as 100.00"),
    boolean: (name: string) =>
      read(
        name,
        (text) => (text === "true" ? true : text === "false" ? false : undefined),
        "true or false",
      ),
    instant: (name: string) => read(name, parseInstant, "an RFC 3339 date-time"),
    list: (name: string) =>
      optional(name)
        ?.split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "") ?? [],
  };
}

function wrong(text: string): AppError {
  return new AppError("validation_error", text);
}
