/** Markdown to HTML with highlighted code: marked and highlight.js, which no other file imports. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import http from "highlight.js/lib/languages/http";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import php from "highlight.js/lib/languages/php";
import protobuf from "highlight.js/lib/languages/protobuf";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import yaml from "highlight.js/lib/languages/yaml";
import { Marked, type Tokens } from "marked";
import { escapeHtml } from "./html.ts";

const LANGUAGES = { bash, go, http, java, json, php, protobuf, python, typescript, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Info strings of code blocks and the languages that highlight them; `text` and others are not highlighted. */
const ALIASES: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  js: "typescript",
  ts: "typescript",
  py: "python",
  proto: "protobuf",
  yml: "yaml",
};

export type Heading = { readonly depth: number; readonly id: string; readonly text: string };

/** A page's HTML, its headings, and its text by heading for the search. */
export type Rendered = {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly {
    readonly id: string;
    readonly title: string;
    readonly text: string;
  }[];
};

/** Consecutive code blocks with a tab name. Their code is escaped, so it cannot contain the end tag. */
const TABS = /(?:<figure class="code" data-tab="[^"]*">[\s\S]*?<\/figure>\n){2,}/g;

export function renderMarkdown(markdown: string): Rendered {
  const headings: Heading[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const plain = plainText(text);
        const id = freeId(plain, headings);
        headings.push({ depth, id, text: plain });
        const content = this.parser.parseInline(tokens);
        const anchor = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${content} ${anchor}</h${depth}>\n`;
      },
      code({ text, lang }: Tokens.Code) {
        return codeFigure(text, lang ?? "");
      },
      link({ href, title, tokens }: Tokens.Link) {
        const note = title ? ` title="${escapeHtml(title)}"` : "";
        return `<a href="${escapeHtml(pageAddress(href))}"${note}>${this.parser.parseInline(tokens)}</a>`;
      },
      // Comments of guides are for their authors.
      html({ text }: Tokens.HTML | Tokens.Tag) {
        return /^<!--[\s\S]*-->\s*$/.test(text) ? "" : escapeHtml(text);
      },
    },
  });
  const html = (marked.parse(markdown) as string)
    .replaceAll("<table>", '<div class="table" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>")
    .replace(TABS, (figures) => `<div class="tabs">\n${figures}</div>\n`);
  return { html, headings, sections: sectionsOf(marked.lexer(markdown), headings) };
}

/** A relative link to a page's Markdown leads to the page in HTML. */
export function pageAddress(href: string): string {
  return /^[a-z]+:/i.test(href) ? href : href.replace(/\.md(?=#|$)/, "");
}

/** A code block. Its info string is a language, and perhaps `tab=<name>`. */
function codeFigure(text: string, info: string): string {
  const [language = "", ...rest] = info.split(" ");
  const tab = /^tab=(.+)$/.exec(rest.join(" "))?.[1];
  const known = ALIASES[language] ?? language;
  const code =
    hljs.getLanguage(known) === undefined
      ? escapeHtml(text)
      : hljs.highlight(text, { language: known }).value;
  const caption = tab === undefined ? "" : `<figcaption>${escapeHtml(tab)}</figcaption>`;
  const data = tab === undefined ? "" : ` data-tab="${escapeHtml(tab)}"`;
  return `<figure class="code"${data}>${caption}<pre tabindex="0"><code>${code}</code></pre></figure>\n`;
}

function freeId(text: string, taken: readonly Heading[]): string {
  const base = text
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^-|-$/g, "");
  const isTaken = (id: string) => taken.some((heading) => heading.id === id);
  let id = base === "" ? "section" : base;
  for (let number = 2; isTaken(id); number += 1) id = `${base}-${number}`;
  return id;
}

/** Inline Markdown without its marks. */
export function plainText(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
}

/** The text below each heading, and before the first. Code is left out, except in tables. */
function sectionsOf(
  tokens: readonly { readonly type: string; readonly raw: string }[],
  headings: readonly Heading[],
) {
  const sections = [{ id: "", title: "", text: "" }];
  let at = 0;
  for (const { type, raw } of tokens) {
    const last = sections.at(-1);
    if (type === "heading") {
      const heading = headings[at];
      at += 1;
      sections.push({ id: heading?.id ?? "", title: heading?.text ?? "", text: "" });
    } else if (type !== "code" && type !== "html" && last !== undefined) {
      last.text += ` ${plainText(raw).replace(/[|\s]+|-{3,}/g, " ")}`;
    }
  }
  return sections.map((section) => ({ ...section, text: section.text.trim() }));
}
