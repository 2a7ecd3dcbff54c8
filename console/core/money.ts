/** Amounts are decimal texts with four places. They are never numbers here: a float would change them. */

/** `"12345.6700"` as `"12,345.67"`: at least two places, no more than the amount has. */
export function showAmount(amount: string | null | undefined): string {
  if (amount === null || amount === undefined) return "–";
  const [, sign = "", whole = "0", places = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const shown = places.replace(/0+$/, "").padEnd(2, "0");
  return `${sign === "-" ? "−" : ""}${grouped}.${shown}`;
}

/** With its currency, for people: `NGN 12.50`. */
export function showMoney(amount: string | null | undefined, currency: string): string {
  return amount === null || amount === undefined ? "–" : `${currency} ${showAmount(amount)}`;
}

/** Ten-thousandths, for comparing and adding. */
export function toUnits(amount: string): bigint {
  const [, sign = "", whole = "0", places = ""] = /^(-?)(\d+)(?:\.(\d{1,4}))?$/.exec(amount) ?? [];
  const units = BigInt(whole) * 10_000n + BigInt(places.padEnd(4, "0"));
  return sign === "-" ? -units : units;
}

/** Ten-thousandths as an amount of the API: `12.5000`. */
export function fromUnits(units: bigint): string {
  const positive = units < 0n ? -units : units;
  const places = String(positive % 10_000n).padStart(4, "0");
  return `${units < 0n ? "-" : ""}${positive / 10_000n}.${places}`;
}

/** Turns a typed `12.5` into the API's `12.5000`; other texts are unchanged, and the service refuses them. */
export function fourPlaces(text: string): string {
  const [, whole, places = ""] = /^(\d+)(?:\.(\d{0,4}))?$/.exec(text.trim()) ?? [];
  return whole === undefined ? text : `${whole}.${places.padEnd(4, "0")}`;
}
