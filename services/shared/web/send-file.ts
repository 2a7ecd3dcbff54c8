import type { Context } from "koa";
import { ENCODINGS, type Encoding, type SiteFile } from "./site-file.ts";

/** Sends a file with an ETag, in the smallest form that the client takes; 304 without a body when the client has it. */
export function sendFile(context: Context, file: SiteFile, cacheControl: string): void {
  const encoding = acceptedEncoding(context);
  context.status = 200;
  context.set("ETag", `"${file.hash}-${encoding}"`);
  context.set("Cache-Control", cacheControl);
  setFileHeaders(context, file);
  if (context.fresh) context.status = 304;
  else setBody(context, file, encoding);
}

/** Sends a file under the status that is set, without an ETag. */
export function sendUncached(context: Context, file: SiteFile): void {
  setFileHeaders(context, file);
  setBody(context, file, acceptedEncoding(context));
}

function acceptedEncoding(context: Context): Encoding {
  return ENCODINGS.find((one) => context.acceptsEncodings(one) !== false) ?? "identity";
}

function setFileHeaders(context: Context, file: SiteFile): void {
  context.set("Content-Type", file.type);
  context.set("X-Content-Type-Options", "nosniff");
  context.vary("Accept-Encoding");
}

function setBody(context: Context, file: SiteFile, encoding: Encoding): void {
  if (encoding !== "identity") context.set("Content-Encoding", encoding);
  const { buffer, byteOffset, byteLength } = file.bodies[encoding];
  context.body = Buffer.from(buffer, byteOffset, byteLength);
}
