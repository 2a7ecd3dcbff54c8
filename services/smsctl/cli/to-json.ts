/**
 * Converts protobuf messages to plain JSON: snake_case names, amounts as decimal strings, instants as
 * RFC 3339 strings, enumerations as lower-case words.
 */
import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Json } from "../../shared/cli/cell.ts";
import { formatAmount } from "../../shared/core/money.ts";

const AMOUNTS = new Set([
  "amount",
  "available",
  "balance",
  "balance_after",
  "budget_amount",
  "captured_amount",
  "charged_amount",
  "held",
  "held_after",
  "held_amount",
  "low_balance_threshold",
  "new_price",
  "old_price",
  "open_amount",
  "price",
  "released_amount",
  "unit_price",
]);

export function toJson<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
): { [name: string]: Json } {
  const shown: { [name: string]: Json } = {};
  const values = message as unknown as Record<string, unknown>;
  for (const field of desc.fields) {
    const value = fieldValue(values, field);
    const name = isInstant(field) ? field.name.slice(0, -"_ms".length) : field.name;
    shown[name] = fieldToJson(field, value);
  }
  return shown;
}

/** Other fields in milliseconds are durations and stay numbers. */
const INSTANT = /_(at|of|since|until)_ms$/;

function isInstant(field: DescField): boolean {
  return field.fieldKind === "scalar" && INSTANT.test(field.name);
}

function fieldValue(values: Record<string, unknown>, field: DescField): unknown {
  if (field.oneof === undefined) return values[field.localName];
  const one = values[field.oneof.localName] as { case?: string; value?: unknown } | undefined;
  return one?.case === field.localName ? one.value : undefined;
}

function fieldToJson(field: DescField, value: unknown): Json {
  if (field.fieldKind === "list") {
    return (value as unknown[]).map((item) => valueToJson(field, item));
  }
  if (field.fieldKind === "map") {
    return Object.fromEntries(
      Object.entries(value as Record<string, unknown>).map(([key, item]) => [key, String(item)]),
    );
  }
  return value === undefined ? null : valueToJson(field, value);
}

function valueToJson(field: DescField, value: unknown): Json {
  if (field.message !== undefined) return toJson(field.message, value as never);
  if (field.enum !== undefined) {
    const name = field.enum.values.find(({ number }) => number === value)?.name ?? String(value);
    const prefix = field.enum.sharedPrefix?.length ?? 0;
    const word = name.slice(prefix).toLowerCase();
    return word === "unspecified" ? null : word;
  }
  if (typeof value === "bigint") {
    if (AMOUNTS.has(field.name)) return formatAmount(value);
    if (isInstant(field)) return value === 0n ? null : new Date(Number(value)).toISOString();
    return Number(value);
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return value as Json;
}
