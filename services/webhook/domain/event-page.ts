/** A page of a tenant's events, read from the stream. */
import type { EventType } from "../../shared/core/event-types.ts";
import type { EndpointMode } from "./endpoint.ts";
import type { WebhookEvent } from "./event-fan-out.ts";

/**
 * A place in the stream: before the entry `seq`, or inside it after its first `skip` events. One entry makes up to two
 * events, and a page may end between them.
 */
export type EventPlace = { readonly seq: number; readonly skip: number };

/** Which events of the stream a page takes. */
export type EventSelection = {
  readonly tenantId: string;
  readonly mode: EndpointMode;
  /** Empty means all. */
  readonly types: ReadonlySet<EventType>;
};

/** One entry of the stream; without events when this version cannot read it. */
export type StreamEntry = { readonly seq: number; readonly events: readonly WebhookEvent[] };

/** The bodies of one entry that fit on a page, and the place after them. */
export type Taken = { readonly bodies: readonly string[]; readonly next: EventPlace };

/** The place after an entry. */
export function placeAfter(seq: number): EventPlace {
  return { seq: seq + 1, skip: 0 };
}

/** Takes at most `room` selected events of an entry, from `from` on when that is inside the entry. */
export function takeEvents(
  { seq, events }: StreamEntry,
  from: EventPlace,
  selection: EventSelection,
  room: number,
): Taken {
  const bodies: string[] = [];
  const first = from.seq === seq ? from.skip : 0;
  for (let at = first; at < events.length; at += 1) {
    const event = events[at] as WebhookEvent;
    if (!isSelected(event, selection)) continue;
    if (bodies.length === room) return { bodies, next: { seq, skip: at } };
    bodies.push(event.body());
  }
  return { bodies, next: placeAfter(seq) };
}

function isSelected(event: WebhookEvent, { tenantId, mode, types }: EventSelection): boolean {
  // The stream's subject names the tenant already. The event's own tenant is compared too, in case they differ.
  if (event.tenantId !== tenantId || event.mode !== mode) return false;
  return types.size === 0 || types.has(event.type);
}

/** Writes a place as text. */
export function formatPlace({ seq, skip }: EventPlace): string {
  return `${seq}.${skip}`;
}

/** Reads a place that `formatPlace` wrote; undefined for any other text. */
export function parsePlace(text: string): EventPlace | undefined {
  const found = /^([1-9]\d{0,14})\.(\d)$/.exec(text);
  return found === null ? undefined : { seq: Number(found[1]), skip: Number(found[2]) };
}
