/** A POST that came in one piece. */
export type WholeRequest = {
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

const FIRST_LINE = /^POST [!-~]+ HTTP\/1\.1$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~]*?)[ \t]*$/;
/** What asks for more than an answer: another framing, a word before the body, another protocol. */
const UNUSUAL = ["transfer-encoding", "expect", "upgrade"];

/**
 * Reads an ordinary POST (RFC 9112) that is all there: its head, `Content-Length`, and just as many
 * bytes. Answers undefined for anything else, which may be a good request all the same.
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
