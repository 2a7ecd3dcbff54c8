/** The frame of every page: navigation, content, table of contents. Links are relative, so that any prefix works. */
import type { Assets } from "./assets.ts";
import { type DocPage, SECTIONS } from "./doc-page.ts";
import { escapeHtml } from "./html.ts";
import { type Heading, plainText, type Rendered } from "./render-markdown.ts";

/** All pages in the order of the navigation. */
export function navigationOrder(pages: readonly DocPage[]): DocPage[] {
  const rank = ({ section, order }: DocPage) => SECTIONS.indexOf(section) * 10_000 + order;
  return [...pages].sort((a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title));
}

/** The way from a page to the root of the documentation: `./`, `../` and so on. */
export function rootFrom(path: string): string {
  const depth = path.split("/").length - 2;
  return depth <= 0 ? "./" : "../".repeat(depth);
}

type Frame = {
  readonly title: string;
  readonly description: string;
  /** The root of the documentation as seen from the page. */
  readonly root: string;
  readonly assets: Assets;
  /** Elements of the head besides those of every page. */
  readonly head?: string;
  readonly body: string;
};

/** A page in its frame. */
export function contentPage(
  page: DocPage,
  rendered: Rendered,
  options: {
    readonly pages: readonly DocPage[];
    readonly assets: Assets;
    /** Replaces the root for the first page, whose address may be without a slash at its end. */
    readonly root?: string;
  },
): string {
  const root = options.root ?? rootFrom(page.path);
  const html = options.root === undefined ? rendered.html : rebase(rendered.html, options.root);
  const description = plainText(page.description);
  return frame({
    title: page.title,
    description,
    root,
    assets: options.assets,
    head: `${contentStyle(root, options.assets)}
<link rel="alternate" type="text/markdown" href="${root}${markdownPath(page).slice(1)}">`,
    body: `<div class="columns">
${navigation(page, options.pages, root)}
<main id="content">
<article>
<p class="section">${escapeHtml(page.section)}</p>
<h1>${escapeHtml(page.title)}</h1>
<p class="lead">${inlineCode(page.description)}</p>
${html}
${page.path === "/" ? formerAnchors(root) : ""}</article>
${neighbours(page, options.pages, root)}
<footer><a href="${root}${markdownPath(page).slice(1)}">This page as Markdown</a></footer>
</main>
${contents(rendered.headings)}
</div>`,
  });
}

/** Anchors that the one page of earlier releases had: each is now a link to the page with its content. */
const FORMER_ANCHORS: Readonly<Record<string, readonly [string, string]>> = {
  statuses: ["guides/statuses", "Statuses"],
  money: ["guides/money", "Money"],
  segments: ["guides/sending#segments", "Segments"],
  "test-mode": ["guides/test-mode", "Test mode"],
  headers: ["guides/limits#headers-of-responses", "Headers"],
  errors: ["guides/errors", "Errors"],
  webhooks: ["guides/webhooks", "Webhooks"],
  schemas: ["reference", "Schemas"],
};

function formerAnchors(root: string): string {
  const links = Object.entries(FORMER_ANCHORS).map(
    ([id, [path, text]]) => `<a id="${id}" href="${root}${path}">${text}</a>`,
  );
  return `<h2>Often read</h2>\n<p>${links.join(" · ")}</p>\n`;
}

/** The style sheet of every page but the reference, where its rules would change Scalar's elements. */
function contentStyle(root: string, assets: Assets): string {
  return `<link rel="stylesheet" href="${root}${assets.pathOf("content.css").slice(1)}">`;
}

/** Where a page's Markdown is. */
export function markdownPath({ path }: DocPage): string {
  return path === "/" ? "/index.md" : `${path}.md`;
}

/** The HTML document around a body. */
export function frame({ title, description, root, assets, head = "", body }: Frame): string {
  const asset = (name: string) => root + assets.pathOf(name).slice(1);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}${title === "SMS API" ? "" : " · SMS API"}</title>
<meta name="description" content="${escapeHtml(description)}">
<link rel="icon" type="image/svg+xml" href="${asset("icon.svg")}">
<link rel="stylesheet" href="${asset("frame.css")}">
<script src="${asset("site.js")}" data-root="${root}" data-search="${asset("minisearch.js")}"></script>
${head}
</head>
<body>
<a class="site-skip" href="#content">Skip to the content</a>
<header class="site-top">
<button class="site-menu" type="button" aria-expanded="false" aria-controls="navigation">Menu</button>
<a class="site-brand" href="${root}">
<img src="${asset("icon.svg")}" alt="" width="24" height="24">SMS API</a>
<nav class="site-main" aria-label="Main">
<a href="${root}guides/quickstart">Guides</a>
<a href="${root}reference">Reference</a>
</nav>
<search class="site-search" aria-label="Documentation">
<input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false">
<ol class="site-results" aria-live="polite" hidden></ol>
</search>
</header>
${body}
</body>
</html>
`;
}

function navigation(current: DocPage | undefined, pages: readonly DocPage[], root: string): string {
  const sections = SECTIONS.map((section) => ({
    section,
    own: pages.filter((page) => page.section === section),
  })).filter(({ own }) => own.length > 0);
  const groups = sections.map(({ section, own }) => {
    const links = own.map((page) => {
      const mark = page === current ? ' aria-current="page"' : "";
      const text = section === "Error codes" ? (page.path.split("/").at(-1) ?? "") : page.title;
      return `<li><a href="${root}${page.path.slice(1)}"${mark}>${escapeHtml(text)}</a></li>`;
    });
    const list = `<ul>\n${links.join("\n")}\n</ul>`;
    if (section !== "Error codes") return `<h2>${section}</h2>\n${list}`;
    const open = current?.section === section ? " open" : "";
    return `<details${open}><summary>${section}</summary>\n${list}</details>`;
  });
  return `<nav id="navigation" class="navigation" aria-label="Pages">\n${groups.join("\n")}\n</nav>`;
}

function contents(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2);
  if (shown.length < 2) return '<div class="contents"></div>';
  const links = shown.map(
    ({ id, text }) => `<li><a href="#${id}">${escapeHtml(plainText(text))}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>\n${links.join("\n")}\n</ul></nav>`;
}

/** Links to the page before and the page after. Pages of error codes are not read in order. */
function neighbours(page: DocPage, pages: readonly DocPage[], root: string): string {
  const row = pages.filter(({ section }) => section !== "Error codes");
  const at = row.indexOf(page);
  if (at < 0) return "";
  const link = (other: DocPage | undefined, rel: string, text: string) =>
    other === undefined
      ? ""
      : `<a rel="${rel}" href="${root}${other.path.slice(1)}"><small>${text}</small>${escapeHtml(other.title)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next page">
${link(row[at - 1], "prev", "Previous")}
${link(row[at + 1], "next", "Next")}
</nav>`;
}

/** Relative links of a page seen from another address. */
function rebase(html: string, root: string): string {
  return html.replace(/href="(?![a-z]+:|#)/g, `href="${root}`);
}

/** Escaped text; `code` between backticks becomes a code element. */
function inlineCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, "<code>$1</code>");
}

/** The page for browsers that ask for an address that does not exist. Its links begin at the root of the server. */
export function notFoundPage(pages: readonly DocPage[], assets: Assets): string {
  const root = "/docs/";
  return frame({
    title: "Page not found",
    description: "There is no page at this address.",
    root,
    assets,
    head: contentStyle(root, assets),
    body: `<div class="columns">
${navigation(undefined, pages, root)}
<main id="content">
<article>
<p class="section">404</p>
<h1>Page not found</h1>
<p class="lead">There is no page at this address.</p>
<ul>
<li><a href="${root}guides/quickstart">Quickstart</a>: send a first message in five minutes.</li>
<li><a href="${root}reference">Reference</a>: every operation of the API, below <code>/v1/</code>.</li>
<li><a href="${root}guides/errors">Errors</a>: every error code, and when to retry.</li>
</ul>
</article>
</main>
<div class="contents"></div>
</div>`,
  });
}

/** The page that shows the OpenAPI document with Scalar. */
export function referencePage(assets: Assets): string {
  const root = "./";
  const asset = (name: string) => root + assets.pathOf(name).slice(1);
  return frame({
    title: "Reference",
    description: "Every operation of the API, with samples. Try each with your own key.",
    root,
    assets,
    head: `<link rel="alternate" type="text/markdown" href="${root}reference.md">
<script defer src="${asset("scalar.js")}"></script>
<script defer src="${asset("reference.js")}" data-document="${root}openapi.json"></script>`,
    body: `<main id="content" class="reference">
<h1 class="site-hidden">Reference</h1>
<div id="reference"></div>
<noscript>
<p>The interactive reference needs JavaScript. <a href="${root}reference.md">The reference as Markdown</a> does not.</p>
</noscript>
</main>`,
  });
}
