/** The documents of the search: each section of each page, and each operation of the reference. */
import { type ApiDocument, operationsOf, type PlacedOperation } from "./api-document.ts";
import type { DocPage } from "./doc-page.ts";
import { plainText, type Rendered } from "./render-markdown.ts";

/** Where Scalar shows an operation (`gateway/docs/assets/reference.js`). */
export function referenceAddress({ tags, operationId }: PlacedOperation): string {
  const tag = (tags[0] ?? "").toLowerCase().replaceAll(" ", "-");
  return `reference#tag/${tag}/${operationId}`;
}

export type SearchEntry = {
  /** The address, relative to the root of the documentation. */
  readonly id: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
};

/** Characters of a section that the index has: a longer section is found by its beginning only. */
const TEXT_CHARS_MAX = 2000;

export function searchIndex(
  pages: readonly (readonly [DocPage, Rendered])[],
  document: ApiDocument,
): SearchEntry[] {
  const sections = pages.flatMap(([page, rendered]) => pageEntries(page, rendered));
  const operations = operationsOf(document).map((operation) =>
    entry(
      referenceAddress(operation),
      "Reference",
      operation.summary,
      `${operation.method} ${operation.path} ${plainText(operation.description)}`,
    ),
  );
  return [...sections, ...operations];
}

function pageEntries(page: DocPage, { sections }: Rendered): SearchEntry[] {
  const address = page.path.slice(1) || "./";
  const description = plainText(page.description);
  // These pages have the same headings, which would fill the results.
  if (page.section === "Error codes") {
    const text = sections.map(({ text: part }) => part).join(" ");
    return [entry(address, page.section, page.title, `${description} ${text}`)];
  }
  return sections.map(({ id, title, text }) =>
    id === ""
      ? entry(address, page.title, page.title, `${description} ${text}`)
      : entry(`${address}#${id}`, page.title, title, text),
  );
}

function entry(id: string, page: string, title: string, text: string): SearchEntry {
  return { id, page, title, text: text.slice(0, TEXT_CHARS_MAX) };
}
