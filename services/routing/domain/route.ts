import { AMOUNT_MAX, formatAmount } from "../../shared/core/money.ts";
import { TRAFFIC_CLASSES } from "../../shared/core/traffic-class.ts";
import type { PriceRule, RouteRule } from "../../shared/routes/route-table.ts";
import {
  checkLength,
  checkOneOf,
  checkWhole,
  createFieldErrors,
  type FieldErrors,
} from "./validation-errors.ts";

/** A route: carries messages over one connector, at prices by prefix (docs/contract.md#routing). */
export type Route = RouteRule & {
  /** Increases with each change of the prices; 1 for the first ones. */
  readonly pricesVersion: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** The fields of a route in a request. */
export type RouteInput = Omit<RouteRule, "id">;

/** Most prices of one route. A worldwide price list has some thousands. */
export const PRICES_MAX = 20_000;

const PRICE_RULE = `must be from ${formatAmount(0n)} to ${formatAmount(AMOUNT_MAX)}`;
const PREFIX = /^[1-9]\d{0,14}$/;

/** Creates a route. A weight of 0 means 1. Throws `validation_error`. */
export function createRoute(id: string, input: RouteInput, nowMs: number): Route {
  const route: Route = {
    ...input,
    id,
    weight: input.weight === 0 ? 1 : input.weight,
    pricesVersion: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  checkRoute(route);
  return route;
}

/** The fields that may change, by their protobuf names. */
const FIELDS: Readonly<Record<string, keyof RouteInput>> = {
  name: "name",
  connector_id: "connectorId",
  enabled: "enabled",
  priority: "priority",
  weight: "weight",
  sender_ids: "senderIds",
  plans: "plans",
  tenant_ids: "tenantIds",
  traffic_classes: "trafficClasses",
  prices: "prices",
  enabled_from_minute: "enabledFromMinute",
  enabled_until_minute: "enabledUntilMinute",
};

/** The field name that adds or replaces the given prices only, so that callers need not know the whole list. */
const SET_PRICES = "prices.set";

/**
 * Replaces the named fields. `prices.set` adds or replaces the given prefixes only. Throws
 * `validation_error`.
 */
export function changeRoute(
  route: Route,
  input: RouteInput,
  fields: readonly string[],
  nowMs: number,
): Route {
  const errors = createFieldErrors();
  if (fields.length === 0) errors.add("fields", "required", "name at least one field to change");
  const changes: Record<string, unknown> = {};
  for (const field of fields) {
    if (field === SET_PRICES) continue;
    const key = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (key === undefined) errors.add("fields", "invalid_value", `${field} is not a field`);
    else changes[key] = input[key];
  }
  const isSetting = fields.includes(SET_PRICES);
  if (isSetting) changes.prices = mergePrices(route.prices, input.prices, errors);
  if (isSetting && fields.includes("prices")) {
    errors.add("fields", "invalid_value", `prices and ${SET_PRICES} exclude each other`);
  }
  errors.throwIfAny();
  const next = { ...route, ...changes, updatedAtMs: nowMs } as Route;
  checkRoute(next);
  return changes.prices === undefined ? next : { ...next, pricesVersion: route.pricesVersion + 1 };
}

/** The prices with the given ones added or replaced. Errors name the index in the given list. */
function mergePrices(
  prices: readonly PriceRule[],
  given: readonly PriceRule[],
  errors: FieldErrors,
): readonly PriceRule[] {
  if (given.length === 0) errors.add("route.prices", "required", "name at least one price to set");
  checkPrices(errors, given);
  return [...new Map([...prices, ...given].map((rule) => [rule.prefix, rule])).values()];
}

/** The route with the prices of an import. Throws `validation_error`. */
export function replacePrices(route: Route, prices: readonly PriceRule[], nowMs: number): Route {
  const next = { ...route, prices, pricesVersion: route.pricesVersion + 1, updatedAtMs: nowMs };
  checkRoute(next);
  return next;
}

function checkRoute(route: Route): void {
  const errors = createFieldErrors();
  checkLength(errors, "route.name", route.name, 1, 64);
  if (route.name.startsWith("rte_")) {
    errors.add("route.name", "invalid_value", "must not look like a route's id");
  }
  checkLength(errors, "route.connector_id", route.connectorId, 1, 32);
  checkWhole(errors, "route.priority", route.priority, 0, 1_000_000);
  checkWhole(errors, "route.weight", route.weight, 0, 1_000_000);
  checkWhole(errors, "route.enabled_from_minute", route.enabledFromMinute, 0, 1439);
  checkWhole(errors, "route.enabled_until_minute", route.enabledUntilMinute, 0, 1440);
  checkList(errors, "route.sender_ids", route.senderIds, 11);
  checkList(errors, "route.plans", route.plans, 64);
  checkList(errors, "route.tenant_ids", route.tenantIds, 64);
  checkClasses(errors, route.trafficClasses);
  checkPrices(errors, route.prices);
  errors.throwIfAny();
}

/** Checks the classes. An unknown class is an error: without it the list could be empty, which means every class. */
function checkClasses(errors: FieldErrors, classes: readonly string[]): void {
  const field = "route.traffic_classes";
  for (const one of classes) checkOneOf(errors, field, one, TRAFFIC_CLASSES);
  if (new Set(classes).size < classes.length) errors.add(field, "invalid_value", "names one twice");
}

function checkList(
  errors: FieldErrors,
  field: string,
  items: readonly string[],
  max: number,
): void {
  if (items.length > 1000) errors.add(field, "too_many", "must have at most 1000 entries");
  items.forEach((item, at) => {
    checkLength(errors, `${field}[${at}]`, item, 1, max);
  });
}

function checkPrices(errors: FieldErrors, prices: readonly PriceRule[]): void {
  if (prices.length > PRICES_MAX) {
    errors.add("route.prices", "too_many", `must have at most ${PRICES_MAX} entries`);
  }
  const seen = new Set<string>();
  prices.forEach(({ prefix, price }, at) => {
    const field = `route.prices[${at}]`;
    const wrong = findPrefixError(prefix);
    if (wrong !== undefined) errors.add(`${field}.prefix`, "invalid_format", wrong);
    if (seen.has(prefix)) errors.add(`${field}.prefix`, "invalid_value", "is there twice");
    seen.add(prefix);
    if (price < 0n || price > AMOUNT_MAX) {
      errors.add(`${field}.price`, "out_of_range", PRICE_RULE);
    }
  });
}

/** The error of a prefix: it must be a country calling code and further digits, without plus. */
export function findPrefixError(prefix: string): string | undefined {
  return PREFIX.test(prefix) ? undefined : "must be 1 to 15 digits without + or leading zero";
}
