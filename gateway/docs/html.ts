import { createHash } from "node:crypto";

/** HTML text, which is not escaped again. */
export type Html = { readonly html: string };

type Part = string | number | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A template that escapes its values unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const texts = parts.map((part, at) => textOf(part) + (strings[at + 1] ?? ""));
  return { html: (strings[0] ?? "") + texts.join("") };
}

/** Escaped text; `code` between backticks becomes a code element. */
export function prose(text: string): Html {
  return { html: escapeText(text).replace(/`([^`]*)`/g, "<code>$1</code>") };
}

/** A table row. */
export function row(...cells: readonly (string | Html)[]): Html {
  return { html: `<tr>${cells.map((cell) => html`<td>${cell}</td>`.html).join("")}</tr>` };
}

/** JSON on several lines. */
export function json(value: unknown): Html {
  return html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`;
}

/** A page with its style sheet inside, so that it loads nothing. */
export function page(title: string, content: Html): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${content.html}
</main>
</body>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #0b6; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 6rem; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin-top: 2.5rem; }
a { color: inherit; text-decoration-color: var(--accent); text-underline-offset: .15em; }
code { font: .9em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; }
pre { background: var(--soft); padding: .9rem 1rem; overflow-x: auto; border-radius: .4rem; }
pre code { background: none; padding: 0; }
table { border-collapse: collapse; width: 100%; font-size: .95em; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem .4rem 0; }
tr { border-bottom: 1px solid var(--line); }
nav ul { columns: 2; padding-left: 1.1rem; }
.method { font: 600 .85em ui-monospace, monospace; color: var(--accent); }
.note { border-left: .25rem solid var(--accent); padding-left: .8rem; }
`;

/** A content security policy that allows the page's own style only. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function textOf(part: Part): string {
  if (Array.isArray(part)) return part.map(({ html: text }: Html) => text).join("\n");
  if (typeof part === "object") return (part as Html).html;
  return escapeText(String(part));
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
