/** Values of protobuf JSON as the pages show them. */

/** Milliseconds since the Unix epoch as an instant; null for 0, which means never. */
export function instant(ms: string | undefined): string | null {
  return ms === undefined || ms === "0" ? null : new Date(Number(ms)).toISOString();
}

/** A decimal text that a person typed, `12.5`, as ten-thousandths; undefined when it is no amount above zero. */
export function readUnits(text: string): string | undefined {
  const [, whole, places = ""] = /^(\d{1,12})(?:\.(\d{1,4}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return undefined;
  const units = `${whole}${places.padEnd(4, "0")}`.replace(/^0+/, "");
  return units === "" ? undefined : units;
}

/** The last word of an enumeration's name: `CONNECTOR_STATE_ACTIVE` of `CONNECTOR_STATE` is `active`. */
export function word(value: string, type: string): string {
  return value.startsWith(`${type}_`) ? value.slice(type.length + 1).toLowerCase() : value;
}
