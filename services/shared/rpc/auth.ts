/**
 * Authenticates and authorises callers: service tokens or client certificates, and the methods of each caller.
 */
import { timingSafeEqual } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { TOKEN_FORM, TOKEN_RULE } from "../io/base-config.ts";
import { ConfigError } from "../io/config.ts";
import { refusal } from "./error-status.ts";

/** One calling service. */
export type RpcCaller = {
  readonly name: string;
  /** The server accepts any of these, so that a token can be replaced without a gap. */
  readonly tokens: readonly string[];
  /** Common names of this caller's client certificates (mutual TLS). */
  readonly certificateNames?: readonly string[];
  /** `*`, `sms.v1.WalletService/*` or `sms.v1.WalletService/GetWallet`. */
  readonly methods: readonly string[];
};

/** Checks callers. */
export type RpcAuth = {
  /** Whether the token or the certificate is one of a caller's. */
  isKnown(authorization: string | undefined, certificateName?: () => string | undefined): boolean;
  /**
   * Returns the caller's name. Throws UNAUTHENTICATED for an unknown token and certificate, PERMISSION_DENIED
   * for a method that the caller may not use (`sms.v1.WalletService/GetWallet`). The reasons are outside our
   * registry: a service that another one refuses reports `internal_error`, not a failure of its own caller.
   */
  authorize(
    method: string,
    authorization: string | undefined,
    certificateName?: () => string | undefined,
  ): string;
};

/** Compares every known token in constant time, whichever one matches. */
export function createRpcAuth(callers: readonly RpcCaller[]): RpcAuth {
  const keys = callers.flatMap((caller) =>
    caller.tokens.map((token) => ({ caller, bytes: Buffer.from(`Bearer ${token}`) })),
  );
  const permitted = new Map<RpcCaller, Map<string, boolean>>(
    callers.map((caller) => [caller, new Map()]),
  );

  function byToken(authorization: string): RpcCaller | undefined {
    const given = Buffer.from(authorization);
    let found: RpcCaller | undefined;
    for (const { caller, bytes } of keys) {
      if (given.length === bytes.length && timingSafeEqual(given, bytes)) found = caller;
    }
    return found;
  }

  function byCertificate(name: string | undefined): RpcCaller | undefined {
    if (name === undefined) return undefined;
    return callers.find(({ certificateNames }) => certificateNames?.includes(name));
  }

  function isPermitted(caller: RpcCaller, method: string): boolean {
    const known = permitted.get(caller);
    const answer = known?.get(method);
    if (answer !== undefined) return answer;
    const computed = caller.methods.some((pattern) => matches(pattern, method));
    known?.set(method, computed);
    return computed;
  }

  function identify(
    authorization: string | undefined,
    certificateName: (() => string | undefined) | undefined,
  ): RpcCaller | undefined {
    const byHeader = authorization === undefined ? undefined : byToken(authorization);
    return byHeader ?? byCertificate(certificateName?.());
  }

  return {
    isKnown: (authorization, name) => identify(authorization, name) !== undefined,
    authorize(method, authorization, certificateName) {
      const caller = identify(authorization, certificateName);
      if (caller === undefined) {
        const text = "A valid service token is required.";
        throw refusal(Code.Unauthenticated, "service_unauthenticated", text);
      }
      if (!isPermitted(caller, method)) {
        const text = `${caller.name} may not call ${method}.`;
        throw refusal(Code.PermissionDenied, "service_not_permitted", text);
      }
      return caller.name;
    },
  };
}

const TOKEN_LENGTH_MIN = 16;

/**
 * Reads callers from `RPC_TOKENS`, a JSON object `{"gateway": {"tokens": ["…"], "methods":
 * ["sms.v1.MessagingService/*"], "certificates": ["gateway"]}}` (`token` for a single one). Without it,
 * `RPC_TOKEN`, the token that this process sends itself, may call everything. Throws a `ConfigError` that names
 * the fault, never a token. Returns no callers when neither is set.
 */
export function readRpcCallers(tokens: string | undefined, token?: string): RpcCaller[] {
  const callers: RpcCaller[] = [];
  if (tokens !== undefined && tokens !== "") {
    for (const [name, entry] of Object.entries(parseObject("RPC_TOKENS", tokens))) {
      callers.push(readCaller(name, entry));
    }
    if (callers.length === 0) throw new ConfigError(["RPC_TOKENS must name a caller"]);
    return callers;
  }
  if (token !== undefined && token !== "") {
    callers.push({ name: "service", tokens: [usableToken("RPC_TOKEN", token)], methods: ["*"] });
  }
  return callers;
}

/** The object that a setting holds as JSON. */
export function parseObject(setting: string, text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (!isObject(parsed))
    throw new ConfigError([`${setting} must be a JSON object of callers by name`]);
  return parsed;
}

function readCaller(name: string, entry: unknown): RpcCaller {
  if (!isObject(entry)) throw new ConfigError([`RPC_TOKENS.${name} must be an object`]);
  const { token } = entry;
  const tokens = [...texts(name, entry, "tokens")];
  if (typeof token === "string") tokens.push(token);
  const certificateNames = texts(name, entry, "certificates");
  const methods = readMethods(`RPC_TOKENS.${name}.methods`, entry.methods ?? []);
  if (tokens.length + certificateNames.length === 0) {
    throw new ConfigError([`RPC_TOKENS.${name} needs token, tokens or certificates`]);
  }
  for (const secret of tokens) usableToken(`RPC_TOKENS.${name}`, secret);
  return { name, tokens, certificateNames, methods };
}

/** A list of methods and patterns, at least one. */
export function readMethods(place: string, value: unknown): string[] {
  if (!isTexts(value)) throw new ConfigError([`${place} must be a list of texts`]);
  if (value.length === 0) throw new ConfigError([`${place} is empty`]);
  const wrong = value.find((method) => !METHOD_PATTERN.test(method));
  if (wrong === undefined) return value;
  throw new ConfigError([`${place}: "${wrong}" is not a method`]);
}

const METHOD_PATTERN = /^(\*|[\w.]+\/(\*|\w+))$/;

function matches(pattern: string, method: string): boolean {
  if (pattern === "*" || pattern === method) return true;
  return pattern.endsWith("/*") && method.startsWith(pattern.slice(0, -1));
}

/**
 * A header cannot carry this token, so no caller could match it; it may contain a line end by mistake.
 */
export function usableToken(name: string, token: string): string {
  if (token !== "" && !TOKEN_FORM.test(token)) {
    throw new ConfigError([`${name}: must be ${TOKEN_RULE}`]);
  }
  if (token.length >= TOKEN_LENGTH_MIN) return token;
  throw new ConfigError([`${name}: a token needs at least ${TOKEN_LENGTH_MIN} characters`]);
}

function texts(caller: string, entry: Record<string, unknown>, field: string): string[] {
  const value = entry[field] ?? [];
  if (isTexts(value)) return value;
  throw new ConfigError([`RPC_TOKENS.${caller}.${field} must be a list of texts`]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
