import {
  ExplainResponseSchema,
  ImportPricesResponseSchema,
  type Price,
  type Route,
  RouteSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { isRow, type Row } from "../../shared/cli/cell.ts";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { defined, type Options } from "../../shared/cli/options.ts";
import { AppError } from "../../shared/core/errors.ts";
import { parseAmount } from "../../shared/core/money.ts";
import { localActor } from "../calls/actor.ts";
import { resolveTenant } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const add: Run = async (context) => {
  const { clients, options } = context;
  const tenants = await Promise.all(
    options.list("tenants").map((tenant) => resolveTenant(clients, tenant)),
  );
  const { route } = await clients.routing.createRoute({
    route: {
      name: options.required("name"),
      connectorId: options.required("connector"),
      enabled: options.boolean("disabled") !== true,
      priority: options.whole("priority") ?? 100,
      weight: options.whole("weight") ?? 1,
      plans: options.list("plans"),
      senderIds: options.list("sender-ids"),
      tenantIds: tenants,
      trafficClasses: options.list("classes").map(readClass),
      prices: readPrices(options.list("prices")),
      ...readHours(options.optional("hours")),
    },
  });
  return show(context, route);
};

export const list: Run = async ({ clients, options, output }) => {
  const isWanted = createdWithin(options);
  const { routes } = await clients.routing.listRoutes({});
  const shown = routes.filter(isWanted);
  await output.list(
    shown.map((route) => toJson(RouteSchema, route)),
    {
      tableRows: shown.map(overview),
      columns: [
        ...["name", "connector_id", "enabled", "priority", "weight", "prices", "hours"],
        ...["plans…", "sender_ids…", "tenant_ids…", "traffic_classes…", "id"],
      ],
      wide: ["created_at", "updated_at"],
      headings: { connector_id: "connector", tenant_ids: "tenants", traffic_classes: "classes" },
    },
  );
  return 0;
};

export const update: Run = async (context) => {
  const { clients, options } = context;
  const idOrName = options.word(0, "The route");
  const changes = await readChanges(context);
  // Send only the given fields, so that two operators do not undo each other's changes.
  const { route } = await clients.routing.updateRoute({
    idOrName,
    route: changes,
    fields: Object.keys(changes).map(snakeCase),
  });
  return show(context, route);
};

export const remove: Run = async ({ clients, options, output }) => {
  const idOrName = options.word(0, "The route");
  const { route } = await clients.routing.removeRoute({ idOrName });
  await output.result({ id: route?.id ?? "", name: route?.name ?? "", removed: true });
  return 0;
};

export const enable = setEnabled(true);
export const disable = setEnabled(false);

export const price: Run = async (context) => {
  const { clients, options } = context;
  const idOrName = options.word(0, "The route");
  options.required("prices");
  const { route } = await clients.routing.updateRoute({
    idOrName,
    route: { prices: readPrices(options.list("prices")) },
    fields: ["prices.set"],
  });
  return show(context, route);
};

export const importList: Run = async ({ clients, options, output }) => {
  options.required("csv");
  const answer = await clients.routing.importPrices({
    idOrName: options.word(0, "The route"),
    csv: options.file("csv") ?? "",
    dryRun: options.isSet("dry-run"),
    actor: localActor(options),
  });
  const shown = toJson(ImportPricesResponseSchema, answer);
  // People see one row per change.
  if (output.isForPeople) {
    const rows = Array.isArray(shown.changes) ? shown.changes.filter(isRow) : [];
    await output.list(rows, { columns: ["prefix", "old_price", "new_price", "added", "removed"] });
  } else await output.result(shown);
  const removed = answer.changes.filter((change) => change.removed).length;
  const added = answer.changes.filter((change) => change.added).length;
  const changed = answer.changes.length - removed - added;
  const verb = answer.applied ? "" : "would be ";
  output.note(`${verb}added: ${added}, changed: ${changed}, removed: ${removed}`);
  return 0;
};

export const explain: Run = async ({ clients, options, output }) => {
  const tenant = options.optional("tenant");
  const found =
    tenant === undefined ? undefined : await clients.tenants.getTenant({ idOrName: tenant });
  const answer = await clients.routing.explain({
    to: options.optionOrWord("to", "The number"),
    from: options.optional("from") ?? "",
    segments: options.whole("segments") ?? 1,
    trafficClass: readClass(options.optional("class") ?? "transactional"),
    tenantId: found?.tenant?.id ?? "",
    plan: found?.tenant?.plan ?? "default",
  });
  const shown = toJson(ExplainResponseSchema, answer);
  if (!output.isForPeople) {
    await output.result(shown);
    return 0;
  }
  // Show the answer in the first columns: a narrow terminal has no place for all columns of a route.
  const rows = Array.isArray(shown.routes) ? shown.routes.filter(isRow) : [];
  await output.list(rows, {
    columns: [
      ...["route.name", "chosen", "price", "route.connector_id", "why…", "matched_prefix"],
      ...["route.priority", "route.weight", "route.id"],
    ],
    headings: {
      "route.name": "route",
      "route.connector_id": "connector",
      "route.priority": "priority",
      "route.weight": "weight",
      "route.id": "id",
      matched_prefix: "prefix",
    },
  });
  output.note(`to ${answer.to}, a number of ${answer.country || "no known country"}`);
  return 0;
};

function setEnabled(enabled: boolean): Run {
  return async (context) => {
    const { route } = await context.clients.routing.updateRoute({
      idOrName: context.options.word(0, "The route"),
      route: { enabled },
      fields: ["enabled"],
    });
    return show(context, route);
  };
}

/** Only the fields of a route given on the command line. */
async function readChanges({ clients, options }: CommandContext) {
  const tenants = readLimit(options, "tenants");
  return defined({
    connectorId: options.named("connector"),
    name: options.named("name"),
    priority: options.whole("priority"),
    weight: options.whole("weight"),
    plans: readLimit(options, "plans"),
    senderIds: readLimit(options, "sender-ids"),
    tenantIds:
      tenants && (await Promise.all(tenants.map((tenant) => resolveTenant(clients, tenant)))),
    trafficClasses: readLimit(options, "classes")?.map(readClass),
    ...readHours(options.optional("hours")),
  });
}

function readClass(text: string): TrafficClass {
  return readEnumWord(TrafficClass, text, "class");
}

/** The items that a route is limited to; `*` alone returns an empty list, which removes the limit. */
function readLimit(options: Options, name: string): string[] | undefined {
  if (options.optional(name) === undefined) return undefined;
  const items = options.list(name);
  return items.join() === "*" ? [] : items;
}

/** Reads `--hours` as minutes of the day, UTC; `always` sets both to 0. */
function readHours(text: string | undefined) {
  if (text === undefined) return {};
  if (text === "always") return { enabledFromMinute: 0, enabledUntilMinute: 0 };
  const [, fromHour, from, untilHour, until] =
    /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text) ?? [];
  if (until === undefined) {
    throw new AppError("validation_error", "--hours must be such as 07:00-22:30, UTC, or always.");
  }
  return {
    enabledFromMinute: Number(fromHour) * 60 + Number(from),
    enabledUntilMinute: Number(untilHour) * 60 + Number(until),
  };
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A route as a table row, without its prices: there may be thousands. */
function overview(route: Route): Row {
  const {
    prices: _prices,
    enabled_from_minute: _from,
    enabled_until_minute: _until,
    ...shown
  } = toJson(RouteSchema, route);
  const { enabledFromMinute: from, enabledUntilMinute: until } = route;
  const hours = from === until ? "always" : `${timeOfDay(from)}-${timeOfDay(until)}`;
  return { ...shown, prices: route.prices.length, hours };
}

function timeOfDay(minute: number): string {
  const [hour, rest] = [Math.floor(minute / 60), minute % 60];
  return `${String(hour).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

function readPrices(texts: readonly string[]): Pick<Price, "prefix" | "price">[] {
  return texts.map((text) => {
    const [prefix = "", priceText = "", ...rest] = text.split("=");
    const price = parseAmount(priceText);
    if (!/^\d{1,15}$/.test(prefix) || price === undefined || price < 0n || rest.length > 0) {
      throw new AppError("validation_error", `${text} is not PREFIX=PRICE, such as 234=4.5000.`);
    }
    return { prefix, price };
  });
}

async function show({ output }: CommandContext, route: Route | undefined): Promise<number> {
  if (route !== undefined) await output.result(toJson(RouteSchema, route));
  return 0;
}
