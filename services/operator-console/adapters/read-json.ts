import type { Context } from "koa";
import { AppError } from "../../shared/core/errors.ts";
import { readBody } from "../../shared/io/read-body.ts";

/** Longest body. The longest request of a page is a list of sender IDs or tenants whose names it needs. */
const BODY_BYTES_MAX = 65_536;

/** The JSON object in the body. Errors: `unsupported_media_type`, `payload_too_large`, `bad_request`. */
export async function readJson({ req }: Context): Promise<object> {
  // Accept JSON only: a form of another site can send other types, but not this one.
  if (!/^application\/json(?:;|$)/i.test(req.headers["content-type"] ?? "")) {
    throw new AppError("unsupported_media_type", "Send application/json.");
  }
  const body = await readBody(req, BODY_BYTES_MAX);
  if (body === undefined) throw new AppError("payload_too_large", "The body is too large.");
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (cause) {
    throw new AppError("bad_request", "The body is not JSON.", { cause });
  }
  throw new AppError("bad_request", "The body is no JSON object.");
}
