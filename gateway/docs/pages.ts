/**
 * Pages that need no key. The documentation address is `/docs` of this gateway unless `DOCS_URL` is set. The same
 * pages are also at the root, for a proxy that serves them under another address.
 */
import type { Middleware } from "koa";
import type { RequestState } from "../http/request-state.ts";
import type { Operation } from "../operations/operation.ts";
import { methodNotAllowed } from "../operations/operation-table.ts";
import { EXAMPLES, examplePage } from "./content/example-pages.ts";
import { ERROR_CODES, errorPage } from "./error-pages.ts";
import { PAGE_POLICY } from "./html.ts";
import { migrationPage } from "./migration-page.ts";
import { buildOpenApi } from "./openapi.ts";
import { referencePage } from "./reference-page.ts";

/** A page as bytes, so that all connections share one copy. */
type Page = { readonly type: string; readonly body: Buffer };

const HTML = "text/html; charset=utf-8";

/** Builds all pages once and serves them by path; calls `next` for other paths. */
export function createPages(
  operations: readonly Operation[],
  options: { readonly baseUrl: string; readonly docsUrl: string },
): Middleware {
  const pages = buildPages(operations, options);
  return (context, next) => {
    const { path } = context.state as RequestState;
    const page = path.startsWith("/v1/") ? undefined : pages.get(path);
    if (page === undefined) return next();
    const { method } = context;
    if (method === "GET" || method === "HEAD") {
      context.set("Content-Type", page.type);
      context.set("X-Content-Type-Options", "nosniff");
      if (page.type === HTML) context.set("Content-Security-Policy", PAGE_POLICY);
      context.body = page.body;
      return;
    }
    context.set("Allow", "GET, HEAD, OPTIONS");
    if (method !== "OPTIONS") {
      throw methodNotAllowed(method, "GET, HEAD");
    }
    context.status = 204;
    return;
  };
}

function buildPages(
  operations: readonly Operation[],
  options: { readonly baseUrl: string; readonly docsUrl: string },
): ReadonlyMap<string, Page> {
  const { docsUrl } = options;
  const document = buildOpenApi(operations, options);
  const json = Buffer.from(JSON.stringify(document));
  const openApi = { type: "application/json; charset=utf-8", body: json };
  const reference = html(referencePage(document, docsUrl));
  const pages = new Map<string, Page>([
    ["/docs", reference],
    ["/docs/", reference],
  ]);
  // A documentation address without a path has the reference at its root.
  if (new URL(docsUrl).pathname === "/") pages.set("/", reference);
  const add = (path: string, page: Page) => pages.set(path, page).set(`/docs${path}`, page);
  add("/openapi.json", openApi);
  add("/api/migrations/send-endpoint", html(migrationPage(docsUrl)));
  for (const example of EXAMPLES) {
    add(`/examples/${example.slug}`, html(examplePage(example, docsUrl)));
  }
  for (const code of ERROR_CODES) {
    add(`/errors/${code}`, html(errorPage(code, docsUrl)));
  }
  return pages;
}

function html(text: string): Page {
  return { type: HTML, body: Buffer.from(text) };
}
