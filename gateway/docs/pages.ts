/**
 * Pages that need no key. The documentation address is `/docs` of this gateway unless `DOCS_URL` is set. The same
 * pages are also at the root, for a proxy that serves them under another address. They are built on first use.
 */
import type { Context, Middleware } from "koa";
import { asAppError } from "../../services/shared/core/errors.ts";
import { sendFile, sendUncached } from "../../services/shared/web/send-file.ts";
import { NOT_FOUND_PATH, type SiteFile, siteFile } from "../../services/shared/web/site-file.ts";
import type { RequestState } from "../http/request-state.ts";
import type { Operation } from "../operations/operation.ts";
import { methodNotAllowed } from "../operations/operation-table.ts";
import { buildOpenApi } from "./openapi.ts";
import { pagePolicy } from "./page-policy.ts";
import { unhashed } from "./site/asset-path.ts";
import { createSiteLoader, type Site } from "./site/load-site.ts";

export type PagesOptions = { readonly baseUrl: string; readonly docsUrl: string };

/** Browsers ask again after five minutes, with the ETag. After an upgrade they may show old pages for that long. */
const PAGE_CACHE = "public, max-age=300";
const OPENAPI_PATH = "/openapi.json";
const ASSET_CACHE = "public, max-age=31536000, immutable";

/** Paths and files of the site. A request for one of them builds the site, unless it is built already. */
const PLACES = /^\/(docs|reference|guides|errors|examples|assets|api\/migrations)(\/|\.md$|$)/;
const FILES = /^\/(search\.json|llms\.txt|llms-full\.txt|index\.md)$/;

/** Serves the pages by path; calls `next` for other paths. */
export function createPages(operations: readonly Operation[], options: PagesOptions): Middleware {
  const { baseUrl, docsUrl } = options;
  let openApi: SiteFile | undefined;
  const loadOpenApi = () => {
    const build = () => JSON.stringify(buildOpenApi(operations, options));
    openApi ??= siteFile(OPENAPI_PATH, "application/json; charset=utf-8", build());
    return openApi;
  };
  const loadSite = createSiteLoader(() => ({
    document: Buffer.from(loadOpenApi().bodies.identity).toString(),
    docsUrl,
    apiUrl: baseUrl === "/" ? new URL(docsUrl).origin : baseUrl,
  }));
  const isAtRoot = new URL(docsUrl).pathname === "/";
  return async (context, next) => {
    const { path } = context.state as RequestState;
    const isPlace = PLACES.test(path) || FILES.test(path) || (isAtRoot && path === "/");
    const own = path.replace(/^\/docs(?=\/|$)/, "");
    // Programs ask for the description at their start: it does not wait for the pages.
    const isOpenApi = own === OPENAPI_PATH;
    const found = isOpenApi
      ? exact(loadOpenApi())
      : isPlace && findFile(await loadSite(), path, own);
    if (!found) {
      if (!wantsNotFoundPage(context)) return next();
      try {
        await next();
      } catch (error) {
        const page =
          asAppError(error).code === "not_found" && (await loadSite()).get(NOT_FOUND_PATH);
        if (!page) throw error;
        respondNotFound(context, page, pagePolicy("", baseUrl));
      }
      return;
    }
    if (!isRead(context)) return refuseMethod(context);
    if ("redirect" in found) {
      context.status = 308;
      context.set("Location", found.redirect);
      return;
    }
    const { file, isExact } = found;
    const cacheControl = file.isImmutable && isExact ? ASSET_CACHE : PAGE_CACHE;
    respond(context, file, pagePolicy(file.path, baseUrl), cacheControl);
  };
}

type Found = { readonly file: SiteFile; readonly isExact: boolean } | { readonly redirect: string };

function exact(file: SiteFile | undefined): Found | undefined {
  return file === undefined ? undefined : { file, isExact: true };
}

/** The file at a path of the server; `own` is without `/docs` before it. */
function findFile(site: Site, path: string, own: string): Found | undefined {
  const file = site.get(own);
  if (file !== undefined) return exact(file);
  const renamed = RENAMED[own];
  if (renamed !== undefined) return { redirect: renamed };
  // Relative links of a page count from its folder, so an added slash would break them.
  const shorter = own.replace(/\/$/, "");
  if (site.has(shorter) && shorter !== own) return { redirect: `../${shorter.split("/").at(-1)}` };
  if (path === "/docs.md") return exact(site.get("/index.md"));
  return own.startsWith("/assets/") ? otherRelease(site, own) : undefined;
}

/** Redirects of renamed paths; the targets are relative, so that they are right behind any prefix. */
const RENAMED: Readonly<Record<string, string>> = {
  "/errors": "guides/errors",
  "/examples": "examples/send",
  "/guides": "guides/quickstart",
};

/**
 * An asset under the hash of another release: during an upgrade a browser may have its page from one replica and asks
 * another one for the style sheet. Browsers cache this release's content under that name
 * for five minutes only.
 */
function otherRelease(site: Site, path: string): Found | undefined {
  for (const file of site.values()) {
    if (file.isImmutable && unhashed(file.path) === unhashed(path)) return { file, isExact: false };
  }
  return undefined;
}

function respond(context: Context, file: SiteFile, policy: string, cacheControl: string): void {
  setPolicy(context, file, policy);
  sendFile(context, file, cacheControl);
}

/** Sends the page for addresses that do not exist; browsers must not cache it: a next release may have the address. */
function respondNotFound(context: Context, page: SiteFile, policy: string): void {
  context.status = 404;
  setPolicy(context, page, policy);
  context.vary("Accept");
  sendUncached(context, page);
}

function setPolicy(context: Context, file: SiteFile, policy: string): void {
  if (!file.type.startsWith("text/html")) return;
  context.set("Content-Security-Policy", policy);
  context.set("Referrer-Policy", "no-referrer");
}

function refuseMethod(context: Context): void {
  context.set("Allow", "GET, HEAD, OPTIONS");
  if (context.method !== "OPTIONS") throw methodNotAllowed(context.method, "GET, HEAD");
  context.status = 204;
}

function isRead({ method }: Context): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether a browser asks for a path that does not exist; other callers get a problem. */
function wantsNotFoundPage(context: Context): boolean {
  const { match } = context.state as RequestState;
  if (match !== undefined || !isRead(context)) return false;
  return /(?:^|,)\s*text\/html\s*(?:;|,|$)/i.test(context.req.headers.accept ?? "");
}
