import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Html, html, page } from "../html.ts";

/** A worked example: the same small program in several languages. */
type Example = {
  readonly slug: string;
  readonly title: string;
  readonly text: string;
  /** Language to file, relative to this folder. */
  readonly files: Readonly<Record<string, string>>;
};

const EXTENSIONS = {
  curl: "sh",
  TypeScript: "ts",
  Python: "py",
  Go: "go",
  PHP: "php",
  Java: "java",
};

function inEveryLanguage(program: string): Record<string, string> {
  const entries = Object.entries(EXTENSIONS);
  return Object.fromEntries(entries.map(([name, end]) => [name, `examples/${program}.${end}`]));
}

/** Every worked example, in the order of the reference page. */
export const EXAMPLES: readonly Example[] = [
  {
    slug: "send",
    title: "Send one message",
    text: "The message is accepted and on its way; its id is what to read it by.",
    files: inEveryLanguage("send"),
  },
  {
    slug: "retry-safely",
    title: "Retry safely",
    text: "Every attempt carries the same Idempotency-Key, so a lost answer costs nothing.",
    files: inEveryLanguage("retry-safely"),
  },
  {
    slug: "page-messages",
    title: "Page through messages",
    text: "Both time bounds are sent, so that nothing is missed while new messages arrive.",
    files: inEveryLanguage("page-messages"),
  },
  {
    slug: "verify-webhook",
    title: "Verify a webhook",
    text: "Check the signature over the raw body before anything else; answer 400 when it fails.",
    files: {
      TypeScript: "webhook-verification/verify.ts",
      Python: "webhook-verification/verify.py",
      Go: "webhook-verification/verify.go",
      PHP: "webhook-verification/verify.php",
      Java: "webhook-verification/WebhookVerifier.java",
    },
  },
];

/** The page of one example, with the files that the tests run. */
export function examplePage(example: Example, docsUrl: string): string {
  const known = Object.entries(example.files).filter(([, file]) => existsSync(pathOf(file)));
  const sections = known.map(
    ([language, file]) =>
      html`<h2>${language}</h2>
<pre><code>${readFileSync(pathOf(file), "utf8")}</code></pre>`,
  );
  return page(
    example.title,
    html`<p><a href="${docsUrl}">Reference</a></p>
<h1>${example.title}</h1>
<p>${example.text}</p>
${sections}`,
  );
}

/** Links to every example. */
export function exampleList(docsUrl: string): Html {
  const items = EXAMPLES.map(
    ({ slug, title }) => html`<li><a href="${docsUrl}/examples/${slug}">${title}</a></li>`,
  );
  return html`<ul>
${items}
</ul>`;
}

function pathOf(file: string): string {
  return join(import.meta.dirname, "..", file);
}
