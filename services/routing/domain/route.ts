import { AMOUNT_MAX, formatAmount } from "../../shared/core/money.ts";
import type { PriceRule, RouteRule } from "../../shared/routes/route-table.ts";
import { checkLength, checkWhole, createFaults, type Faults } from "./validation-errors.ts";

/** A way to carry messages over one connector, at prices by prefix. */
export type Route = RouteRule & {
  /** Rises with each change of the prices; 1 for those it was made with. */
  readonly pricesVersion: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** What a caller states of a route. */
export type RouteInput = Omit<RouteRule, "id">;

/** Most prices of one route; a world-wide price list has some thousands. */
export const PRICES_MAX = 20_000;

const PRICE_RULE = `must be from ${formatAmount(0n)} to ${formatAmount(AMOUNT_MAX)}`;
const PREFIX = /^[1-9]\d{0,14}$/;

/** Makes a route. A weight of 0 means 1. Throws `validation_error`. */
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

/** The fields a route may change, by their names on the wire. */
const FIELDS: Readonly<Record<string, keyof RouteInput>> = {
  name: "name",
  connector_id: "connectorId",
  enabled: "enabled",
  priority: "priority",
  weight: "weight",
  sender_ids: "senderIds",
  plans: "plans",
  tenant_ids: "tenantIds",
  prices: "prices",
  enabled_from_minute: "enabledFromMinute",
  enabled_until_minute: "enabledUntilMinute",
};

/** Puts the stated prices into the list that is there, so that no caller has to know all of it. */
const SET_PRICES = "prices.set";

/** Replaces the named fields; `prices.set` adds or replaces the stated prefixes only. Throws `validation_error`. */
export function changeRoute(
  route: Route,
  input: RouteInput,
  fields: readonly string[],
  nowMs: number,
): Route {
  const faults = createFaults();
  if (fields.length === 0) faults.add("fields", "required", "name at least one field to change");
  const changes: Record<string, unknown> = {};
  for (const field of fields) {
    if (field === SET_PRICES) continue;
    const key = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
    if (key === undefined) faults.add("fields", "invalid_value", `${field} is not a field`);
    else changes[key] = input[key];
  }
  const isSetting = fields.includes(SET_PRICES);
  if (isSetting) changes.prices = mergePrices(route.prices, input.prices, faults);
  if (isSetting && fields.includes("prices")) {
    faults.add("fields", "invalid_value", `prices and ${SET_PRICES} exclude each other`);
  }
  faults.throwIfAny();
  const next = { ...route, ...changes, updatedAtMs: nowMs } as Route;
  checkRoute(next);
  return changes.prices === undefined ? next : { ...next, pricesVersion: route.pricesVersion + 1 };
}

/** The prices with others set among them; what is wrong with the stated ones is named by their own places. */
function mergePrices(
  prices: readonly PriceRule[],
  stated: readonly PriceRule[],
  faults: Faults,
): readonly PriceRule[] {
  if (stated.length === 0) faults.add("route.prices", "required", "name at least one price to set");
  checkPrices(faults, stated);
  return [...new Map([...prices, ...stated].map((rule) => [rule.prefix, rule])).values()];
}

/** The route with other prices, as an import brings them. Throws `validation_error`. */
export function replacePrices(route: Route, prices: readonly PriceRule[], nowMs: number): Route {
  const next = { ...route, prices, pricesVersion: route.pricesVersion + 1, updatedAtMs: nowMs };
  checkRoute(next);
  return next;
}

function checkRoute(route: Route): void {
  const faults = createFaults();
  checkLength(faults, "route.name", route.name, 1, 64);
  if (route.name.startsWith("rte_")) {
    faults.add("route.name", "invalid_value", "must not look like a route's id");
  }
  checkLength(faults, "route.connector_id", route.connectorId, 1, 32);
  checkWhole(faults, "route.priority", route.priority, 0, 1_000_000);
  checkWhole(faults, "route.weight", route.weight, 0, 1_000_000);
  checkWhole(faults, "route.enabled_from_minute", route.enabledFromMinute, 0, 1439);
  checkWhole(faults, "route.enabled_until_minute", route.enabledUntilMinute, 0, 1440);
  checkList(faults, "route.sender_ids", route.senderIds, 11);
  checkList(faults, "route.plans", route.plans, 64);
  checkList(faults, "route.tenant_ids", route.tenantIds, 64);
  checkPrices(faults, route.prices);
  faults.throwIfAny();
}

function checkList(faults: Faults, field: string, items: readonly string[], max: number): void {
  if (items.length > 1000) faults.add(field, "too_many", "must have at most 1000 entries");
  items.forEach((item, at) => {
    checkLength(faults, `${field}[${at}]`, item, 1, max);
  });
}

function checkPrices(faults: Faults, prices: readonly PriceRule[]): void {
  if (prices.length > PRICES_MAX) {
    faults.add("route.prices", "too_many", `must have at most ${PRICES_MAX} entries`);
  }
  const seen = new Set<string>();
  prices.forEach(({ prefix, price }, at) => {
    const field = `route.prices[${at}]`;
    const wrong = findPrefixFault(prefix);
    if (wrong !== undefined) faults.add(`${field}.prefix`, "invalid_format", wrong);
    if (seen.has(prefix)) faults.add(`${field}.prefix`, "invalid_value", "is there twice");
    seen.add(prefix);
    if (price < 0n || price > AMOUNT_MAX) {
      faults.add(`${field}.price`, "out_of_range", PRICE_RULE);
    }
  });
}

/** What is wrong with a prefix: a country calling code and further digits, no plus sign. */
export function findPrefixFault(prefix: string): string | undefined {
  return PREFIX.test(prefix) ? undefined : "must be 1 to 15 digits without + or leading zero";
}
