/**
 * Ids derived from their parts: an event handled twice makes the same delivery ids, so the second
 * insert is a duplicate key.
 */
import { hash } from "node:crypto";
import { ID_PREFIXES, type IdKind } from "../../shared/core/ids.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The delivery of an event to an endpoint: the event's time, then 80 bits of a hash of both. */
export function deliveryId(eventId: string, endpointId: string): string {
  return derive("webhookDelivery", eventId, endpointId);
}

/** The id of a second event from one change, for example `message.<status>`. */
export function derivedEventId(eventId: string, eventType: string): string {
  return derive("event", eventId, eventType);
}

function derive(kind: IdKind, eventId: string, rest: string): string {
  const time = eventId.slice(-26, -16);
  const bytes = hash("sha256", `${eventId}|${rest}`, "buffer");
  let text = "";
  for (let at = 0; at < 10; at += 5) text += fiveBytes(bytes, at);
  return ID_PREFIXES[kind] + time + text;
}

/** Forty bits as eight digits of Crockford's base 32. */
function fiveBytes(bytes: Buffer, at: number): string {
  let value = bytes.readUIntBE(at, 5);
  let text = "";
  for (let digit = 0; digit < 8; digit += 1) {
    text = (ALPHABET[value % 32] ?? "") + text;
    value = Math.floor(value / 32);
  }
  return text;
}
