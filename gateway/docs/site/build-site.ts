/** Builds every file of the documentation but `openapi.json`: pages as HTML and Markdown, indexes, assets. */

import { NOT_FOUND_PATH, type SiteFile, siteFile } from "../../../services/shared/web/site-file.ts";
import { EXAMPLES, examplePage } from "../content/example-pages.ts";
import { ERROR_CODES, errorPage } from "../error-pages.ts";
import type { ApiDocument } from "./api-document.ts";
import { type Assets, readAssets } from "./assets.ts";
import { changelogPage } from "./changelog.ts";
import type { DocPage } from "./doc-page.ts";
import { readGuides } from "./guides.ts";
import { includeParts } from "./includes.ts";
import {
  contentPage,
  markdownPath,
  navigationOrder,
  notFoundPage,
  referencePage,
} from "./layout.ts";
import { llmsIndex } from "./llms.ts";
import { referenceMarkdown } from "./reference-markdown.ts";
import { type Rendered, renderMarkdown } from "./render-markdown.ts";
import { searchIndex } from "./search-index.ts";

export type SiteOptions = {
  /** The OpenAPI document as JSON. */
  readonly document: string;
  readonly docsUrl: string;
  /** The address of the API, which replaces that of the development stack in samples. */
  readonly apiUrl: string;
};

const HTML = "text/html; charset=utf-8";
const MARKDOWN = "text/markdown; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";

/** The address of the gateway in samples. */
const SAMPLE_ADDRESS = "http://127.0.0.1:8080";

export function buildSite(options: SiteOptions): SiteFile[] {
  const assets = readAssets();
  const pages = allPages(options);
  const rendered = pages.map((page) => [page, renderMarkdown(page.markdown)] as const);
  const reference = referenceDocPage(options);
  return [
    ...rendered.flatMap(([page, html]) => pageFiles(page, html, pages, assets)),
    siteFile("/reference", HTML, referencePage(assets)),
    siteFile("/reference.md", MARKDOWN, asMarkdown(reference)),
    siteFile("/search.json", JSON_TYPE, JSON.stringify(searchIndex(rendered, parse(options)))),
    siteFile("/llms.txt", TEXT, llmsIndex([...pages, reference], options.docsUrl)),
    siteFile("/llms-full.txt", TEXT, allInOne([...pages, reference], options.docsUrl)),
    siteFile(NOT_FOUND_PATH, HTML, notFoundPage(pages, assets)),
    ...assets.all.map(({ path, type, body, brotli }) =>
      siteFile(path, type, body, {
        isImmutable: true,
        ...(brotli === undefined ? {} : { brotli }),
      }),
    ),
  ];
}

/** Every page in the order of the navigation, with its parts included. */
export function allPages(options: SiteOptions): DocPage[] {
  const { docsUrl, apiUrl } = options;
  const document = parse(options);
  const pages = [
    ...readGuides(),
    changelogPage(),
    ...EXAMPLES.map(examplePage),
    ...ERROR_CODES.map((code) => errorPage(code, docsUrl)),
  ];
  return navigationOrder(pages).map((page) => ({
    ...page,
    markdown: includeParts(page.markdown, { docsUrl, document }).replaceAll(SAMPLE_ADDRESS, apiUrl),
  }));
}

function parse({ document }: SiteOptions): ApiDocument {
  return JSON.parse(document) as ApiDocument;
}

function referenceDocPage(options: SiteOptions): DocPage {
  return {
    path: "/reference",
    title: "Reference",
    description: "Every operation with its parameters, responses and examples, and every schema.",
    section: "Start",
    order: 0,
    markdown: referenceMarkdown(parse(options)),
  };
}

function pageFiles(
  page: DocPage,
  rendered: Rendered,
  pages: readonly DocPage[],
  assets: Assets,
): SiteFile[] {
  const html = (root?: string) =>
    contentPage(page, rendered, { pages, assets, ...(root === undefined ? {} : { root }) });
  return [
    siteFile(page.path, HTML, html()),
    siteFile(markdownPath(page), MARKDOWN, asMarkdown(page)),
    // Relative links of the first page lead elsewhere when its address has no slash at its end.
    ...(page.path === "/" ? [siteFile("", HTML, html("docs/"))] : []),
  ];
}

/** Every page's Markdown in one text. Relative links would count from its address, so they are absolute. */
function allInOne(pages: readonly DocPage[], docsUrl: string): string {
  const texts = pages.map((page) =>
    asMarkdown(page).replace(
      /\]\((?![a-z]+:|#)([^)\s]+)\)/g,
      (_, link: string) => `](${new URL(link, `${docsUrl}${page.path}`).href})`,
    ),
  );
  return texts.join("\n");
}

function asMarkdown({ title, description, markdown }: DocPage): string {
  // Comments of guides are for their authors.
  const text = markdown.replace(/^<!--[\s\S]*?-->\n+/gm, "");
  return `# ${title}\n\n${description}\n\n${text.trim()}\n`;
}
