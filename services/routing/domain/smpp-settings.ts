import { checkSubmitErrorCodes } from "./submit-error-codes.ts";
import { checkThrottleScopes, type ThrottleScopes } from "./throttle-scopes.ts";
import { checkLength, checkOneOf, checkWhole, type FieldErrors } from "./validation-errors.ts";

/** Settings of the SMPP bind and of the submits over it. */
export type SmppSettings = {
  readonly host: string;
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  readonly systemType: string;
  readonly bindMode: string;
  readonly binds: number;
  readonly window: number;
  readonly tls: boolean;
  readonly tlsCa: string;
  readonly tlsServerName: string;
  readonly defaultCharset: string;
  readonly sourceTon: number | undefined;
  readonly sourceNpi: number | undefined;
  readonly destinationTon: number | undefined;
  readonly destinationNpi: number | undefined;
  readonly longMessage: string;
  readonly enquireLinkIntervalMs: number;
  readonly responseTimeoutMs: number;
  readonly receiptIdForm: string;
  readonly singleReceipt: boolean;
  readonly errorCodes: Readonly<Record<string, string>>;
  readonly optionalParameters: string;
  readonly throttleScopes: ThrottleScopes;
  readonly submitErrorCodes: Readonly<Record<string, string>>;
};

/** Defaults of a new connector. */
export const SMPP_DEFAULTS: SmppSettings = {
  host: "",
  port: 2775,
  systemId: "",
  password: "",
  systemType: "",
  bindMode: "transceiver",
  binds: 1,
  window: 10,
  tls: false,
  tlsCa: "",
  tlsServerName: "",
  defaultCharset: "gsm7",
  sourceTon: undefined,
  sourceNpi: undefined,
  destinationTon: undefined,
  destinationNpi: undefined,
  longMessage: "udh8",
  enquireLinkIntervalMs: 30_000,
  responseTimeoutMs: 10_000,
  receiptIdForm: "as_is",
  singleReceipt: false,
  errorCodes: {},
  optionalParameters: "auto",
  throttleScopes: {},
  submitErrorCodes: {},
};

/** Our error codes of an undelivered message (docs/contract.md#statuses). */
export const UNDELIVERED_CODES = [
  "absent_subscriber",
  "unknown_subscriber",
  "subscriber_barred",
  "handset_error",
  "network_error",
  "validity_expired",
  "spam_blocked",
  "dnd_blocked",
  "carrier_rejected",
  "unknown",
] as const;

/** Most entries of a connector's error-code table. */
const ERROR_CODES_MAX = 500;

/** Validates SMPP settings. The lengths of bind fields are those of SMPP 3.4 section 4.1.1. */
export function checkSmpp(errors: FieldErrors, smpp: SmppSettings): void {
  checkLength(errors, "smpp.host", smpp.host, 1, 253);
  checkWhole(errors, "smpp.port", smpp.port, 1, 65_535);
  checkLength(errors, "smpp.system_id", smpp.systemId, 1, 15);
  checkLength(errors, "smpp.password", smpp.password, 0, 8);
  checkLength(errors, "smpp.system_type", smpp.systemType, 0, 12);
  checkBindMode(errors, smpp.bindMode);
  checkWhole(errors, "smpp.binds", smpp.binds, 1, 64);
  checkWhole(errors, "smpp.window", smpp.window, 1, 10_000);
  checkLength(errors, "smpp.tls_ca", smpp.tlsCa, 0, 100_000);
  checkLength(errors, "smpp.tls_server_name", smpp.tlsServerName, 0, 253);
  checkOneOf(errors, "smpp.default_charset", smpp.defaultCharset, [
    "gsm7",
    "latin1",
    "ascii",
    "ucs2",
  ]);
  for (const [name, value] of [
    ["source_ton", smpp.sourceTon],
    ["source_npi", smpp.sourceNpi],
    ["destination_ton", smpp.destinationTon],
    ["destination_npi", smpp.destinationNpi],
  ] as const) {
    // TON has values 0 to 6, NPI up to 18 (SMPP 3.4 sections 5.2.5 and 5.2.6).
    const max = name.endsWith("ton") ? 6 : 18;
    if (value !== undefined) checkWhole(errors, `smpp.${name}`, value, 0, max);
  }
  checkOneOf(errors, "smpp.long_message", smpp.longMessage, ["udh8", "udh16", "sar", "payload"]);
  checkWhole(errors, "smpp.enquire_link_interval_ms", smpp.enquireLinkIntervalMs, 100, 3_600_000);
  checkWhole(errors, "smpp.response_timeout_ms", smpp.responseTimeoutMs, 100, 600_000);
  checkOneOf(errors, "smpp.receipt_id_form", smpp.receiptIdForm, [
    "as_is",
    "hex_to_decimal",
    "decimal_to_hex",
  ]);
  checkOneOf(errors, "smpp.optional_parameters", smpp.optionalParameters, [
    "auto",
    "always",
    "never",
  ]);
  checkErrorCodes(errors, smpp.errorCodes);
  checkThrottleScopes(errors, "smpp", smpp.throttleScopes);
  checkSubmitErrorCodes(errors, "smpp", smpp.submitErrorCodes);
}

/**
 * Rejects receiver binds, because a connector submits and a receiver bind cannot (SMPP 3.4 section
 * 2.3). A second, receiving connector would not help: receipts match only messages of their own
 * connector.
 */
function checkBindMode(errors: FieldErrors, mode: string): void {
  if (mode === "receiver") {
    const text = "nothing can be submitted over a receiver bind; use transceiver";
    errors.add("smpp.bind_mode", "invalid_value", text);
  } else checkOneOf(errors, "smpp.bind_mode", mode, ["transceiver", "transmitter"]);
}

function checkErrorCodes(errors: FieldErrors, codes: Readonly<Record<string, string>>): void {
  const entries = Object.entries(codes);
  if (entries.length > ERROR_CODES_MAX) {
    errors.add("smpp.error_codes", "too_many", `must have at most ${ERROR_CODES_MAX} entries`);
  }
  for (const [theirs, ours] of entries) {
    // The receipt parser takes no other text of `err` as a code.
    if (!/^[0-9A-Za-z.-]{1,20}$/.test(theirs)) {
      const text = "a carrier code has 1 to 20 letters, digits, dots and dashes";
      errors.add("smpp.error_codes", "invalid_format", text);
    }
    checkOneOf(errors, `smpp.error_codes.${theirs}`, ours, UNDELIVERED_CODES);
  }
}
