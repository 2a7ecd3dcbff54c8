import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Context, Middleware } from "koa";
import type { RequestState } from "../http/request-state.ts";

/** A built file with its compressed forms; all connections share one copy. */
type StaticFile = {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
};

/** Where `node console/build.ts` puts the console. */
const BUILT = new URL("../../console/dist/", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * The page may load scripts, styles and data from this origin alone, and no page may frame it. A style that a script
 * sets on an element is no inline style in the sense of the policy (CSP Level 3 section 6.7.3).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
};

/**
 * Serves the console's files. Every other address below `/console` is a page of the console, which reads the address
 * itself. Calls `next` for other paths, for the sessions, and when the console was not built.
 */
export function createStaticFiles(): Middleware {
  const files = readFiles();
  const index = files.get("index.html");
  return (context, next) => {
    const { path } = context.state as RequestState;
    if (index === undefined || !isPage(context, path)) return next();
    const asked = path.slice("/console/".length);
    const file = files.get(asked);
    if (file === undefined && asked.startsWith("assets/")) return next();
    serve(context, file ?? index);
    return;
  };
}

function isPage({ method }: Context, path: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  if (path === "/console") return true;
  return path.startsWith("/console/") && !path.startsWith("/console/api/");
}

function serve(context: Context, file: StaticFile): void {
  context.set(HEADERS);
  context.set("Content-Type", file.type);
  context.set("ETag", file.etag);
  context.set("Vary", "Accept-Encoding");
  context.set(
    "Cache-Control",
    file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  );
  if (context.req.headers["if-none-match"] === file.etag) {
    context.status = 304;
    return;
  }
  const encoding = context.acceptsEncodings("br", "gzip", "identity");
  if (encoding === "br" || encoding === "gzip") context.set("Content-Encoding", encoding);
  context.body = encoding === "br" ? file.brotli : encoding === "gzip" ? file.gzip : file.plain;
}

function readFiles(): ReadonlyMap<string, StaticFile> {
  if (!existsSync(BUILT)) return new Map();
  const names = readdirSync(BUILT, { recursive: true, encoding: "utf8" });
  const files = new Map<string, StaticFile>();
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const plain = readFileSync(new URL(name, BUILT));
    files.set(name.replaceAll("\\", "/"), {
      type,
      etag: `"${hash("sha256", plain, "hex").slice(0, 32)}"`,
      plain,
      gzip: gzipSync(plain, { level: 9 }),
      brotli: brotliCompressSync(plain, {
        params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
      }),
      isImmutable: name.startsWith("assets"),
    });
  }
  return files;
}
