import {
  type BindHealth,
  BindHealthSchema,
  type Connector,
  ConnectorSchema,
  ConnectorState,
  ConnectorType,
  type DeliveryHealth,
  DeliveryHealthSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { isRow, type Json, type Row } from "../../shared/cli/cell.ts";
import type { Options } from "../../shared/cli/options.ts";
import { AppError } from "../../shared/core/errors.ts";
import { carrierOps } from "../calls/clients.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";
import { fieldPaths, httpSettings, smppSettings } from "./connector-settings.ts";

/** Carriers report every second; the margin allows for clock skew. */
const REPORT_OLD_MS = 10_000;

/** The most receipts in one response of a carrier. */
const UNMATCHED_MAX = 1000;

const TYPES = { smpp: ConnectorType.SMPP, http: ConnectorType.HTTP };

export const add: Run = async (context) => {
  const { clients, options } = context;
  const type = readType(options.optional("type") ?? "smpp");
  const smpp = smppSettings(options);
  const http = httpSettings(options);
  rejectOtherType(type, type === "smpp" ? http : smpp);
  rejectEmptyPointers(http);
  const { connector } = await clients.routing.createConnector({
    connector: {
      id: options.optionOrWord("name", "The connector's name"),
      type: TYPES[type],
      state: ConnectorState.ACTIVE,
      ratePerSecond: options.whole("rate") ?? 0,
      ...(type === "smpp" ? { smpp } : { http }),
    },
  });
  return show(context, connector);
};

export const update: Run = async (context) => {
  const { clients, options } = context;
  const id = options.word(0, "The connector's name");
  const rate = options.whole("rate");
  const smpp = smppSettings(options);
  const http = httpSettings(options);
  // Send only the given fields, so that two operators do not undo each other's changes.
  const { connector } = await clients.routing.updateConnector({
    id,
    connector: { id, ratePerSecond: rate ?? 0, smpp, http },
    fields: [
      ...(rate === undefined ? [] : ["rate_per_second"]),
      ...fieldPaths("smpp", smpp),
      ...fieldPaths("http", http),
    ],
  });
  return show(context, connector);
};

export const pause = setState(ConnectorState.PAUSED);
export const resume = setState(ConnectorState.ACTIVE);
export const drain = setState(ConnectorState.DRAINING);

export const queues: Run = async ({ clients, output }) => {
  const { queues } = await clients.messaging.getQueueStats({});
  await output.list(
    queues.map(({ connectorId, waiting, sending, oldestWaitingMs }) => ({
      // Messages whose routes are all disabled have no connector.
      connector: connectorId === "" ? null : connectorId,
      waiting: Number(waiting),
      sending: Number(sending),
      oldest_waiting_seconds: Math.round(Number(oldestWaitingMs) / 1000),
    })),
    { columns: ["connector", "waiting", "sending", "oldest_waiting_seconds"] },
  );
  return 0;
};

export const remove: Run = async ({ clients, options, output }) => {
  const id = options.word(0, "The connector's name");
  await clients.routing.removeConnector({ id });
  await output.result({ id, removed: true });
  return 0;
};

/** The unmatched receipts of the last three days, from a carrier's ops port. */
export const unmatched: Run = async ({ options, output }) => {
  const rows = await fetchFromCarrier(options, "/unmatched-receipts");
  await output.list(rows, { columns: Object.keys(rows[0] ?? {}).map((name) => `${name}…`) });
  if (rows.length >= UNMATCHED_MAX) {
    output.more(`these are the newest ${UNMATCHED_MAX}; there may be more`);
  }
  return 0;
};

/** Where each HTTP carrier posts messages from handsets, from a carrier's ops port. */
export const inboundUrls: Run = async ({ options, output }) => {
  await output.list(await fetchFromCarrier(options, "/inbound-urls"), {
    columns: ["connector", "url"],
  });
  return 0;
};

async function fetchFromCarrier(options: Options, path: string): Promise<Row[]> {
  const context = options.optional("context");
  const ops = carrierOps(process.env, context, options.optional("ops"));
  const url = new URL(path, ops.url);
  const { token } = ops;
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    const found = (await answer.json()) as Json;
    return (Array.isArray(found) ? found : []).filter(isRow);
  } catch (error) {
    // The text of fetch's own error is always "fetch failed".
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    const text = `Cannot reach the carrier at ${url.origin}: ${why}`;
    throw new AppError("service_unavailable", text, { cause: error });
  }
}

export const list: Run = async ({ clients, output }) => {
  const { connectors, health } = await clients.routing.listConnectors({});
  const nowMs = Date.now();
  await output.list(
    connectors.map((connector) => withHealth(connector, health)),
    {
      tableRows: connectors.flatMap((connector) => overview(connector, health, nowMs)),
      columns: [
        ...["connector", "state", "link", "error…", "window", "per s", "bind", "submitted"],
        ...["limit", "throttle", "throttled", "receipts", "unknown"],
      ],
      wide: ["answer p99 ms", "receipt p50 s"],
    },
  );
  return 0;
};

/** One row per bind with the current state of its link. */
function overview(connector: Connector, health: readonly BindHealth[], nowMs: number): Row[] {
  const { id, state, rate_per_second: rate } = toJson(ConnectorSchema, connector);
  const binds = health.filter(({ connectorId }) => connectorId === connector.id);
  const trouble = connector.secretsUnreadable ? "its secrets cannot be opened" : "";
  if (binds.length === 0) {
    return [{ connector: id ?? "", state: state ?? "", link: "no carrier", error: trouble }];
  }
  return binds.map((bind) => ({
    connector: id ?? "",
    state: state ?? "",
    bind: bind.bind,
    link: linkText(bind, nowMs),
    window: `${bind.windowUsed}/${bind.window}`,
    "per s": bind.submitsPerSecond.toFixed(1),
    limit: rate === 0 ? "none" : String(rate),
    throttle: bind.adaptiveRate === undefined ? "none" : bind.adaptiveRate.toFixed(0),
    submitted: Number(bind.submitted),
    throttled: Number(bind.throttled),
    unknown: Number(bind.unknown),
    "answer p99 ms": Math.round(bind.answerMsP99),
    receipts: Number(bind.receipts),
    "receipt p50 s": Number(bind.receiptSecondsP50.toFixed(1)),
    error: trouble || bind.lastError,
  }));
}

/** Reports outlive their carrier by up to two minutes, so show the age of an old one. */
function linkText({ link, reportedAtMs }: BindHealth, nowMs: number): string {
  const ageMs = nowMs - Number(reportedAtMs);
  return ageMs > REPORT_OLD_MS ? `${link}, silent for ${Math.round(ageMs / 1000)} s` : link;
}

function withHealth(connector: Connector, health: readonly BindHealth[]): Row {
  const binds = health.filter(({ connectorId }) => connectorId === connector.id);
  return {
    ...toJson(ConnectorSchema, connector),
    binds: binds.map((bind) => toJson(BindHealthSchema, bind)),
  };
}

/** The delivery rate of each connector and country with its baseline. */
export const health: Run = async ({ clients, options, output }) => {
  const connectorId = options.optional("connector");
  const { connectors, deliveries } = await clients.routing.listConnectors({});
  if (connectorId !== undefined && !connectors.some(({ id }) => id === connectorId)) {
    throw new AppError("not_found", `There is no connector ${connectorId}.`);
  }
  const own = deliveries.filter(
    (one) => connectorId === undefined || one.connectorId === connectorId,
  );
  await output.list(
    own.map((one) => toJson(DeliveryHealthSchema, one)),
    {
      tableRows: own.map(deliveryRow),
      columns: [
        ...["connector", "country", "state", "delivered", "baseline", "submitted"],
        ...["undelivered", "no receipt, hour", "no receipt, day"],
      ],
    },
  );
  return 0;
};

function deliveryRow(delivery: DeliveryHealth): Row {
  const percent = (rate?: number) => (rate === undefined ? "-" : `${(100 * rate).toFixed(1)} %`);
  return {
    connector: delivery.connectorId,
    country: delivery.country || "all",
    state: delivery.state,
    delivered: percent(delivery.rate),
    baseline: percent(delivery.baselineRate),
    submitted: Number(delivery.submitted),
    undelivered: Number(delivery.undelivered),
    "no receipt, hour": Number(delivery.withoutReceiptHour),
    "no receipt, day": Number(delivery.withoutReceiptDay),
  };
}

function setState(state: ConnectorState): Run {
  return async (context) => {
    const id = context.options.word(0, "The connector's name");
    const { connector } = await context.clients.routing.updateConnector({
      id,
      connector: { id, state },
      fields: ["state"],
    });
    return show(context, connector);
  };
}

async function show({ output }: CommandContext, connector: Connector | undefined): Promise<number> {
  if (connector !== undefined) await output.result(toJson(ConnectorSchema, connector));
  return 0;
}

function readType(text: string): keyof typeof TYPES {
  if (text === "smpp" || text === "http") return text;
  throw new AppError("validation_error", "--type must be smpp or http.");
}

/** An empty pointer means the whole response in an update, but the default in a new connector. */
function rejectEmptyPointers({ idPointer, receiptStatusPointer }: ReturnType<typeof httpSettings>) {
  if (idPointer !== "" && receiptStatusPointer !== "") return;
  const text = "An empty pointer is set by connector update: here it would mean the default.";
  throw new AppError("validation_error", text);
}

/** Rejects settings of the other type, which the request would drop silently. */
function rejectOtherType(type: "smpp" | "http", settings: object): void {
  const [first] = fieldPaths(type === "smpp" ? "http" : "smpp", settings);
  if (first === undefined) return;
  throw new AppError("validation_error", `A connector of --type ${type} has no ${first}.`);
}
