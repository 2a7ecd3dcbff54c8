import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DocPage } from "../site/doc-page.ts";
import { codeBlock } from "../site/markdown-table.ts";

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

/** Every worked example, in the order of the navigation. */
export const EXAMPLES: readonly Example[] = [
  {
    slug: "send",
    title: "Send one message",
    text: "The message is accepted; read it by its id.",
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
export function examplePage(example: Example): DocPage {
  return {
    path: `/examples/${example.slug}`,
    title: example.title,
    description: example.text,
    section: "Samples",
    order: EXAMPLES.indexOf(example),
    markdown: exampleTabs(example.slug),
  };
}

/** The files of one example as code blocks, which a page shows as tabs. */
export function exampleTabs(slug: string): string {
  const example = EXAMPLES.find((one) => one.slug === slug);
  if (example === undefined) throw new Error(`there is no example ${slug}`);
  return Object.entries(example.files)
    .map(([language, file]) => {
      const extension = file.slice(file.lastIndexOf(".") + 1);
      return codeBlock(`${extension} tab=${language}`, readFileSync(pathOf(file), "utf8"));
    })
    .join("\n\n");
}

function pathOf(file: string): string {
  return join(import.meta.dirname, "..", file);
}
