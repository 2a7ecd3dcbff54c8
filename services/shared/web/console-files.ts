import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Context, Middleware } from "koa";
import { sendFile } from "./send-file.ts";
import { type SiteFile, siteFile } from "./site-file.ts";

/** Where `node console/build.ts` puts the consoles, each in a folder of the name of its path. */
const BUILT = new URL("../../../console/dist/", import.meta.url);

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

/** The headers of each page and file. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
};

/**
 * Serves the files of the console at `/<name>`. Every other address below it is a page of the console, which reads the
 * address itself. Calls `next` for other paths, for `/<name>/api/`, and when the console was not built.
 */
export function createConsoleFiles(
  name: "console" | "operators",
  pathOf: (context: Context) => string,
): Middleware {
  const files = readFiles(name);
  const index = files.get("index.html");
  const root = `/${name}`;
  const isPage = (method: string, path: string) => {
    if (method !== "GET" && method !== "HEAD") return false;
    if (path === root) return true;
    return path.startsWith(`${root}/`) && !path.startsWith(`${root}/api/`);
  };
  return (context, next) => {
    const path = pathOf(context);
    if (index === undefined || !isPage(context.method, path)) return next();
    const asked = path.slice(root.length + 1);
    const file = files.get(asked);
    if (file === undefined && asked.startsWith("assets/")) return next();
    context.set(CONSOLE_HEADERS);
    const sent = file ?? index;
    sendFile(context, sent, sent.isImmutable ? ASSET_CACHE : PAGE_CACHE);
    return;
  };
}

/** Browsers request a page again each time, and an asset once: its name changes with its content. */
const PAGE_CACHE = "no-cache";
const ASSET_CACHE = "public, max-age=31536000, immutable";

function readFiles(console: string): ReadonlyMap<string, SiteFile> {
  const folder = new URL(`${console}/`, BUILT);
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = new Map<string, SiteFile>();
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const isImmutable = name.startsWith("assets");
    files.set(name, siteFile(name, type, readFileSync(new URL(name, folder)), { isImmutable }));
  }
  return files;
}
