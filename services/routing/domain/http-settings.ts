import { UNDELIVERED_CODES } from "./smpp-settings.ts";
import { checkSubmitErrorCodes } from "./submit-error-codes.ts";
import { checkThrottleScopes, type ThrottleScopes } from "./throttle-scopes.ts";
import { checkLength, checkOneOf, checkWhole, type FieldErrors } from "./validation-errors.ts";

/** Settings of the requests to a carrier's HTTP interface and of its receipts. */
export type HttpSettings = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyTemplate: string;
  readonly contentType: string;
  readonly idPointer: string;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly receiptSecret: string;
  readonly receiptIdPointer: string;
  readonly receiptStatusPointer: string;
  readonly receiptStatuses: Readonly<Record<string, string>>;
  readonly throttleScopes: ThrottleScopes;
  readonly errorPointer: string;
  readonly submitErrorCodes: Readonly<Record<string, string>>;
  readonly inboundFromPointer: string;
  readonly inboundToPointer: string;
  readonly inboundBodyPointer: string;
  readonly inboundIdPointer: string;
  readonly inboundReferencePointer: string;
  readonly inboundTotalPointer: string;
  readonly inboundSequencePointer: string;
};

/** Defaults of a new connector. */
export const HTTP_DEFAULTS: HttpSettings = {
  url: "",
  method: "POST",
  headers: {},
  bodyTemplate:
    '{"to":{{to}},"from":{{from}},"text":{{body}},"reference":{{message_id}},"callback":{{receipt_url}}}',
  contentType: "application/json",
  idPointer: "/id",
  timeoutMs: 10_000,
  concurrency: 10,
  receiptSecret: "",
  receiptIdPointer: "/id",
  receiptStatusPointer: "/status",
  receiptStatuses: { delivered: "delivered", undelivered: "undelivered" },
  throttleScopes: {},
  errorPointer: "",
  submitErrorCodes: {},
  inboundFromPointer: "/from",
  inboundToPointer: "/to",
  inboundBodyPointer: "/text",
  inboundIdPointer: "",
  inboundReferencePointer: "",
  inboundTotalPointer: "",
  inboundSequencePointer: "",
};

/** Placeholder for a header's value in lists: the value is often a credential. */
export const HIDDEN_HEADER_VALUE = "(hidden)";

const CONTENT_TYPES = ["application/json", "application/x-www-form-urlencoded"] as const;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Headers that the request itself sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "content-type", "host", "transfer-encoding"],
]);
/** RFC 6901 section 3: empty, or reference tokens that each follow a slash. */
const JSON_POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;
/** The placeholders of a body template. */
const PLACEHOLDERS = ["to", "from", "body", "message_id", "receipt_url"];

/** Validates HTTP settings. */
export function checkHttp(errors: FieldErrors, http: HttpSettings): void {
  checkUrl(errors, http.url);
  checkOneOf(errors, "http.method", http.method, ["POST", "PUT"]);
  checkHeaders(errors, http.headers);
  checkLength(errors, "http.body_template", http.bodyTemplate, 1, 16_384);
  checkPlaceholders(errors, http.bodyTemplate);
  if (http.contentType === "application/json") checkJsonTemplate(errors, http.bodyTemplate);
  checkOneOf(errors, "http.content_type", http.contentType, CONTENT_TYPES);
  for (const [field, pointer] of [
    ["id_pointer", http.idPointer],
    ["receipt_id_pointer", http.receiptIdPointer],
    ["receipt_status_pointer", http.receiptStatusPointer],
    ["error_pointer", http.errorPointer],
    ["inbound_from_pointer", http.inboundFromPointer],
    ["inbound_to_pointer", http.inboundToPointer],
    ["inbound_body_pointer", http.inboundBodyPointer],
    ["inbound_id_pointer", http.inboundIdPointer],
    ["inbound_reference_pointer", http.inboundReferencePointer],
    ["inbound_total_pointer", http.inboundTotalPointer],
    ["inbound_sequence_pointer", http.inboundSequencePointer],
  ] as const) {
    if (!JSON_POINTER.test(pointer) || pointer.length > 256) {
      errors.add(`http.${field}`, "invalid_format", "must be a JSON pointer (RFC 6901)");
    }
  }
  checkWhole(errors, "http.timeout_ms", http.timeoutMs, 100, 120_000);
  checkWhole(errors, "http.concurrency", http.concurrency, 1, 1000);
  checkLength(errors, "http.receipt_secret", http.receiptSecret, 16, 256);
  checkThrottleScopes(errors, "http", http.throttleScopes);
  checkSubmitErrorCodes(errors, "http", http.submitErrorCodes);
  checkPartPointers(errors, http);
  for (const [theirs, ours] of Object.entries(http.receiptStatuses)) {
    const field = `http.receipt_statuses.${theirs}`;
    checkOneOf(errors, field, ours, [
      "delivered",
      "undelivered",
      "acknowledged",
      ...UNDELIVERED_CODES,
    ]);
  }
}

/** Requires all three pointers or none: the parts of a long message are joined by all three. */
function checkPartPointers(errors: FieldErrors, http: HttpSettings): void {
  const pointers = [
    ["inbound_reference_pointer", http.inboundReferencePointer],
    ["inbound_total_pointer", http.inboundTotalPointer],
    ["inbound_sequence_pointer", http.inboundSequencePointer],
  ] as const;
  const missing = pointers.filter(([, pointer]) => pointer === "");
  if (missing.length === pointers.length) return;
  for (const [field] of missing) {
    errors.add(`http.${field}`, "required", "parts need reference, number and place");
  }
}

function checkUrl(errors: FieldErrors, text: string): void {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    errors.add("http.url", "invalid_format", "must be an http or https URL");
  } else if (url.username !== "" || url.password !== "") {
    errors.add("http.url", "invalid_value", "must hold no user name or password; use a header");
  }
}

function checkHeaders(errors: FieldErrors, headers: Readonly<Record<string, string>>): void {
  const entries = Object.entries(headers);
  if (entries.length > 50) errors.add("http.headers", "too_many", "must have at most 50 entries");
  for (const [name, value] of entries) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      errors.add("http.headers", "invalid_value", `${name} is set by the request itself`);
    } else if (!HEADER_NAME.test(name) || /[^\t\x20-\x7e]/.test(value) || value.length > 4096) {
      errors.add("http.headers", "invalid_format", `${name} is not a valid header`);
    }
  }
}

/**
 * In JSON a placeholder, quoted or not, must be a whole string value. It is replaced by a quoted
 * string, whose quotes would end a string around it.
 */
function checkJsonTemplate(errors: FieldErrors, template: string): void {
  const filled = template.replaceAll(/"\{\{[a-z_]+\}\}"|\{\{[a-z_]+\}\}/g, '""');
  try {
    JSON.parse(filled);
  } catch {
    const text = "must be JSON in which each placeholder stands for a whole string";
    errors.add("http.body_template", "invalid_format", text);
  }
}

function checkPlaceholders(errors: FieldErrors, template: string): void {
  for (const [, name = ""] of template.matchAll(/\{\{([^}]*)\}\}/g)) {
    if (!PLACEHOLDERS.includes(name)) {
      const known = PLACEHOLDERS.map((placeholder) => `{{${placeholder}}}`).join(", ");
      const text = `{{${name}}} is not a placeholder: there are ${known}`;
      errors.add("http.body_template", "invalid_value", text);
    }
  }
}
