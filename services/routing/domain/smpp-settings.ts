import { checkLength, checkOneOf, checkWhole, type Faults } from "./validation-errors.ts";

/** How a carrier process binds to an SMSC, and how it speaks to it. */
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
};

/** What a new connector has where the operator said nothing. */
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
};

/** Our codes for an undelivered message, as `decisions.md` "Message error codes" lists them. */
export const UNDELIVERED_CODES = [
  "absent_subscriber",
  "unknown_subscriber",
  "subscriber_barred",
  "handset_error",
  "network_error",
  "validity_expired",
  "spam_blocked",
  "carrier_rejected",
  "unknown",
] as const;

/** Most entries of a connector's own error-code table. */
const ERROR_CODES_MAX = 500;

/** Checks SMPP settings; lengths of the bind's fields are those of SMPP 3.4 section 4.1.1. */
export function checkSmpp(faults: Faults, smpp: SmppSettings): void {
  checkLength(faults, "smpp.host", smpp.host, 1, 253);
  checkWhole(faults, "smpp.port", smpp.port, 1, 65_535);
  checkLength(faults, "smpp.system_id", smpp.systemId, 1, 15);
  checkLength(faults, "smpp.password", smpp.password, 0, 8);
  checkLength(faults, "smpp.system_type", smpp.systemType, 0, 12);
  checkBindMode(faults, smpp.bindMode);
  checkWhole(faults, "smpp.binds", smpp.binds, 1, 64);
  checkWhole(faults, "smpp.window", smpp.window, 1, 10_000);
  checkLength(faults, "smpp.tls_ca", smpp.tlsCa, 0, 100_000);
  checkLength(faults, "smpp.tls_server_name", smpp.tlsServerName, 0, 253);
  checkOneOf(faults, "smpp.default_charset", smpp.defaultCharset, [
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
    if (value !== undefined) checkWhole(faults, `smpp.${name}`, value, 0, max);
  }
  checkOneOf(faults, "smpp.long_message", smpp.longMessage, ["udh8", "udh16", "sar", "payload"]);
  checkWhole(faults, "smpp.enquire_link_interval_ms", smpp.enquireLinkIntervalMs, 100, 3_600_000);
  checkWhole(faults, "smpp.response_timeout_ms", smpp.responseTimeoutMs, 100, 600_000);
  checkOneOf(faults, "smpp.receipt_id_form", smpp.receiptIdForm, [
    "as_is",
    "hex_to_decimal",
    "decimal_to_hex",
  ]);
  checkErrorCodes(faults, smpp.errorCodes);
}

/**
 * A connector submits, which a receiver bind cannot (SMPP 3.4 section 2.3). Beside a connector that
 * transmits it would be no help: receipts find the messages of their own connector only.
 */
function checkBindMode(faults: Faults, mode: string): void {
  if (mode === "receiver") {
    const text = "nothing can be submitted over a receiver bind; use transceiver";
    faults.add("smpp.bind_mode", "invalid_value", text);
  } else checkOneOf(faults, "smpp.bind_mode", mode, ["transceiver", "transmitter"]);
}

function checkErrorCodes(faults: Faults, codes: Readonly<Record<string, string>>): void {
  const entries = Object.entries(codes);
  if (entries.length > ERROR_CODES_MAX) {
    faults.add("smpp.error_codes", "too_many", `must have at most ${ERROR_CODES_MAX} entries`);
  }
  for (const [theirs, ours] of entries) {
    // What else stands in a receipt's `err` is not read as a code.
    if (!/^[0-9A-Za-z.-]{1,20}$/.test(theirs)) {
      const text = "a carrier code has 1 to 20 letters, digits, dots and dashes";
      faults.add("smpp.error_codes", "invalid_format", text);
    }
    checkOneOf(faults, `smpp.error_codes.${theirs}`, ours, UNDELIVERED_CODES);
  }
}
