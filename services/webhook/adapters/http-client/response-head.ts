/** Parses the status line and the header fields that decide about body and connection. */

/** The parsed head of a response. */
export type ResponseHead = {
  readonly httpStatus: number;
  /** Octets of the body, infinite when it ends with the connection; or chunks. */
  readonly body: number | "chunked";
  /** Whether the connection may carry another request after the body. */
  readonly isReusable: boolean;
  /** How long the server says it keeps an idle connection, in milliseconds. */
  readonly keepAliveMs: number | undefined;
};

/** The relevant fields, collected line by line. */
type Fields = {
  length: number | undefined;
  isLengthBad: boolean;
  codings: string[];
  saysClose: boolean;
  saysKeepAlive: boolean;
  keepAliveMs: number | undefined;
};

/**
 * RFC 9112 sections 4 and 5. No space before a colon: `Content-Length :` would not be recognised, and the end of the
 * body would be taken wrongly.
 */
const HEAD = /^HTTP\/1\.\d [1-9]\d\d(?: [^\r\n]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n]*)*$/;

/** Responses that never have a body (RFC 9112 section 6.3, RFC 9110 for 101). */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 304]);

/** Finds a line feed without a carriage return before it. */
const BARE_LINE_FEED = /(?:^|[^\r])\n/;

/**
 * Parses a head, given with the empty line that ends it. Returns `undefined` when it breaks a rule,
 * or contradicts itself about the length of the body.
 *
 * LF alone ends a line too (RFC 9112 section 2.2), and a field may continue in the next line
 * (obs-fold, section 5.2). A connection that sent LF alone is not used again.
 */
export function parseResponseHead(text: string): ResponseHead | undefined {
  if (text.includes("\0")) return undefined;
  const strict = text.endsWith("\r\n\r\n") ? text.slice(0, -4) : "";
  if (HEAD.test(strict)) return decide(strict);
  const lines = text.replace(/\r?\n/g, "\r\n").slice(0, -4);
  const unfolded = lines.replace(/\r\n[ \t]+/g, " ");
  const head = HEAD.test(unfolded) ? decide(unfolded) : undefined;
  if (head === undefined || !BARE_LINE_FEED.test(text)) return head;
  return { ...head, isReusable: false };
}

/** Whether a head is of an interim response (RFC 9110 section 15.2), which 101 is not: it ends HTTP. */
export function isInterimStatus(head: string): boolean {
  return /^HTTP\/1\.\d 1(?!01)\d\d(?: |\r?\n)/.test(head);
}

/** The status of a head that begins with a 2xx status line; else `undefined`. */
export function parseSuccessStatus(head: string): number | undefined {
  const digits = /^HTTP\/1\.\d (2\d\d)(?: |\r?\n)/.exec(head)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function decide(text: string): ResponseHead | undefined {
  const httpStatus = Number(text.slice(9, 12));
  const isOld = text[7] === "0";
  const { length, isLengthBad, codings, saysClose, saysKeepAlive, keepAliveMs } = readFields(text);
  if (isLengthBad) return undefined;
  const isCoded = codings.length > 0;
  let isReusable = !saysClose && (!isOld || saysKeepAlive) && httpStatus !== 101;
  let body: ResponseHead["body"] = length ?? Number.POSITIVE_INFINITY;
  if (EMPTY.has(httpStatus)) {
    body = 0;
    // A body that is sent all the same would be read as the next response.
    if (isCoded || (length ?? 0) > 0) isReusable = false;
  } else if (isCoded) {
    body = codings.at(-1) === "chunked" ? "chunked" : Number.POSITIVE_INFINITY;
    // Chunks override a length. A server that sends both, or chunks in HTTP/1.0, may frame its next
    // response wrongly (RFC 9112 sections 6.1 and 6.3).
    if (isOld || length !== undefined || codings.length > 1) isReusable = false;
  }
  if (body === Number.POSITIVE_INFINITY) isReusable = false;
  return { httpStatus, body, isReusable, keepAliveMs };
}

/** The length of a name rules out most lines without a copy of them. */
function readFields(text: string): Fields {
  const fields: Fields = {
    length: undefined,
    isLengthBad: false,
    codings: [],
    saysClose: false,
    saysKeepAlive: false,
    keepAliveMs: undefined,
  };
  let end = text.indexOf("\r\n");
  while (end >= 0) {
    const start = end + 2;
    end = text.indexOf("\r\n", start);
    const colon = text.indexOf(":", start);
    const width = colon - start;
    if (width !== 10 && width !== 14 && width !== 17) continue;
    const value = text.slice(colon + 1, end < 0 ? text.length : end);
    noteField(fields, text.slice(start, colon).toLowerCase(), value);
  }
  return fields;
}

function noteField(fields: Fields, name: string, value: string): void {
  if (name === "content-length") noteLength(fields, value);
  else if (name === "transfer-encoding") fields.codings.push(...itemsOf(value));
  else if (name === "keep-alive") {
    const seconds = /(?:^|[\s,])timeout\s*=\s*"?(\d{1,9})/i.exec(value)?.[1];
    if (seconds !== undefined) fields.keepAliveMs = Number(seconds) * 1000;
  } else if (name === "connection") {
    for (const item of itemsOf(value)) {
      if (item === "close") fields.saysClose = true;
      else if (item === "keep-alive") fields.saysKeepAlive = true;
    }
  }
}

/**
 * The same length twice is one length (RFC 9112 section 6.3); two different lengths are an error.
 */
function noteLength(fields: Fields, value: string): void {
  for (const item of value.split(",")) {
    const digits = /^[ \t]*(\d{1,15})[ \t]*$/.exec(item)?.[1];
    const length = digits === undefined ? undefined : Number(digits);
    if (length === undefined || (fields.length ?? length) !== length) fields.isLengthBad = true;
    fields.length = length;
  }
}

function itemsOf(value: string): readonly string[] {
  const items = value.toLowerCase().split(",");
  return items.map((item) => item.trim()).filter((item) => item !== "");
}
