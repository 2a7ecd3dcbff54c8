/**
 * Reads events for `GET /v1/events`. They are read from the stream at the request, so events without a reader
 * cost nothing, and any replica can answer any request (ADR 158).
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { EventType } from "../../shared/core/event-types.ts";
import { invalidField } from "../../shared/core/limits.ts";
import { pause } from "../../shared/flow/backoff.ts";
import type { EndpointMode } from "../domain/endpoint.ts";
import {
  type EventPlace,
  type EventSelection,
  formatPlace,
  parsePlace,
  placeAfter,
  type StreamEntry,
  takeEvents,
} from "../domain/event-page.ts";
import { isEventType } from "../domain/event-types.ts";

/** The stream of events. */
export type EventLog = {
  /** The first entry that is kept, and the last one. */
  bounds(): Promise<{ readonly firstSeq: number; readonly lastSeq: number }>;
  /** The first entry of the tenant at or after a place; undefined without one. */
  nextEntry(tenantId: string, seq: number): Promise<StreamEntry | undefined>;
  /** Reports new entries of the tenant until it is closed. */
  watch(tenantId: string): EventWatch;
};

/** Notices of new entries. A notice may come before the entry can be read, and may be lost. */
export type EventWatch = {
  /** Resolves at a notice since the last call, or after `ms`, or when the signal is aborted. */
  next(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
};

/** Encrypts cursors: a plain place in the stream would show how many events all tenants have. */
export type CursorBox = {
  seal(text: string, context: string): string;
  open(text: string, context: string): string;
};

export type ReadEventsParts = {
  readonly log: EventLog;
  readonly box: CursorBox;
  readonly clock: Clock;
  /** Aborted when this process ends: a waiting call answers at once. */
  readonly ending: AbortSignal;
};

export type EventQuery = {
  readonly tenantId: string;
  readonly mode: EndpointMode;
  readonly types: readonly string[];
  /** Empty begins with the next event. */
  readonly cursor: string;
  readonly limit: number;
  readonly waitMs: number;
};

export type EventPage = { readonly bodies: readonly string[]; readonly cursor: string };

/** Longest wait of one call. Proxies end idle connections after 30 or 60 seconds. */
export const EVENTS_WAIT_MAX_MS = 20_000;

/** The most waiting calls of one process: each uses one of the places for calls in progress. */
const WAITS_MAX = 256;

/** The most entries that one call reads: few events of a tenant may have the requested mode and types. */
const SCAN_MAX = 250;

/** The wait between a notice and the read: a notice comes while its entry is still being stored. */
const NOTICE_LEAD_MS = 25;

/** The longest time between two reads while waiting, as a notice may be lost. */
const REREAD_MS = 1000;

/** Creates the use case: reads one page, and waits for its first event. Throws `validation_error`, `rate_limited`. */
export function createReadEvents(parts: ReadEventsParts, waitsMax = WAITS_MAX) {
  let waiting = 0;
  return async (query: EventQuery, signal: AbortSignal): Promise<EventPage> => {
    if (query.waitMs === 0) return readEvents(parts, query, signal);
    if (waiting >= waitsMax) {
      const text = "Too many requests wait for events; try again shortly.";
      throw new AppError("rate_limited", text, { retryAfterMs: 5000 });
    }
    waiting += 1;
    try {
      return await readEvents(parts, query, signal);
    } finally {
      waiting -= 1;
    }
  };
}

async function readEvents(
  parts: ReadEventsParts,
  query: EventQuery,
  signal: AbortSignal,
): Promise<EventPage> {
  const { log, clock, ending } = parts;
  const selection = { tenantId: query.tenantId, mode: query.mode, types: readTypes(query.types) };
  let place = await startOf(parts, query);
  const page = (bodies: readonly string[]) => ({ bodies, cursor: seal(parts, query, place) });
  const stop = AbortSignal.any([signal, ending]);
  const endMs = clock.now() + query.waitMs;
  // Before the first read, so that no event falls between reading and watching.
  const watch = query.waitMs > 0 ? log.watch(query.tenantId) : undefined;
  try {
    for (;;) {
      const scanned = await scan(log, place, selection, query.limit);
      place = scanned.place;
      if (scanned.bodies.length > 0 || scanned.hasMore) return page(scanned.bodies);
      const leftMs = endMs - clock.now();
      if (watch === undefined || leftMs <= 0 || stop.aborted) return page([]);
      await watch.next(Math.min(leftMs, REREAD_MS), stop);
      await pause(NOTICE_LEAD_MS, stop);
    }
  } finally {
    watch?.close();
  }
}

type Scan = { readonly bodies: string[]; readonly place: EventPlace; readonly hasMore: boolean };

/** Reads on from a place, up to `limit` events or the scan's end. Throws for a place that was deleted. */
async function scan(
  log: EventLog,
  from: EventPlace,
  selection: EventSelection,
  limit: number,
): Promise<Scan> {
  const { firstSeq, lastSeq } = await log.bounds();
  // A stream that was created again, as after a restore without it, begins at 1.
  if (from.seq < firstSeq || from.seq > lastSeq + 1) throw tooOld();
  const bodies: string[] = [];
  let place = from;
  for (let read = 0; read < SCAN_MAX; read += 1) {
    const entry = await log.nextEntry(selection.tenantId, place.seq);
    if (entry === undefined) {
      // Move past the entries of other tenants, so that the place stays within the stream. Entries stored after the
      // bounds were read may be the tenant's.
      const end = placeAfter(lastSeq);
      return { bodies, place: end.seq > place.seq ? end : place, hasMore: false };
    }
    const taken = takeEvents(entry, place, selection, limit - bodies.length);
    bodies.push(...taken.bodies);
    place = taken.next;
    if (bodies.length === limit) return { bodies, place, hasMore: true };
  }
  return { bodies, place, hasMore: true };
}

async function startOf({ log, box }: ReadEventsParts, query: EventQuery): Promise<EventPlace> {
  if (query.cursor === "") return placeAfter((await log.bounds()).lastSeq);
  let text: string;
  try {
    text = box.open(query.cursor, contextOf(query));
  } catch {
    throw wrongCursor();
  }
  return parsePlace(text) ?? wrongCursor();
}

function seal({ box }: ReadEventsParts, query: EventQuery, place: EventPlace): string {
  return box.seal(formatPlace(place), contextOf(query));
}

function contextOf({ tenantId, mode }: EventQuery): string {
  return `events|${tenantId}|${mode}`;
}

function readTypes(types: readonly string[]): ReadonlySet<EventType> {
  const wrong = types.findIndex((type) => !isEventType(type));
  if (wrong < 0) return new Set(types.filter(isEventType));
  throw invalidField(`event_types[${wrong}]`, "invalid_value", "This is no type of event.");
}

function wrongCursor(): never {
  const message = "The cursor is not of these events. Use next_cursor of an earlier response.";
  throw invalidField("cursor", "invalid_value", message);
}

function tooOld(): AppError {
  const message =
    "The events after this cursor are no longer kept. Begin without a cursor, and read the changes from the lists.";
  return invalidField("cursor", "out_of_range", message);
}
