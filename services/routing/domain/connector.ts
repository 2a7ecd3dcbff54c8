/**
 * A connector is a link to a carrier. Its states:
 *
 * - active: claims messages and submits them. The first state.
 * - paused: bound, takes receipts, claims nothing. Entered and left by an operator.
 * - draining: finishes what it has claimed, takes receipts, claims nothing new. Entered and left
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
import { checkOneOf, checkWhole, createFaults, type Faults } from "./validation-errors.ts";

/** How a connector speaks. */
export type ConnectorType = "smpp" | "http" | "test";

/** Whether a connector claims messages. */
export type ConnectorState = "active" | "paused" | "draining";

/** A link to a carrier, with its secrets in the clear; only the store and the carrier see those. */
export type Connector = {
  readonly id: string;
  readonly type: ConnectorType;
  readonly state: ConnectorState;
  readonly ratePerSecond: number;
  readonly smpp: SmppSettings | undefined;
  readonly http: HttpSettings | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Rises with each change; carriers connect anew when the settings behind it differ. */
  readonly version: number;
  /** Its secrets cannot be opened, their key being gone, and are left out. */
  readonly isUnreadable: boolean;
};

/** What a caller states of a connector; zero and empty values mean "not stated". */
export type ConnectorInput = {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly ratePerSecond: number;
  readonly smpp: Partial<SmppSettings> | undefined;
  readonly http: Partial<HttpSettings> | undefined;
};

/** The built-in connector of test-mode messages; made by the migration, never removed. */
export const TEST_CONNECTOR_ID = "test";

/** A part of NATS subjects and of metric labels: lower case, digits and hyphens. */
const CONNECTOR_ID = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const STATES = ["active", "paused", "draining"] as const;

/** Makes a connector from what a caller stated. Throws `validation_error`. */
export function createConnector(input: ConnectorInput, nowMs: number): Connector {
  const faults = createFaults();
  if (!CONNECTOR_ID.test(input.id)) {
    const rule = "must be 1 to 32 characters of a-z, 0-9 and inner hyphens";
    faults.add("connector.id", "invalid_format", rule);
  }
  checkOneOf(faults, "connector.type", input.type, ["smpp", "http"]);
  faults.throwIfAny();
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
 * Applies a change: `smpp` and `http` replace what is stated inside them (everything but zeros when
 * they name the host or URL, as complete settings do), `smpp.<field>` replaces that one field
 * whatever its value; a secret left empty stays. Throws `validation_error`.
 */
export function changeConnector(
  connector: Connector,
  input: ConnectorInput,
  fields: readonly string[],
  nowMs: number,
): Connector {
  const faults = createFaults();
  if (fields.length === 0) faults.add("fields", "required", "name at least one field to change");
  const changed = fields.reduce((soFar, field) => changeField(soFar, input, field, faults), {
    ...connector,
  });
  faults.throwIfAny();
  const version = connector.version + 1;
  // Settings that are saved are sealed anew, with a key that is there.
  const isUnreadable = connector.isUnreadable && leavesSettings(fields);
  const next = { ...changed, updatedAtMs: nowMs, version, isUnreadable };
  checkConnector(next);
  return next;
}

/** Whether a change is of nothing that has secrets: it can be made without their key. */
export function leavesSettings(fields: readonly string[]): boolean {
  return fields.every((field) => field === "state" || field === "rate_per_second");
}

function changeField(
  connector: Connector,
  input: ConnectorInput,
  path: string,
  faults: Faults,
): Connector {
  if (path === "state") return { ...connector, state: input.state as ConnectorState };
  if (path === "rate_per_second") return { ...connector, ratePerSecond: input.ratePerSecond };
  const [part, name] = path.split(".", 2);
  if (part === "smpp" && connector.smpp !== undefined) {
    const smpp = pick(SMPP_DEFAULTS, input.smpp ?? {}, name, path, faults);
    return { ...connector, smpp: { ...connector.smpp, ...smpp } };
  }
  if (part === "http" && connector.http !== undefined) {
    const http = pick(HTTP_DEFAULTS, input.http ?? {}, name, path, faults);
    if (http.headers !== undefined) {
      http.headers = keepHidden(http.headers, connector.http.headers);
    }
    return { ...connector, http: { ...connector.http, ...http } };
  }
  faults.add("fields", "invalid_value", `${path} is not a field of this connector`);
  return connector;
}

const SECRETS = ["password", "receiptSecret"];

function pick<T extends object>(
  defaults: T,
  stated: Partial<T>,
  name: string | undefined,
  path: string,
  faults: Faults,
): { -readonly [K in keyof T]?: T[K] } {
  if (name === undefined) {
    const { host, url } = stated as { host?: string; url?: string };
    return host || url ? completeOnly(stated, defaults) : statedOnly(stated);
  }
  const key = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof T;
  if (!Object.hasOwn(defaults, key)) {
    faults.add("fields", "invalid_value", `${path} is not a field of this connector`);
    return {};
  }
  const value = stated[key];
  if (SECRETS.includes(key as string) && (value === undefined || value === "")) return {};
  if (value === undefined && !isOverride(key as string)) {
    faults.add(`connector.${path}`, "required", "is required, because it is to change");
    return {};
  }
  return { [key]: value } as { -readonly [K in keyof T]?: T[K] };
}

function merge<T extends object>(base: T, stated: Partial<T>): T {
  return { ...base, ...statedOnly(stated) };
}

/** The members that hold something: not zero, empty, false or an empty map. */
function statedOnly<T extends object>(stated: Partial<T>): { -readonly [K in keyof T]?: T[K] } {
  return keep(stated, (key, value) => {
    if (isOverride(key)) return value !== undefined;
    if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
    return value !== undefined && value !== "" && value !== 0 && value !== false;
  });
}

/** The members of complete settings: all but secrets left empty and what has no empty value. */
function completeOnly<T extends object>(
  stated: Partial<T>,
  defaults: T,
): { -readonly [K in keyof T]?: T[K] } {
  return keep(stated, (key, value) => {
    if (isOverride(key)) return true;
    if (SECRETS.includes(key)) return value !== "" && value !== undefined;
    return value !== undefined && value !== 0 && (value !== "" || !defaults[key as keyof T]);
  });
}

/** Type of number and numbering plan: zero is a value there, and absence too. */
function isOverride(key: string): boolean {
  return key.endsWith("Ton") || key.endsWith("Npi");
}

function keep<T extends object>(
  stated: Partial<T>,
  isKept: (key: string, value: unknown) => boolean,
): { -readonly [K in keyof T]?: T[K] } {
  const entries = Object.entries(stated).filter(([key, value]) => isKept(key, value));
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
  const faults = createFaults();
  checkOneOf(faults, "connector.state", connector.state, STATES);
  checkWhole(faults, "connector.rate_per_second", connector.ratePerSecond, 0, 1_000_000);
  // What could not be read is not what is saved.
  const { smpp, http } = connector.isUnreadable ? {} : connector;
  if (smpp !== undefined) checkSmpp(faults, smpp);
  if (http !== undefined) checkHttp(faults, http);
  faults.throwIfAny();
}

/** Decides whether a connector may be removed. Throws `invalid_state_transition` when not. */
export function checkRemoval(connectorId: string, routeNames: readonly string[]): void {
  if (connectorId === TEST_CONNECTOR_ID) {
    throw new AppError("invalid_state_transition", "The test connector is built in.");
  }
  if (routeNames.length > 0) {
    const names = routeNames.slice(0, 5).join(", ");
    throw new AppError("invalid_state_transition", `Routes still use this connector: ${names}.`);
  }
}

/** The connector as operators see it: no password, no key, no header value. */
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
