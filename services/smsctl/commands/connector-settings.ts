/** A connector's SMPP and HTTP settings as options of the command line. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  HttpSettingsSchema,
  SmppSettingsSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { defined, type Options } from "../cli/options.ts";

/** The options of SMPP settings, as the usage line shows them. */
export const SMPP_OPTIONS = [
  "--host H --port P --system-id S --password P|--password-file FILE|- [--binds N --window N",
  "--bind-mode transceiver|transmitter --tls[=false] --tls-ca FILE|- --tls-server-name N",
  "--charset gsm7|latin1|ascii|ucs2 --long-message udh8|udh16|sar|payload",
  "--receipt-id as_is|hex_to_decimal|decimal_to_hex --single-receipt true|false",
  "--optional-parameters auto|always|never",
  "--enquire-link-ms N --response-timeout-ms N --system-type T",
  "--source-ton N|default --source-npi N|default --destination-ton N|default --destination-npi N|default",
  "--error-codes THEIRS=OURS,…|none --throttle-scopes STATUS=bind|number,…|none]",
].join(" ");

/** The options of HTTP settings, as the usage line shows them. */
export const HTTP_OPTIONS = [
  "--url U --body-template T --id-pointer P --receipt-secret S|--receipt-secret-file FILE|-",
  "[--method POST --content-type T --headers-file FILE|- --timeout-ms N --concurrency N",
  "--receipt-status-pointer P --receipt-statuses THEIRS=OURS,… --http-throttle-scopes STATUS=bind|number,…|none]",
].join(" ");

/** Only the SMPP settings given on the command line. */
export function smppSettings(options: Options): MessageInitShape<typeof SmppSettingsSchema> {
  return defined({
    host: options.optional("host"),
    port: options.count("port"),
    systemId: options.optional("system-id"),
    password: options.secret("password"),
    systemType: options.optional("system-type"),
    bindMode: options.named("bind-mode"),
    binds: options.count("binds"),
    window: options.count("window"),
    tls: options.boolean("tls"),
    tlsCa: options.file("tls-ca"),
    tlsServerName: options.optional("tls-server-name"),
    defaultCharset: options.named("charset"),
    sourceTon: options.wholeOr("source-ton", "default"),
    sourceNpi: options.wholeOr("source-npi", "default"),
    destinationTon: options.wholeOr("destination-ton", "default"),
    destinationNpi: options.wholeOr("destination-npi", "default"),
    longMessage: options.named("long-message"),
    receiptIdForm: options.named("receipt-id"),
    singleReceipt: options.boolean("single-receipt"),
    enquireLinkIntervalMs: options.count("enquire-link-ms"),
    responseTimeoutMs: options.count("response-timeout-ms"),
    errorCodes: options.mapOrNone("error-codes"),
    optionalParameters: options.named("optional-parameters"),
    throttleScopes: options.mapOrNone("throttle-scopes"),
  });
}

/** Only the HTTP settings given on the command line. */
export function httpSettings(options: Options): MessageInitShape<typeof HttpSettingsSchema> {
  return defined({
    url: options.optional("url"),
    method: options.named("method"),
    bodyTemplate: options.optional("body-template"),
    contentType: options.optional("content-type"),
    headers: options.headers("headers-file"),
    idPointer: options.optional("id-pointer"),
    timeoutMs: options.count("timeout-ms"),
    concurrency: options.count("concurrency"),
    receiptSecret: options.secret("receipt-secret"),
    receiptStatusPointer: options.optional("receipt-status-pointer"),
    receiptStatuses: options.map("receipt-statuses"),
    throttleScopes: options.mapOrNone("http-throttle-scopes"),
  });
}

/** The field paths of settings as an update names them: `smpp.bind_mode` for `bindMode`. */
export function fieldPaths(part: "smpp" | "http", settings: object): string[] {
  return Object.keys(settings).map(
    (key) => `${part}.${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
  );
}
