import { setTimeout as wait } from "node:timers/promises";
import {
  type BindHealth,
  BindHealthSchema,
  type Connector,
  ConnectorSchema,
  ConnectorState,
  ConnectorType,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { carrierOps } from "../calls/clients.ts";
import { PASSING } from "../calls/retryable-errors.ts";
import type { Command, CommandContext, Commands } from "../cli/command.ts";
import { type Json, present } from "../cli/to-json.ts";
import {
  fieldPaths,
  HTTP_OPTIONS,
  httpSettings,
  SMPP_OPTIONS,
  smppSettings,
} from "./connector-settings.ts";

/** Carriers report every second; clocks of operators' machines may be a little apart. */
const REPORT_OLD_MS = 10_000;

/** Most receipts that a carrier tells at once. */
const UNMATCHED_MAX = 1000;

const TYPES = { smpp: ConnectorType.SMPP, http: ConnectorType.HTTP };

/** `smsctl connector …` */
export const CONNECTOR_COMMANDS: Commands = {
  add: {
    usage: `connector add C | --name C [--type smpp|http --rate R] ${SMPP_OPTIONS} | ${HTTP_OPTIONS}`,
    async run(context) {
      const { clients, options } = context;
      const type = readType(options.optional("type") ?? "smpp");
      const smpp = smppSettings(options);
      const http = httpSettings(options);
      refuseOther(type, type === "smpp" ? http : smpp);
      refuseEmptyPointers(http);
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
    },
  },
  list: {
    usage: "connector list [--watch]",
    run: list,
  },
  update: {
    usage: `connector update C [--rate R] [${SMPP_OPTIONS} ${HTTP_OPTIONS}]`,
    async run(context) {
      const { clients, options } = context;
      const id = options.word(2, "The connector's name");
      const rate = options.whole("rate");
      const smpp = smppSettings(options);
      const http = httpSettings(options);
      // Only what was given is sent, so that two operators do not undo each other's changes.
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
    },
  },
  pause: setState("pause", ConnectorState.PAUSED),
  resume: setState("resume", ConnectorState.ACTIVE),
  drain: setState("drain", ConnectorState.DRAINING),
  queues: {
    usage: "connector queues",
    async run({ clients, output }) {
      const { queues } = await clients.messaging.getQueueStats({});
      output.result(
        queues.map(({ connectorId, waiting, sending, oldestWaitingMs }) => ({
          // What waits while all of its routes are disabled waits at none.
          connector: connectorId === "" ? null : connectorId,
          waiting: Number(waiting),
          sending: Number(sending),
          oldest_waiting_seconds: Math.round(Number(oldestWaitingMs) / 1000),
        })),
      );
      return 0;
    },
  },
  unmatched: {
    usage: "connector unmatched [--ops URL]",
    run: listUnmatched,
  },
  remove: {
    usage: "connector remove C",
    async run({ clients, options, output }) {
      const id = options.word(2, "The connector's name");
      await clients.routing.removeConnector({ id });
      output.result({ id, removed: true });
      return 0;
    },
  },
};

/** Receipts of the last three days that no message explains, from a carrier's ops port. */
async function listUnmatched({ options, output }: CommandContext): Promise<number> {
  const { url, token } = carrierOps(process.env, options.optional("ops"));
  const found = await askCarrier(new URL("/unmatched-receipts", url), token);
  output.result(found);
  if (Array.isArray(found) && found.length >= UNMATCHED_MAX) {
    output.more(`these are the newest ${UNMATCHED_MAX}; there may be more`);
  }
  return 0;
}

async function askCarrier(url: URL, token: string): Promise<Json> {
  try {
    const answer = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    return (await answer.json()) as Json;
  } catch (error) {
    // What fetch itself says is "fetch failed".
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    const text = `No answer from the carrier at ${url.origin}: ${why}`;
    throw new AppError("service_unavailable", text, { cause: error });
  }
}

/** With `--watch` it goes on when routing does not answer: that is when somebody watches. */
async function list(context: CommandContext): Promise<number> {
  const { options, output } = context;
  if (!options.isSet("watch")) {
    await showAll(context);
    return 0;
  }
  for (;;) {
    output.clear();
    await showAll(context).catch((thrown: unknown) => {
      const error = toAppError(thrown);
      if (!PASSING.has(error.code)) throw thrown;
      output.failed(error);
    });
    await wait(1000);
  }
}

async function showAll({ clients, output }: CommandContext): Promise<void> {
  const { connectors, health } = await clients.routing.listConnectors({});
  const nowMs = Date.now();
  output.result(
    output.isJson
      ? connectors.map((connector) => withHealth(connector, health))
      : connectors.flatMap((connector) => overview(connector, health, nowMs)),
  );
}

/** One line for each bind, for people: what the link does now. */
function overview(connector: Connector, health: readonly BindHealth[], nowMs: number): Json[] {
  const { id, state, rate_per_second: rate } = present(ConnectorSchema, connector);
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
    submitted: Number(bind.submitted),
    throttled: Number(bind.throttled),
    unknown: Number(bind.unknown),
    "answer p99 ms": Math.round(bind.answerMsP99),
    receipts: Number(bind.receipts),
    "receipt p50 s": Number(bind.receiptSecondsP50.toFixed(1)),
    error: trouble || bind.lastError,
  }));
}

/** Reports outlive their carrier by up to two minutes; an old one says nothing of the link as it is. */
function linkText({ link, reportedAtMs }: BindHealth, nowMs: number): string {
  const ageMs = nowMs - Number(reportedAtMs);
  return ageMs > REPORT_OLD_MS ? `${link}, silent for ${Math.round(ageMs / 1000)} s` : link;
}

function withHealth(connector: Connector, health: readonly BindHealth[]): Json {
  const binds = health.filter(({ connectorId }) => connectorId === connector.id);
  return {
    ...present(ConnectorSchema, connector),
    binds: binds.map((bind) => present(BindHealthSchema, bind)),
  };
}

function setState(verb: string, state: ConnectorState): Command {
  return {
    usage: `connector ${verb} C`,
    async run(context) {
      const id = context.options.word(2, "The connector's name");
      const { connector } = await context.clients.routing.updateConnector({
        id,
        connector: { id, state },
        fields: ["state"],
      });
      return show(context, connector);
    },
  };
}

function show({ output }: CommandContext, connector: Connector | undefined): number {
  if (connector !== undefined) output.result(present(ConnectorSchema, connector));
  return 0;
}

function readType(text: string): keyof typeof TYPES {
  if (text === "smpp" || text === "http") return text;
  throw new AppError("validation_error", "--type must be smpp or http.");
}

/** An empty one means the whole answer, but in settings that are new the default. */
function refuseEmptyPointers({ idPointer, receiptStatusPointer }: ReturnType<typeof httpSettings>) {
  if (idPointer !== "" && receiptStatusPointer !== "") return;
  const text = "An empty pointer is set by connector update: here it would mean the default.";
  throw new AppError("validation_error", text);
}

/** Settings of the other kind would be left out without a word. */
function refuseOther(type: "smpp" | "http", settings: object): void {
  const [first] = fieldPaths(type === "smpp" ? "http" : "smpp", settings);
  if (first === undefined) return;
  throw new AppError("validation_error", `A connector of --type ${type} has no ${first}.`);
}
