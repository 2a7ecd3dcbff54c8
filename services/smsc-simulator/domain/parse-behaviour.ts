import type { BehaviourChange, FaultName, FaultSetting } from "./behaviour.ts";
import { FAULTS } from "./behaviour.ts";
import type { Latency } from "./latency.ts";

/** A request that the control port refuses; the text says which member is wrong. */
export class ControlError extends Error {}

type Json = Record<string, unknown>;

const LONGEST_MS = 600_000;
const MESSAGE_IDS = ["unique", "shared_by_parts", "constant"] as const;
const NUMBERS = ["as_is", "plus", "national", "none"] as const;

/** Reads the body of `POST /behaviour`. Throws ControlError for an unknown or wrong member. */
export function parseBehaviour(input: unknown): BehaviourChange {
  const json = objectOf(input, "body");
  const change: BehaviourChange = {};
  for (const [name, value] of Object.entries(json)) {
    if (name === "latency_ms") change.latency_ms = parseLatency(value);
    else if (name === "rate_per_second") change.rate_per_second = number(value, name, 0, 1e6);
    else if (name === "limit_status") change.limit_status = number(value, name, 1, 0xffffffff);
    else if (name === "window") change.window = number(value, name, 1, 100_000);
    else if (name === "interface_version") change.interface_version = number(value, name, 0, 255);
    else if (name === "message_ids") change.message_ids = oneOf(value, name, MESSAGE_IDS);
    else if (name === "seed") change.seed = number(value, name, 0, 2 ** 32 - 1);
    else if (name === "reset") change.reset = value === true;
    else if (name === "receipts") change.receipts = parseReceipts(objectOf(value, name));
    else if (name === "faults") change.faults = parseFaults(objectOf(value, name));
    else throw new ControlError(`${name} is not known`);
  }
  return change;
}

function parseLatency(value: unknown): Latency {
  if (typeof value === "number") return number(value, "latency_ms", 0, LONGEST_MS);
  const json = objectOf(value, "latency_ms");
  if ("min" in json) {
    const min = number(json.min, "latency_ms.min", 0, LONGEST_MS);
    return { min, max: number(json.max, "latency_ms.max", min, LONGEST_MS) };
  }
  const p50 = number(json.p50, "latency_ms.p50", 0.001, LONGEST_MS);
  return { p50, p99: number(json.p99, "latency_ms.p99", p50, LONGEST_MS) };
}

function parseReceipts(json: Json): NonNullable<BehaviourChange["receipts"]> {
  const receipts: NonNullable<BehaviourChange["receipts"]> = {};
  for (const [name, value] of Object.entries(json)) {
    if (name === "delay_ms") receipts.delay_ms = number(value, name, 0, LONGEST_MS);
    else if (name === "resend_ms") receipts.resend_ms = number(value, name, 10, LONGEST_MS);
    else if (name === "format") receipts.format = oneOf(value, name, ["text", "tlv", "both"]);
    else if (name === "number") receipts.number = oneOf(value, name, NUMBERS);
    else if (name === "parts") receipts.parts = oneOf(value, name, ["each", "last"]);
    else throw new ControlError(`receipts.${name} is not known`);
  }
  return receipts;
}

function parseFaults(json: Json): Partial<Record<FaultName, FaultSetting>> {
  const faults: Partial<Record<FaultName, FaultSetting>> = {};
  for (const [name, value] of Object.entries(json)) {
    if (!Object.hasOwn(FAULTS, name)) throw new ControlError(`faults.${name} is not known`);
    if (value === null || value === false) continue;
    faults[name as FaultName] = parseFault(value === true ? {} : objectOf(value, name), name);
  }
  return faults;
}

function parseFault(json: Json, fault: string): FaultSetting {
  const setting: FaultSetting = { probability: 1 };
  for (const [name, value] of Object.entries(json)) {
    const path = `faults.${fault}.${name}`;
    if (name === "probability") setting.probability = number(value, path, 0, 1);
    else if (name === "limit") setting.limit = number(value, path, 0, 1e9);
    else if (name === "status") setting.status = number(value, path, 1, 0xffffffff);
    else if (name === "delay_ms") setting.delay_ms = number(value, path, 0, LONGEST_MS);
    else if (name === "numbers") setting.numbers = digits(value, path);
    else throw new ControlError(`${path} is not known`);
  }
  return setting;
}

/** Reads a JSON object. Throws ControlError for anything else. */
export function objectOf(value: unknown, name: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ControlError(`${name} must be an object`);
  }
  return value as Json;
}

/** One of some words. Throws ControlError. */
export function oneOf<T extends string>(value: unknown, name: string, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new ControlError(`${name} must be one of ${known.join(", ")}`);
  return found;
}

function digits(value: unknown, name: string): string {
  if (typeof value === "string" && /^\d{1,15}$/.test(value)) return value;
  throw new ControlError(`${name} must be 1 to 15 digits`);
}

/** A number within bounds. Throws ControlError. */
export function number(value: unknown, name: string, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    throw new ControlError(`${name} must be a number from ${min} to ${max}`);
  }
  return value;
}
