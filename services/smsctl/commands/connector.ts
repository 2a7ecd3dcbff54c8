import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type BindHealth,
  BindHealthSchema,
  type Connector,
  ConnectorSchema,
  ConnectorState,
  ConnectorType,
  type HttpSettingsSchema,
  type SmppSettingsSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { carrierOps } from "../clients.ts";
import type { Command, CommandContext, Commands } from "../command.ts";
import type { Options } from "../options.ts";
import { type Json, present } from "../present.ts";

const SMPP_OPTIONS = [
  "--host H --port P --system-id S --password P [--binds N --window N",
  "--bind-mode transceiver|transmitter --tls[=false] --tls-ca FILE --tls-server-name N",
  "--charset gsm7|latin1|ascii|ucs2 --long-message udh8|udh16|sar|payload",
  "--receipt-id as_is|hex_to_decimal|decimal_to_hex --single-receipt true|false",
  "--enquire-link-ms N --response-timeout-ms N --system-type T",
  "--source-ton N --source-npi N --destination-ton N --destination-npi N]",
].join(" ");
const HTTP_OPTIONS = [
  "--url U --body-template T --id-pointer P --receipt-secret S [--method POST --content-type T",
  "--timeout-ms N --concurrency N --receipt-id-pointer P --receipt-status-pointer P]",
].join(" ");

/** `smsctl connector …` */
export const CONNECTOR_COMMANDS: Commands = {
  add: {
    usage: `connector add --name C --type smpp|http [--rate R] ${SMPP_OPTIONS} | ${HTTP_OPTIONS}`,
    async run(context) {
      const { clients, options } = context;
      const type = readType(options.optional("type") ?? "smpp");
      const { connector } = await clients.routing.createConnector({
        connector: {
          id: options.optional("name") ?? options.word(2, "The connector's name"),
          type,
          state: ConnectorState.ACTIVE,
          ratePerSecond: options.whole("rate") ?? 0,
          ...(type === ConnectorType.SMPP ? { smpp: smppSettings(options) } : {}),
          ...(type === ConnectorType.HTTP ? { http: httpSettings(options) } : {}),
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
    usage: `connector update C [--type smpp|http --rate R] [${SMPP_OPTIONS} ${HTTP_OPTIONS}]`,
    async run(context) {
      const { clients, options } = context;
      const id = options.word(2, "The connector's name");
      const before = await find(context, id);
      const rate = options.whole("rate");
      const smpp = smppSettings(options);
      const http = httpSettings(options);
      const { connector } = await clients.routing.updateConnector({
        id,
        connector: {
          id,
          ratePerSecond: rate ?? before.ratePerSecond,
          ...(before.smpp === undefined ? {} : { smpp: { ...before.smpp, ...smpp } }),
          ...(before.http === undefined ? {} : { http: { ...before.http, ...http } }),
        },
        fields: [
          ...(rate === undefined ? [] : ["rate_per_second"]),
          ...(Object.keys(smpp).length > 0 && before.smpp !== undefined ? ["smpp"] : []),
          ...(Object.keys(http).length > 0 && before.http !== undefined ? ["http"] : []),
        ],
      });
      return show(context, connector);
    },
  },
  pause: setState("pause", ConnectorState.PAUSED),
  resume: setState("resume", ConnectorState.ACTIVE),
  drain: setState("drain", ConnectorState.DRAINING),
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
  const answer = await fetch(new URL("/unmatched-receipts", url), {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new AppError("service_unavailable", `${url} answered ${answer.status}.`);
  output.result((await answer.json()) as Json);
  return 0;
}

async function list({ clients, options, output, signal }: CommandContext): Promise<number> {
  do {
    const { connectors, health } = await clients.routing.listConnectors({});
    if (options.isSet("watch")) process.stdout.write("\u001b[2J\u001b[H");
    output.result(
      output.isJson
        ? connectors.map((connector) => withHealth(connector, health))
        : connectors.flatMap((connector) => overview(connector, health)),
    );
    if (options.isSet("watch")) await wait(1000, undefined, { signal }).catch(() => undefined);
  } while (options.isSet("watch") && !signal.aborted);
  return 0;
}

/** One line for each bind, for people: what the link does now. */
function overview(connector: Connector, health: readonly BindHealth[]): Json[] {
  const { id, state, rate_per_second: rate } = present(ConnectorSchema, connector);
  const binds = health.filter(({ connectorId }) => connectorId === connector.id);
  if (binds.length === 0) return [{ connector: id ?? "", state: state ?? "", link: "no carrier" }];
  return binds.map((bind) => ({
    connector: id ?? "",
    state: state ?? "",
    bind: bind.bind,
    link: bind.link,
    window: `${bind.windowUsed}/${bind.window}`,
    "per s": bind.submitsPerSecond.toFixed(1),
    limit: rate === 0 ? "none" : String(rate),
    submitted: Number(bind.submitted),
    throttled: Number(bind.throttled),
    unknown: Number(bind.unknown),
    "answer p99 ms": Math.round(bind.answerMsP99),
    receipts: Number(bind.receipts),
    "receipt p50 s": Number(bind.receiptSecondsP50.toFixed(1)),
    error: bind.lastError,
  }));
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

async function find({ clients }: CommandContext, id: string): Promise<Connector> {
  const { connectors } = await clients.routing.listConnectors({});
  const found = connectors.find((connector) => connector.id === id);
  if (found === undefined) throw new AppError("not_found", `There is no connector ${id}.`);
  return found;
}

function show({ output }: CommandContext, connector: Connector | undefined): number {
  if (connector !== undefined) output.result(present(ConnectorSchema, connector));
  return 0;
}

function readType(text: string): ConnectorType {
  if (text === "smpp") return ConnectorType.SMPP;
  if (text === "http") return ConnectorType.HTTP;
  throw new AppError("validation_error", "--type must be smpp or http.");
}

function smppSettings(options: Options): MessageInitShape<typeof SmppSettingsSchema> {
  const caFile = options.optional("tls-ca");
  return defined({
    host: options.optional("host"),
    port: options.whole("port"),
    systemId: options.optional("system-id"),
    password: options.optional("password"),
    systemType: options.optional("system-type"),
    bindMode: options.optional("bind-mode"),
    binds: options.whole("binds"),
    window: options.whole("window"),
    tls: options.boolean("tls"),
    tlsCa: caFile === undefined ? undefined : readFileSync(caFile, "utf8"),
    tlsServerName: options.optional("tls-server-name"),
    defaultCharset: options.optional("charset"),
    sourceTon: options.whole("source-ton"),
    sourceNpi: options.whole("source-npi"),
    destinationTon: options.whole("destination-ton"),
    destinationNpi: options.whole("destination-npi"),
    longMessage: options.optional("long-message"),
    receiptIdForm: options.optional("receipt-id"),
    singleReceipt: options.boolean("single-receipt"),
    enquireLinkIntervalMs: options.whole("enquire-link-ms"),
    responseTimeoutMs: options.whole("response-timeout-ms"),
  });
}

function httpSettings(options: Options): MessageInitShape<typeof HttpSettingsSchema> {
  return defined({
    url: options.optional("url"),
    method: options.optional("method"),
    bodyTemplate: options.optional("body-template"),
    contentType: options.optional("content-type"),
    idPointer: options.optional("id-pointer"),
    timeoutMs: options.whole("timeout-ms"),
    concurrency: options.whole("concurrency"),
    receiptSecret: options.optional("receipt-secret"),
    receiptIdPointer: options.optional("receipt-id-pointer"),
    receiptStatusPointer: options.optional("receipt-status-pointer"),
  });
}

/** Leaves out what was not given, so that the service's defaults or the old values hold. */
function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
