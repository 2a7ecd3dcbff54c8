/**
 * Settings come from the environment once, at start, through a schema. All faults are reported together, by
 * name, so that an operator fixes them in one go.
 */
import { isNetwork } from "../core/networks.ts";

/** Parses one setting, or throws an `Error` whose message says what is expected. */
export type Setting<T> = {
  readonly read: (text: string) => T;
  /** The value when the variable is absent or empty; without it the variable is required. */
  readonly fallback: T | undefined;
  /** JSON Schema of the value as an operator writes it in YAML; the chart's schema has it. */
  readonly schema: SettingSchema;
};

/** The keywords of JSON Schema that settings use; patterns are RE2, which Helm reads. */
export type SettingSchema = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
};

/** A schema: settings by variable name. */
export type Schema = Readonly<Record<string, Setting<unknown>>>;

/** The frozen result of reading a schema. */
export type Config<S extends Schema> = {
  readonly [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never;
};

/** Thrown for missing or invalid settings; the message lists every fault, one per line. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are not right:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.name = "ConfigError";
    this.faults = faults;
  }
}

/** Reads every setting of a schema from an environment. */
export function readConfig<S extends Schema>(env: NodeJS.ProcessEnv, schema: S): Config<S> {
  const faults: string[] = [];
  const result: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(schema)) {
    const text = env[name];
    if (text === undefined || text === "") {
      if (setting.fallback === undefined) faults.push(`${name} is required`);
      result[name] = setting.fallback;
      continue;
    }
    try {
      result[name] = setting.read(text);
    } catch (error) {
      faults.push(faultOf(name, error));
    }
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(result) as Config<S>;
}

function faultOf(name: string, error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.startsWith(name) ? text : `${name}: ${text}`;
}

/** The distinct faults that these readers report; continues after a reader that throws. */
export function faultsOf(readers: readonly (() => unknown)[]): readonly string[] {
  const faults = new Set<string>();
  for (const read of readers) {
    try {
      read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const fault of error.faults) faults.add(fault);
    }
  }
  return [...faults];
}

/** Any text. */
export function text(fallback?: string): Setting<string> {
  return { read: (value) => value, fallback, schema: { type: "string" } };
}

/** A text of a given form; `what` names the form in the error. */
export function matching(form: RegExp, what: string, fallback?: string): Setting<string> {
  return {
    fallback,
    schema: { type: "string", pattern: form.source },
    read(value) {
      if (form.test(value)) return value;
      throw new Error(`must be ${what}`);
    },
  };
}

/** A text that a parser accepts; the parser's error says what is wrong. */
export function readBy(read: (value: string) => unknown, fallback?: string): Setting<string> {
  return {
    fallback,
    schema: { type: "string" },
    read(value) {
      read(value);
      return value;
    },
  };
}

/** True for an http or https URL. `localhost:9100` parses as a URL too, with the scheme `localhost`. */
export function isWebAddress(value: string): boolean {
  return /^https?:\/\//.test(value) && URL.canParse(value);
}

/** A URL that is shown to others. */
export function webAddress(fallback?: string): Setting<string> {
  const { read } = readBy((value) => {
    if (isWebAddress(value)) return;
    throw new Error("must be an address such as https://sms.example.com");
  });
  return { read, fallback, schema: { type: "string", pattern: "^(https?://.+)?$" } };
}

/** A network in CIDR notation, or an address. */
export function network(): Setting<string> {
  return {
    fallback: undefined,
    schema: {
      type: "string",
      pattern: "^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)(/[0-9]{1,3})?$",
    },
    read(value) {
      if (isNetwork(value)) return value;
      throw new Error("must be networks such as 10.0.0.0/8 or fd00::/8");
    },
  };
}

/** One of a fixed set of words. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  fallback?: Word,
): Setting<Word> {
  return {
    fallback,
    schema: { enum: words },
    read(value) {
      const word = words.find((candidate) => candidate === value);
      if (word === undefined) throw new Error(`must be one of ${words.join(", ")}`);
      return word;
    },
  };
}

/** A whole number within bounds. */
export function whole(min: number, max: number, fallback?: number): Setting<number> {
  return {
    fallback,
    schema: { type: "integer", minimum: min, maximum: max },
    read(value) {
      const parsed = Number(value);
      if (!/^\d+$/.test(value) || parsed < min || parsed > max) {
        throw new Error(`must be a whole number from ${min} to ${max}`);
      }
      return parsed;
    },
  };
}

/** A ratio from 0 to 1. */
export function ratio(fallback?: number): Setting<number> {
  return {
    fallback,
    schema: { type: "number", minimum: 0, maximum: 1 },
    read(value) {
      const parsed = Number(value);
      if (!/^[\d.]+$/.test(value) || !(parsed >= 0 && parsed <= 1)) {
        throw new Error("must be a number from 0 to 1");
      }
      return parsed;
    },
  };
}

/** A duration in milliseconds, at most a year. */
export function durationMs(fallback?: number, leastMs = 0): Setting<number> {
  return whole(leastMs, 31_536_000_000, fallback);
}

/** The longest delay of a timer, in milliseconds (24.8 days); a longer one fires at once. */
const TIMER_MAX_MS = 2_147_483_647;

/** A duration for a timer, in milliseconds; `leastMs` keeps loops from running without a pause. */
export function timerMs(fallback: number, leastMs = 0): Setting<number> {
  return whole(leastMs, Math.floor(TIMER_MAX_MS / 1.25), fallback);
}

/** A TCP port; 0 lets the system choose. */
export function port(fallback?: number): Setting<number> {
  return whole(0, 65_535, fallback);
}

/** `true` or `false`. */
export function flag(fallback?: boolean): Setting<boolean> {
  return {
    fallback,
    schema: { type: "boolean" },
    read(value) {
      if (value === "true" || value === "1") return true;
      if (value === "false" || value === "0") return false;
      throw new Error("must be true or false");
    },
  };
}

/** A comma-separated list; each item goes through `item`. */
export function list<T>(item: Setting<T>, fallback?: readonly T[]): Setting<readonly T[]> {
  return {
    fallback,
    schema: listSchema(item.schema),
    read(value) {
      return value
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "")
        .map((part) => item.read(part));
    },
  };
}

/** A list is one text; a list of numbers may also be a single number. */
function listSchema({ type, pattern }: SettingSchema): SettingSchema {
  const isNumeric = type === "integer";
  const part = isNumeric ? "[0-9]+" : pattern?.replace(/^\^/, "").replace(/\$$/, "");
  if (part === undefined) return { type: "string" };
  return {
    type: isNumeric ? ["string", "integer"] : "string",
    ...(isNumeric ? { minimum: 0 } : {}),
    pattern: `^\\s*((${part})\\s*(,\\s*|$))*$`,
  };
}
