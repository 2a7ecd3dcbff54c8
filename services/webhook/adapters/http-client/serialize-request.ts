import type { Target } from "../../domain/url-rules.ts";

const PATH = /^\/[\x21-\x7e]*$/;
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\x20-\x7e]*$/;

/**
 * An HTTP/1.1 POST request as text. Adds `Host`, `Content-Length` and `Connection`. Throws
 * TypeError when a path or header contains characters that could end its line: such a request is a
 * mistake in this program.
 */
export function serializeRequest(
  target: Target,
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  if (!PATH.test(target.path)) throw new TypeError("the path cannot be sent");
  const host = target.port === 443 ? target.host : `${target.host}:${target.port}`;
  let head = `POST ${target.path} HTTP/1.1\r\nHost: ${host}\r\n`;
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? "";
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) {
      throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`);
    }
    head += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.byteLength(body, "utf8");
  return `${head}Content-Length: ${bytes}\r\nConnection: keep-alive\r\n\r\n${body}`;
}
