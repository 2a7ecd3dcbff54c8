import { EVENT_TYPES, type EventType } from "../../shared/core/event-types.ts";

/** What an endpoint gets when its owner names no types. */
export const DEFAULT_EVENT_TYPES: readonly EventType[] = ["message.status_changed"];

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Tells whether a text is a type of event. */
export function isEventType(text: string): text is EventType {
  return KNOWN.has(text);
}
