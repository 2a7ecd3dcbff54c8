/**
 * A connector is a link to a carrier. Its states:
 *
 * - active: claims messages and submits them. The first state.
 * - paused: bound, accepts receipts, claims nothing. Entered and left by an operator.
 * - draining: finishes its claimed messages, accepts receipts, claims nothing new. Entered and left
 *   by an operator, usually before a removal.
 *
 * An operator may move between any two; a removal is allowed when no route names the connector.
 */
import { AppError } from "../../shared/core/errors.ts";
import {
  checkHttp,
  HIDDEN_HEADER_VALUE,
  HTTP_DEFAULTS,
  type HttpSettings,
} from "./http-settings.ts";
import { checkSmpp, SMPP_DEFAULTS, type SmppSettings } from "./smpp-settings.ts";
import {
  checkOneOf,
  checkWhole,
  createFieldErrors,
  type FieldErrors,
} from "./validation-errors.ts";

/** The protocol of a connector. */
export type ConnectorType = "smpp" | "http" | "test";

/** Whether a connector claims messages. */
export type ConnectorState = "active" | "paused" | "draining";

/** A connector with its secrets in plain text. Only the store and the carrier may see those. */
export type Connector = {
  readonly id: string;
  readonly type: ConnectorType;
  readonly state: ConnectorState;
  readonly ratePerSecond: number;
  readonly smpp: SmppSettings | undefined;
  readonly http: HttpSettings | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Increases with each change. Carriers reconnect when the settings of the new version differ. */
  readonly version: number;
  /** True when the encryption key of its secrets is missing; the secrets are then left out. */
  readonly isUnreadable: boolean;
};

/** The fields of a connector in a request; zero and empty values mean "absent". */
export type ConnectorInput = {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly ratePerSecond: number;
  readonly smpp: Partial<SmppSettings> | undefined;
  readonly http: Partial<HttpSettings> | undefined;
};

/** The built-in connector of test-mode messages. The migration creates it; it is never removed. */
export const TEST_CONNECTOR_ID = "test";

/** Lower case, digits and hyphens, because ids are part of NATS subjects and metric labels. */
const CONNECTOR_ID = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const STATES = ["active", "paused", "draining"] as const;

/** Creates a connector from a request. Throws `validation_error`. */
export function createConnector(input: ConnectorInput, nowMs: number): Connector {
  const errors = createFieldErrors();
  if (!CONNECTOR_ID.test(input.id)) {
    const rule = "must be 1 to 32 characters of a-z, 0-9 and inner hyphens";
    errors.add("connector.id", "invalid_format", rule);
  }
  checkOneOf(errors, "connector.type", input.type, ["smpp", "http"]);
  errors.throwIfAny();
  const type = input.type as ConnectorType;
  const connector: Connector = {
    id: input.id,
    type,
    state: (input.state === "" ? "active" : input.state) as ConnectorState,
    ratePerSecond: input.ratePerSecond,
    smpp: type === "smpp" ? merge(SMPP_DEFAULTS, input.smpp ?? {}) : undefined,
    http: type === "http" ? merge(HTTP_DEFAULTS, input.http ?? {}) : undefined,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    version: 1,
    isUnreadable: false,
  };
  checkConnector(connector);
  return connector;
}

/**
 * Applies a change. `smpp` and `http` replace the settings that have a value in the request. If it has a
 * host or URL, its settings count as complete, so false and empty values replace too. `smpp.<field>` replaces
 * that field by any value. An empty secret keeps the old one. Throws `validation_error`.
 */
export function changeConnector(
  connector: Connector,
  input: ConnectorInput,
  fields: readonly string[],
  nowMs: number,
): Connector {
  const errors = createFieldErrors();
  if (fields.length === 0) errors.add("fields", "required", "name at least one field to change");
  const changed = fields.reduce((soFar, field) => changeField(soFar, input, field, errors), {
    ...connector,
  });
  errors.throwIfAny();
  const version = connector.version + 1;
  // Saved settings are encrypted with the current key, so they are readable afterwards.
  const isUnreadable = connector.isUnreadable && needsNoSecrets(fields);
  const next = { ...changed, updatedAtMs: nowMs, version, isUnreadable };
  checkConnector(next);
  return next;
}

/** Whether a change touches no settings with secrets, so that it works without their key. */
export function needsNoSecrets(fields: readonly string[]): boolean {
  return fields.every((field) => field === "state" || field === "rate_per_second");
}

function changeField(
  connector: Connector,
  input: ConnectorInput,
  path: string,
  errors: FieldErrors,
): Connector {
  if (path === "state") return { ...connector, state: input.state as ConnectorState };
  if (path === "rate_per_second") return { ...connector, ratePerSecond: input.ratePerSecond };
  const [part, name] = path.split(".", 2);
  if (part === "smpp" && connector.smpp !== undefined) {
    const smpp = pick(SMPP_DEFAULTS, input.smpp ?? {}, name, path, errors);
    return { ...connector, smpp: { ...connector.smpp, ...smpp } };
  }
  if (part === "http" && connector.http !== undefined) {
    const http = pick(HTTP_DEFAULTS, input.http ?? {}, name, path, errors);
    if (http.headers !== undefined) {
      http.headers = keepHidden(http.headers, connector.http.headers);
    }
    return { ...connector, http: { ...connector.http, ...http } };
  }
  errors.add("fields", "invalid_value", `${path} is not a field of this connector`);
  return connector;
}

const SECRETS = ["password", "receiptSecret"];

function pick<T extends object>(
  defaults: T,
  given: Partial<T>,
  name: string | undefined,
  path: string,
  errors: FieldErrors,
): { -readonly [K in keyof T]?: T[K] } {
  if (name === undefined) {
    const { host, url } = given as { host?: string; url?: string };
    return host || url ? completeOnly(given, defaults) : presentOnly(given);
  }
  const key = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof T;
  if (!Object.hasOwn(defaults, key)) {
    errors.add("fields", "invalid_value", `${path} is not a field of this connector`);
    return {};
  }
  const value = given[key];
  if (SECRETS.includes(key as string) && (value === undefined || value === "")) return {};
  if (value === undefined && !isOverride(key as string)) {
    errors.add(`connector.${path}`, "required", "is required, because it is to change");
    return {};
  }
  return { [key]: value } as { -readonly [K in keyof T]?: T[K] };
}

function merge<T extends object>(base: T, given: Partial<T>): T {
  return { ...base, ...presentOnly(given) };
}

/** The members with a value other than zero, empty, false or an empty map. */
function presentOnly<T extends object>(given: Partial<T>): { -readonly [K in keyof T]?: T[K] } {
  return keep(given, (key, value) => {
    if (isOverride(key)) return value !== undefined;
    if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
    return value !== undefined && value !== "" && value !== 0 && value !== false;
  });
}

/** The members of complete settings: all but empty secrets and values that cannot be empty. */
function completeOnly<T extends object>(
  given: Partial<T>,
  defaults: T,
): { -readonly [K in keyof T]?: T[K] } {
  return keep(given, (key, value) => {
    if (isOverride(key)) return true;
    if (SECRETS.includes(key)) return value !== "" && value !== undefined;
    return value !== undefined && value !== 0 && (value !== "" || !defaults[key as keyof T]);
  });
}

/** Whether a setting is a type of number or a numbering plan: for these, 0 and absence are both valid values. */
function isOverride(key: string): boolean {
  return key.endsWith("Ton") || key.endsWith("Npi");
}

function keep<T extends object>(
  given: Partial<T>,
  isKept: (key: string, value: unknown) => boolean,
): { -readonly [K in keyof T]?: T[K] } {
  const entries = Object.entries(given).filter(([key, value]) => isKept(key, value));
  return Object.fromEntries(entries) as { -readonly [K in keyof T]?: T[K] };
}

function keepHidden(
  next: Readonly<Record<string, string>>,
  old: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [
      name,
      value === HIDDEN_HEADER_VALUE ? (old[name] ?? "") : value,
    ]),
  );
}

function checkConnector(connector: Connector): void {
  const errors = createFieldErrors();
  checkOneOf(errors, "connector.state", connector.state, STATES);
  checkWhole(errors, "connector.rate_per_second", connector.ratePerSecond, 0, 1_000_000);
  // The store keeps unreadable settings as they are, so they are not validated.
  const { smpp, http } = connector.isUnreadable ? {} : connector;
  if (smpp !== undefined) checkSmpp(errors, smpp);
  if (http !== undefined) checkHttp(errors, http);
  errors.throwIfAny();
}

/** Throws `invalid_state_transition` unless the connector may be removed. */
export function checkRemoval(connectorId: string, routeNames: readonly string[]): void {
  if (connectorId === TEST_CONNECTOR_ID) {
    throw new AppError("invalid_state_transition", "The test connector is built in.");
  }
  if (routeNames.length > 0) {
    const names = routeNames.slice(0, 5).join(", ");
    throw new AppError("invalid_state_transition", `Routes still use this connector: ${names}.`);
  }
}

/** The connector without secrets: no password, receipt secret or header value. */
export function hideSecrets(connector: Connector): Connector {
  const { smpp, http } = connector;
  return {
    ...connector,
    smpp: smpp === undefined ? undefined : { ...smpp, password: "" },
    http:
      http === undefined
        ? undefined
        : {
            ...http,
            receiptSecret: "",
            headers: Object.fromEntries(
              Object.keys(http.headers).map((name) => [name, HIDDEN_HEADER_VALUE]),
            ),
          },
  };
}
