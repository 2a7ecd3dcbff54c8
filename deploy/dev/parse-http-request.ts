/** A POST request that arrived in one chunk. */
export type WholeRequest = {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

const FIRST_LINE = /^POST [!-~]+ HTTP\/1\.1$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
/** Headers that need more than a response: other framing, `Expect`, another protocol. */
const UNUSUAL = ["transfer-encoding", "expect", "upgrade"];

/**
 * Parses a complete, ordinary POST (RFC 9112): head, `Content-Length` and exactly that many bytes.
 * Returns undefined for anything else, which may still be a valid request.
 */
export function readWholeRequest(bytes: Buffer): WholeRequest | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  if (!FIRST_LINE.test(first)) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    if (Object.hasOwn(headers, key)) return undefined;
    headers[key] = value;
  }
  const { host, connection = "keep-alive" } = headers;
  if (host === undefined || UNUSUAL.some((name) => Object.hasOwn(headers, name))) {
    return undefined;
  }
  if (connection.toLowerCase() !== "keep-alive") return undefined;
  const body = bytes.subarray(headEnd + 4);
  return headers["content-length"] === String(body.length) ? { headers, body } : undefined;
}
