/**
 * How a connector's carrier writes its message ids: `text` (compared without regard to case and to
 * zeros in front), `hex` or `decimal` (the same number whatever the notation), or `auto` (text, and
 * when that finds nothing the other notation).
 */
export type MessageIdForm = "auto" | "text" | "hex" | "decimal";

/** Returns the one form in which an id from a submit answer is kept and looked up. */
export function canonicalMessageId(raw: string, form: MessageIdForm): string {
  const id = tidy(raw);
  if (form === "decimal" && /^[0-9]+$/.test(id)) return BigInt(id).toString(16);
  if (form === "hex" && /^[0-9a-f]+$/.test(id)) return BigInt(`0x${id}`).toString(16);
  return id;
}

/**
 * Returns the forms under which an id from a receipt may have been kept, best first. Only `auto` has
 * more than one; try the next only when the one before finds nothing.
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

/** Whether a carrier gives no id: nothing, or zeros instead of one. */
export function isNoId(messageId: string): boolean {
  return /^0*$/.test(messageId.trim());
}
