import { UNDELIVERED_CODES } from "./smpp-settings.ts";
import { checkLength, checkOneOf, checkWhole, type Faults } from "./validation-errors.ts";

/** How a carrier process speaks to a carrier's HTTP interface. */
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
};

/** What a new connector has where the operator said nothing. */
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
};

/** What a listing shows instead of a header's value, which often is a credential. */
export const HIDDEN_HEADER_VALUE = "(hidden)";

const CONTENT_TYPES = ["application/json", "application/x-www-form-urlencoded"] as const;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Headers that follow from the other settings and the request. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "content-type", "host", "transfer-encoding"],
]);
/** RFC 6901 section 3: empty, or reference tokens each behind a slash. */
const JSON_POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;
/** The placeholders a request template may name. */
const PLACEHOLDERS = ["to", "from", "body", "message_id", "receipt_url"];

/** Checks HTTP settings. */
export function checkHttp(faults: Faults, http: HttpSettings): void {
  checkUrl(faults, http.url);
  checkOneOf(faults, "http.method", http.method, ["POST", "PUT"]);
  checkHeaders(faults, http.headers);
  checkLength(faults, "http.body_template", http.bodyTemplate, 1, 16_384);
  checkPlaceholders(faults, http.bodyTemplate);
  if (http.contentType === "application/json") checkJsonTemplate(faults, http.bodyTemplate);
  checkOneOf(faults, "http.content_type", http.contentType, CONTENT_TYPES);
  for (const [field, pointer] of [
    ["id_pointer", http.idPointer],
    ["receipt_id_pointer", http.receiptIdPointer],
    ["receipt_status_pointer", http.receiptStatusPointer],
  ] as const) {
    if (!JSON_POINTER.test(pointer) || pointer.length > 256) {
      faults.add(`http.${field}`, "invalid_format", "must be a JSON pointer (RFC 6901)");
    }
  }
  checkWhole(faults, "http.timeout_ms", http.timeoutMs, 100, 120_000);
  checkWhole(faults, "http.concurrency", http.concurrency, 1, 1000);
  checkLength(faults, "http.receipt_secret", http.receiptSecret, 16, 256);
  for (const [theirs, ours] of Object.entries(http.receiptStatuses)) {
    const field = `http.receipt_statuses.${theirs}`;
    checkOneOf(faults, field, ours, [
      "delivered",
      "undelivered",
      "acknowledged",
      ...UNDELIVERED_CODES,
    ]);
  }
}

function checkUrl(faults: Faults, text: string): void {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    faults.add("http.url", "invalid_format", "must be an http or https URL");
  } else if (url.username !== "" || url.password !== "") {
    faults.add("http.url", "invalid_value", "must hold no user name or password; use a header");
  }
}

function checkHeaders(faults: Faults, headers: Readonly<Record<string, string>>): void {
  const entries = Object.entries(headers);
  if (entries.length > 50) faults.add("http.headers", "too_many", "must have at most 50 entries");
  for (const [name, value] of entries) {
    if (OWN_HEADERS.has(name.toLowerCase())) {
      faults.add("http.headers", "invalid_value", `${name} is set by the request itself`);
    } else if (!HEADER_NAME.test(name) || /[^\t\x20-\x7e]/.test(value) || value.length > 4096) {
      faults.add("http.headers", "invalid_format", `${name} is not a valid header`);
    }
  }
}

/** In JSON a placeholder, with quotes around it or without, stands for a whole string: inside one it would end it. */
function checkJsonTemplate(faults: Faults, template: string): void {
  const filled = template.replaceAll(/"\{\{[a-z_]+\}\}"|\{\{[a-z_]+\}\}/g, '""');
  try {
    JSON.parse(filled);
  } catch {
    const text = "must be JSON in which each placeholder stands for a whole string";
    faults.add("http.body_template", "invalid_format", text);
  }
}

function checkPlaceholders(faults: Faults, template: string): void {
  for (const [, name = ""] of template.matchAll(/\{\{([^}]*)\}\}/g)) {
    if (!PLACEHOLDERS.includes(name)) {
      const known = PLACEHOLDERS.map((placeholder) => `{{${placeholder}}}`).join(", ");
      const text = `{{${name}}} is not a placeholder: there are ${known}`;
      faults.add("http.body_template", "invalid_value", text);
    }
  }
}
