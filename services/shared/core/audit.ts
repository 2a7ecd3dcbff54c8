/** The content of the audit trail: who changed which thing, from what to what. */

/** The person on whose behalf a service calls, as that service states it. */
export type ClaimedActor = { readonly name: string; readonly address: string };

/** Where a change comes from. */
export type AuditSource = {
  /** `sms.v1.TenantService/UpdateTenant` */
  readonly method: string;
  /** The authenticated calling service. */
  readonly caller: string;
  readonly actor: ClaimedActor | undefined;
  readonly requestId: string;
};

/** One change. */
export type AuditChange = {
  /** The tenant that owns the subject; empty when it belongs to the operator. */
  readonly tenantId: string;
  /** The id of the thing that changed. */
  readonly subject: string;
  /** Undefined when it did not exist, or exists no longer. */
  readonly before: object | undefined;
  readonly after: object | undefined;
};

/** Both sides of a change as JSON texts; empty for a side that is missing. */
export type AuditTexts = { readonly before: string; readonly after: string };

/** The longest text of one side, in characters: a price list has up to 20,000 entries. */
const TEXT_MAX = 32_768;

/** Names of values that never enter the trail. Settings with secrets are recorded without their values. */
const SECRET = /secret|password|token|authorization|headers|hash|fingerprint|body(_template)?$/i;
const HIDDEN = "hidden";

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

/**
 * The fields that differ, at every depth. Of a new or removed thing these are all fields. A secret that differs is
 * named, and its value is hidden.
 */
export function auditTexts({ before, after }: Pick<AuditChange, "before" | "after">): AuditTexts {
  const old = before === undefined ? undefined : plain(before);
  const now = after === undefined ? undefined : plain(after);
  const [left, right] = old === undefined || now === undefined ? [old, now] : differing(old, now);
  return { before: toText(left), after: toText(right) };
}

/** As JSON with names as in `smsctl --json`: dates are RFC 3339, and integers of 64 bits are texts. */
function plain(value: object): JsonObject {
  const text = JSON.stringify(value, (_, part) =>
    typeof part === "bigint" ? part.toString() : part,
  );
  return withSnakeCase(JSON.parse(text)) as JsonObject;
}

function withSnakeCase(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSnakeCase);
  if (!isObject(value)) return value;
  const renamed = Object.entries(value).map(([name, part]) => [
    name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    withSnakeCase(part),
  ]);
  return Object.fromEntries(renamed);
}

function differing(old: JsonObject, now: JsonObject): [JsonObject, JsonObject] {
  const left: JsonObject = {};
  const right: JsonObject = {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const [a, b] = [old[name], now[name]];
    if (JSON.stringify(a) === JSON.stringify(b)) continue;
    const [x, y] = isObject(a) && isObject(b) ? differing(a, b) : [a, b];
    if (x !== undefined) left[name] = x;
    if (y !== undefined) right[name] = y;
  }
  return [left, right];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toText(value: JsonObject | undefined): string {
  if (value === undefined) return "";
  const text = JSON.stringify(value, (name, part) =>
    SECRET.test(name) && part !== null && part !== "" ? HIDDEN : part,
  );
  if (text.length <= TEXT_MAX) return text;
  return JSON.stringify({ truncated: text.slice(0, TEXT_MAX) });
}
