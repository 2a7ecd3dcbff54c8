/**
 * The notation of a carrier's message ids: `text` (compared without case and leading zeros), `hex` or `decimal`
 * (compared as numbers), or `auto` (as text, then in the other notation).
 */
export type MessageIdForm = "auto" | "text" | "hex" | "decimal";

/** The canonical form of an id from a submit answer. */
export function canonicalMessageId(raw: string, form: MessageIdForm): string {
  const id = tidy(raw);
  if (form === "decimal" && /^[0-9]+$/.test(id)) return BigInt(id).toString(16);
  if (form === "hex" && /^[0-9a-f]+$/.test(id)) return BigInt(`0x${id}`).toString(16);
  return id;
}

/**
 * The canonical forms that an id from a receipt may have, the likeliest first. Only `auto` has more than one; try the
 * next only when the one before finds nothing.
 */
export function messageIdCandidates(raw: string, form: MessageIdForm): string[] {
  const id = canonicalMessageId(raw, form);
  if (form !== "auto" || id.length > 40) return [id];
  const candidates = [id];
  if (/^[0-9]+$/.test(id)) candidates.push(BigInt(id).toString(16));
  if (/^[0-9a-f]+$/.test(id)) candidates.push(BigInt(`0x${id}`).toString(10));
  return [...new Set(candidates)];
}

function tidy(raw: string): string {
  const id = raw.trim().toLowerCase();
  const bare = id.startsWith("0x") ? id.slice(2) : id;
  const significant = bare.replace(/^0+/, "");
  return significant === "" && bare !== "" ? "0" : significant;
}

/** Whether an id is missing: empty, or all zeros. */
export function isNoId(messageId: string): boolean {
  return /^0*$/.test(messageId.trim());
}
