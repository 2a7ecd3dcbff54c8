import type { Context } from "koa";
import { AppError } from "../../shared/core/errors.ts";

/** A list of sender IDs or tenants to name is the longest request of a page. */
const BODY_BYTES_MAX = 65_536;

/** The JSON object in the body. Errors: `unsupported_media_type`, `payload_too_large`, `bad_request`. */
export async function readJson({ req }: Context): Promise<object> {
  // Other types are those that forms of another site can send.
  if (!/^application\/json(?:;|$)/i.test(req.headers["content-type"] ?? "")) {
    throw new AppError("unsupported_media_type", "Send application/json.");
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) throw new AppError("payload_too_large", "The body is too large.");
    chunks.push(chunk as Buffer);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw new AppError("bad_request", "The body is not JSON.", { cause });
  }
  throw new AppError("bad_request", "The body is no JSON object.");
}
