/** Money as a `bigint` count of 1/10,000 of a currency unit: exact, never a float. */

/** How many minor parts one currency unit has. */
export const MONEY_SCALE = 10_000n;

/** The largest amount accepted anywhere: far beyond any wallet, far inside an int64. */
export const AMOUNT_MAX = 1_000_000_000_000n * MONEY_SCALE;

/** The largest amount that the protocol carries; no balance covers it. */
export const INT64_MAX = 2n ** 63n - 1n;

/** Writes an amount with four decimals, as the REST contract shows it: `12345n` → `"1.2345"`. */
export function formatAmount(amount: bigint): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(5, "0");
  return `${sign}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

const AMOUNT_TEXT = /^(-?)(\d{1,13})(?:\.(\d{1,4}))?$/;

/** Reads a decimal text of at most four decimals; `undefined` when it is anything else. */
export function parseAmount(text: string): bigint | undefined {
  const match = AMOUNT_TEXT.exec(text);
  if (match === null) return undefined;
  const [, sign, units = "0", decimals = ""] = match;
  const amount = BigInt(units) * MONEY_SCALE + BigInt(decimals.padEnd(4, "0"));
  if (amount > AMOUNT_MAX) return undefined;
  return sign === "-" ? -amount : amount;
}

/** The larger of two amounts. */
export function maxAmount(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
