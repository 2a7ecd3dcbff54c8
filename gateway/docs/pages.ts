/**
 * Pages that need no key. The documentation address is `/docs` of this gateway unless `DOCS_URL` is set. The same
 * pages are also at the root, for a proxy that serves them under another address. They are built on first use.
 */
import type { Context, Middleware } from "koa";
import { asAppError } from "../../services/shared/core/errors.ts";
import type { RequestState } from "../http/request-state.ts";
import type { Operation } from "../operations/operation.ts";
import { methodNotAllowed } from "../operations/operation-table.ts";
import { buildOpenApi } from "./openapi.ts";
import { pagePolicy } from "./page-policy.ts";
import { unhashed } from "./site/asset-path.ts";
import { createSiteLoader, type Site } from "./site/load-site.ts";
import { ENCODINGS, NOT_FOUND_PATH, type SiteFile } from "./site/site-file.ts";

export type PagesOptions = { readonly baseUrl: string; readonly docsUrl: string };

/** Browsers ask again after five minutes, with the ETag. A new release's pages may be older for that long. */
const PAGE_CACHE = "public, max-age=300";
const ASSET_CACHE = "public, max-age=31536000, immutable";

/** The parts of the site that only a request below one of these paths, or for one of these files, needs. */
const PLACES = /^\/(docs|reference|guides|errors|examples|assets|api\/migrations)(\/|\.md$|$)/;
const FILES = /^\/(openapi\.json|search\.json|llms\.txt|llms-full\.txt|index\.md)$/;

/** Serves the pages by path; calls `next` for other paths. */
export function createPages(operations: readonly Operation[], options: PagesOptions): Middleware {
  const { baseUrl, docsUrl } = options;
  const loadSite = createSiteLoader(() => ({
    document: JSON.stringify(buildOpenApi(operations, options)),
    docsUrl,
    apiUrl: baseUrl === "/" ? new URL(docsUrl).origin : baseUrl,
  }));
  const isAtRoot = new URL(docsUrl).pathname === "/";
  return async (context, next) => {
    const { path } = context.state as RequestState;
    const isPlace = PLACES.test(path) || FILES.test(path) || (isAtRoot && path === "/");
    const found = isPlace ? findFile(await loadSite(), path) : undefined;
    if (found === undefined) {
      if (!wantsNotFoundPage(context)) return next();
      try {
        await next();
      } catch (error) {
        const page =
          asAppError(error).code === "not_found" && (await loadSite()).get(NOT_FOUND_PATH);
        if (!page) throw error;
        respond(context, page, pagePolicy("", baseUrl));
        context.status = 404;
      }
      return;
    }
    if (!isRead(context)) return refuseMethod(context);
    if ("redirect" in found) {
      context.status = 308;
      context.set("Location", found.redirect);
      return;
    }
    respond(context, found.file, pagePolicy(found.file.path, baseUrl), found.isExact);
  };
}

type Found = { readonly file: SiteFile; readonly isExact: boolean } | { readonly redirect: string };

/** The file at a path of the server: with or without `/docs` before it. */
function findFile(site: Site, path: string): Found | undefined {
  const own = path.replace(/^\/docs(?=\/|$)/, "");
  const file = site.get(own);
  if (file !== undefined) return { file, isExact: true };
  const renamed = RENAMED[own];
  if (renamed !== undefined) return { redirect: renamed };
  // Relative links of a page count from its folder, so an added slash would break them.
  const shorter = own.replace(/\/$/, "");
  if (site.has(shorter) && shorter !== own) return { redirect: `../${shorter.split("/").at(-1)}` };
  if (path === "/docs.md") return found(site, "/index.md");
  return own.startsWith("/assets/") ? otherRelease(site, own) : undefined;
}

/** Paths with another name now; relative, so that they are right behind any prefix. */
const RENAMED: Readonly<Record<string, string>> = {
  "/errors": "guides/errors",
  "/examples": "examples/send",
  "/guides": "guides/quickstart",
};

function found(site: Site, path: string): Found | undefined {
  const file = site.get(path);
  return file === undefined ? undefined : { file, isExact: true };
}

/**
 * An asset under the hash of another release: during an upgrade a browser may have its page from one replica and asks
 * another one for the style sheet. This release's content must not be kept under that name.
 */
function otherRelease(site: Site, path: string): Found | undefined {
  for (const file of site.values()) {
    if (file.isImmutable && unhashed(file.path) === unhashed(path)) return { file, isExact: false };
  }
  return undefined;
}

function respond(context: Context, file: SiteFile, policy: string, isExact = true): void {
  const encoding = ENCODINGS.find((one) => context.acceptsEncodings(one) !== false) ?? "identity";
  context.status = 200;
  context.set("Content-Type", file.type);
  context.set("X-Content-Type-Options", "nosniff");
  context.set("ETag", `"${file.hash}-${encoding}"`);
  context.set("Cache-Control", file.isImmutable && isExact ? ASSET_CACHE : PAGE_CACHE);
  context.vary("Accept-Encoding");
  if (file.type.startsWith("text/html")) {
    context.set("Content-Security-Policy", policy);
    context.set("Referrer-Policy", "no-referrer");
  }
  if (context.fresh) {
    context.status = 304;
    return;
  }
  if (encoding !== "identity") context.set("Content-Encoding", encoding);
  const body = file.bodies[encoding];
  context.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function refuseMethod(context: Context): void {
  context.set("Allow", "GET, HEAD, OPTIONS");
  if (context.method !== "OPTIONS") throw methodNotAllowed(context.method, "GET, HEAD");
  context.status = 204;
}

function isRead({ method }: Context): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether a browser asks for a path that does not exist. Callers of the API get a problem, as do all of `/v1/`. */
function wantsNotFoundPage(context: Context): boolean {
  const { path, match } = context.state as RequestState;
  if (match !== undefined || path.startsWith("/v1/") || !isRead(context)) return false;
  return /(?:^|,)\s*text\/html\s*(?:;|,|$)/i.test(context.req.headers.accept ?? "");
}
