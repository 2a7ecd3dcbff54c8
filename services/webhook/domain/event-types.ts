import { EVENT_TYPES, type EventType } from "../../shared/core/event-types.ts";

/** The types of an endpoint whose owner names none. */
export const DEFAULT_EVENT_TYPES: readonly EventType[] = ["message.status_changed"];

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

/** Whether a text is an event type. */
export function isEventType(text: string): text is EventType {
  return KNOWN.has(text);
}
