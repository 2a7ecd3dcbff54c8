/**
 * An endpoint: the URL to which a tenant's events are sent.
 *
 *   enabled ⇄ disabled
 *
 * - enabled: entered at creation and by an update. Events recorded from `enabledAtMs` on are
 *   delivered.
 * - disabled: entered by an update, or after days without a success; the reason is kept. Nothing is
 *   sent, pending deliveries are dropped, and events of this period are never sent.
 */
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import type { EventType } from "../../shared/core/event-types.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import { DEFAULT_EVENT_TYPES, isEventType } from "./event-types.ts";

/** The mode of the API key that made an endpoint (`docs/contract.md#test-mode`). */
export type EndpointMode = "live" | "test";

/** An endpoint as a caller names it. */
export type EndpointKey = {
  readonly tenantId: string;
  /** The caller's; undefined for internal callers, who see both modes. */
  readonly mode: EndpointMode | undefined;
  readonly endpointId: string;
};

/** Whether an endpoint receives events. */
export type EndpointStatus = "enabled" | "disabled";

/** A stored signing secret. */
export type StoredSecret = {
  readonly sealed: string;
  readonly createdAtMs: number;
  /** When it stops signing; `undefined` for the newest. */
  readonly expiresAtMs: number | undefined;
};

/** A webhook endpoint. */
export type Endpoint = {
  readonly id: string;
  readonly tenantId: string;
  /** It receives only events of this mode. */
  readonly mode: EndpointMode;
  readonly url: string;
  readonly status: EndpointStatus;
  readonly eventTypes: readonly EventType[];
  /** Empty means every source. */
  readonly sources: readonly MessageSourceName[];
  readonly description: string;
  /** Empty unless disabled. */
  readonly disabledReason: string;
  /** Newest first. */
  readonly secrets: readonly StoredSecret[];
  /** When the present enabled period began. */
  readonly enabledAtMs: number;
  /** The first failure since the last success; 0 when there is none. */
  readonly failingSinceMs: number;
  /** When the warning at half the time was sent; 0 before it. */
  readonly warnedAtMs: number;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** An endpoint after its owner's change. */
export type ChangedEndpoint = Endpoint & {
  /**
   * Whether the change resets the failures. Otherwise saving it leaves them alone: the health
   * keeper may be writing them.
   */
  readonly startsClean?: true;
};

/** Endpoints per tenant and mode (`docs/contract.md#webhook-endpoints`). */
export const ENDPOINTS_MAX = 5;

/** How long a replaced secret keeps signing, in milliseconds. */
export const SECRET_OVERLAP_MS = 86_400_000;

/** Most secrets that sign at the same time, after any number of rotations. */
const ACTIVE_SECRETS_MAX = 10;

/**
 * The enabled period of a new endpoint starts this long before its creation, in milliseconds: the
 * clocks that date events may be behind. No earlier event can match it.
 */
const BEFORE_CREATION_MS = 600_000;

const DESCRIPTION_LENGTH_MAX = 256;
const EVENT_TYPES_MAX = 64;

/** The owner's changes; absent members stay as they are. */
export type EndpointChange = {
  readonly url?: string;
  readonly status?: EndpointStatus;
  readonly eventTypes?: readonly string[];
  readonly sources?: readonly MessageSourceName[];
  readonly description?: string;
};

/**
 * Creates an endpoint with its first secret. The caller has checked the URL. Throws
 * validation_error.
 */
export function createEndpoint(
  request: {
    readonly id: string;
    readonly tenantId: string;
    readonly mode: EndpointMode;
    readonly url: string;
    readonly eventTypes: readonly string[];
    readonly sources: readonly MessageSourceName[];
    readonly description: string;
    readonly sealedSecret: string;
  },
  nowMs: number,
): Endpoint {
  const eventTypes = request.eventTypes.length === 0 ? DEFAULT_EVENT_TYPES : request.eventTypes;
  return {
    id: request.id,
    tenantId: request.tenantId,
    mode: request.mode,
    url: request.url,
    status: "enabled",
    eventTypes: checkEventTypes(eventTypes),
    sources: [...new Set(request.sources)],
    description: checkDescription(request.description),
    disabledReason: "",
    secrets: [{ sealed: request.sealedSecret, createdAtMs: nowMs, expiresAtMs: undefined }],
    enabledAtMs: nowMs - BEFORE_CREATION_MS,
    failingSinceMs: 0,
    warnedAtMs: 0,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/** Applies the owner's change. The caller has checked the URL. Throws validation_error. */
export function changeEndpoint(
  endpoint: Endpoint,
  change: EndpointChange,
  nowMs: number,
): ChangedEndpoint {
  const changed: Endpoint = {
    ...endpoint,
    url: change.url ?? endpoint.url,
    eventTypes:
      change.eventTypes === undefined ? endpoint.eventTypes : checkEventTypes(change.eventTypes),
    sources: change.sources === undefined ? endpoint.sources : [...new Set(change.sources)],
    description:
      change.description === undefined
        ? endpoint.description
        : checkDescription(change.description),
    version: endpoint.version + 1,
    updatedAtMs: nowMs,
  };
  if (change.status === "disabled" && endpoint.status === "enabled") {
    return disableEndpoint(changed, "Disabled by its owner.", nowMs);
  }
  if (change.status === "enabled" && endpoint.status === "disabled") {
    return { ...changed, ...ENABLED, enabledAtMs: nowMs };
  }
  // A new URL resets the failures: they belong to the old one.
  return change.url !== undefined && change.url !== endpoint.url
    ? { ...changed, ...CLEAN }
    : changed;
}

const CLEAN = { failingSinceMs: 0, warnedAtMs: 0, startsClean: true } as const;
const ENABLED = { ...CLEAN, status: "enabled", disabledReason: "" } as const;

/** Disables an endpoint; the owner reads the reason. */
export function disableEndpoint(endpoint: Endpoint, reason: string, nowMs: number): Endpoint {
  return { ...endpoint, status: "disabled", disabledReason: reason, updatedAtMs: nowMs };
}

/**
 * Puts a new secret first. Secrets replaced within the last day keep signing, at most ten in all.
 */
export function rotateSecret(endpoint: Endpoint, sealed: string, nowMs: number): Endpoint {
  const older = activeSecrets(endpoint, nowMs).map((secret) => ({
    ...secret,
    expiresAtMs: secret.expiresAtMs ?? nowMs + SECRET_OVERLAP_MS,
  }));
  return {
    ...endpoint,
    secrets: [{ sealed, createdAtMs: nowMs, expiresAtMs: undefined }, ...older].slice(
      0,
      ACTIVE_SECRETS_MAX,
    ),
    version: endpoint.version + 1,
    updatedAtMs: nowMs,
  };
}

/** The secrets that sign now, newest first. */
export function activeSecrets(endpoint: Endpoint, nowMs: number): readonly StoredSecret[] {
  return endpoint.secrets.filter(
    ({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > nowMs,
  );
}

/** Whether an event of this mode, type, source and time is for the endpoint. */
export function isSubscribed(
  endpoint: Endpoint,
  event: {
    readonly mode: EndpointMode;
    readonly type: EventType;
    readonly source: MessageSourceName | undefined;
    readonly recordedAtMs: number;
  },
): boolean {
  return (
    endpoint.status === "enabled" &&
    event.mode === endpoint.mode &&
    event.recordedAtMs >= endpoint.enabledAtMs &&
    endpoint.eventTypes.includes(event.type) &&
    (event.source === undefined ||
      endpoint.sources.length === 0 ||
      endpoint.sources.includes(event.source))
  );
}

function checkEventTypes(types: readonly string[]): EventType[] {
  if (types.length === 0) {
    throw invalid([fault("event_types", "too_few", "Name at least one event type.")]);
  }
  if (types.length > EVENT_TYPES_MAX) {
    throw invalid([fault("event_types", "too_many", "There are too many event types.")]);
  }
  const faults = types.flatMap((type, at) =>
    isEventType(type)
      ? []
      : [fault(`event_types[${at}]`, "invalid_value", "This is no type of event.")],
  );
  if (faults.length > 0) throw invalid(faults);
  return [...new Set(types.filter(isEventType))];
}

function checkDescription(description: string): string {
  // Counted in code points, like `maxLength` of a JSON schema.
  if ([...description].length <= DESCRIPTION_LENGTH_MAX) return description;
  const text = `A description has at most ${DESCRIPTION_LENGTH_MAX} characters.`;
  throw invalid([fault("description", "too_long", text)]);
}

function fault(field: string, code: string, message: string): FieldError {
  return { field, code, message };
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_error", "The endpoint is not valid.", { fields });
}
