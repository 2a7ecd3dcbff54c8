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

/** A section with more text is found by its first words. */
const TEXT_CHARS_MAX = 2000;

export function searchIndex(
  pages: readonly (readonly [DocPage, Rendered])[],
  document: ApiDocument,
): SearchEntry[] {
  const sections = pages.flatMap(([page, rendered]) =>
    rendered.sections.map(({ id, title, text }) => ({
      id: `${page.path.slice(1) || "./"}${id === "" ? "" : `#${id}`}`,
      page: page.title,
      title: title === "" ? page.title : title,
      text: `${id === "" ? `${plainText(page.description)} ` : ""}${text}`.slice(0, TEXT_CHARS_MAX),
    })),
  );
  const operations = operationsOf(document).map((operation) => ({
    id: referenceAddress(operation),
    page: "Reference",
    title: operation.summary,
    text: `${operation.method} ${operation.path} ${plainText(operation.description)}`.slice(
      0,
      TEXT_CHARS_MAX,
    ),
  }));
  return [...sections, ...operations];
}
