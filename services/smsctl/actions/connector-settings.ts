/** A connector's SMPP and HTTP settings as options of the command line. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  HttpSettingsSchema,
  SmppSettingsSchema,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { defined, type Options } from "../../shared/cli/options.ts";

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
    submitErrorCodes: options.mapOrNone("submit-error-codes"),
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
    errorPointer: options.optional("error-pointer"),
    submitErrorCodes: options.mapOrNone("http-submit-error-codes"),
    inboundFromPointer: options.optional("inbound-from-pointer"),
    inboundToPointer: options.optional("inbound-to-pointer"),
    inboundBodyPointer: options.optional("inbound-body-pointer"),
    inboundIdPointer: options.optional("inbound-id-pointer"),
    inboundReferencePointer: options.optional("inbound-reference-pointer"),
    inboundTotalPointer: options.optional("inbound-total-pointer"),
    inboundSequencePointer: options.optional("inbound-sequence-pointer"),
  });
}

/** The field paths of settings as an update names them: `smpp.bind_mode` for `bindMode`. */
export function fieldPaths(part: "smpp" | "http", settings: object): string[] {
  return Object.keys(settings).map(
    (key) => `${part}.${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
  );
}
