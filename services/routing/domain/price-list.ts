import { parseAmount } from "../../shared/core/money.ts";
import type { PriceRule } from "../../shared/routes/route-table.ts";
import { findPrefixError, PRICES_MAX } from "./route.ts";
import { checkWhole, createFieldErrors } from "./validation-errors.ts";

/** The difference of one prefix's price between two lists. */
export type PriceChange = {
  readonly prefix: string;
  /** 0 when added. */
  readonly oldPrice: bigint;
  /** 0 when removed. */
  readonly newPrice: bigint;
  readonly kind: "added" | "removed" | "changed";
};

const HEADER = "prefix,price";

/**
 * Parses a price list: a header `prefix,price`, then one line per price, in currency units with up
 * to four decimals. Fields may be in double quotes (RFC 4180), lines may end in CR LF. Empty lines
 * and a byte order mark are ignored. Throws `validation_error` with every invalid line.
 */
export function parsePriceList(csv: string): PriceRule[] {
  const errors = createFieldErrors();
  const lines = csv.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const header = splitLine(lines[0] ?? "");
  if (header.map((name) => name.toLowerCase()).join(",") !== HEADER) {
    errors.add("csv[1]", "invalid_format", `the first line must be "${HEADER}"`);
  }
  const prices: PriceRule[] = [];
  const lineOf = new Map<string, number>();
  lines.slice(1).forEach((line, at) => {
    if (line.trim() === "") return;
    const number = at + 2;
    const field = `csv[${number}]`;
    const [prefixText, priceText, ...rest] = splitLine(line);
    if (prefixText === undefined || priceText === undefined || rest.length > 0) {
      errors.add(field, "invalid_format", "must be a prefix, a comma and a price");
      return;
    }
    const prefix = prefixText.replace(/^\+/, "");
    const prefixError = findPrefixError(prefix);
    if (prefixError !== undefined) errors.add(field, "invalid_format", `the prefix ${prefixError}`);
    const price = parseAmount(priceText);
    if (price === undefined || price < 0n) {
      errors.add(field, "invalid_value", "the price must be an amount with up to four decimals");
    }
    const earlier = lineOf.get(prefix);
    if (earlier !== undefined) {
      errors.add(field, "invalid_value", `the prefix is on line ${earlier} already`);
    }
    lineOf.set(prefix, number);
    prices.push({ prefix, price: price ?? 0n });
  });
  checkWhole(errors, "csv", prices.length, 1, PRICES_MAX);
  errors.throwIfAny();
  return prices;
}

function splitLine(line: string): string[] {
  return line.split(",").map((part) => {
    const text = part.trim();
    return /^".*"$/.test(text) ? text.slice(1, -1).trim() : text;
  });
}

/** The differences between two price lists, ordered by prefix. */
export function comparePrices(
  before: readonly PriceRule[],
  after: readonly PriceRule[],
): PriceChange[] {
  const old = new Map(before.map(({ prefix, price }) => [prefix, price]));
  const changes: PriceChange[] = [];
  for (const { prefix, price } of after) {
    const oldPrice = old.get(prefix);
    old.delete(prefix);
    if (oldPrice === undefined) {
      changes.push({ prefix, oldPrice: 0n, newPrice: price, kind: "added" });
    } else if (oldPrice !== price) {
      changes.push({ prefix, oldPrice, newPrice: price, kind: "changed" });
    }
  }
  for (const [prefix, oldPrice] of old) {
    changes.push({ prefix, oldPrice, newPrice: 0n, kind: "removed" });
  }
  return changes.sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
}
