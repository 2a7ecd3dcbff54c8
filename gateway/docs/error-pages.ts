/** The pages about error codes, and the tables of codes, as Markdown. */
import { ERRORS, type ErrorCode } from "../../services/shared/core/errors.ts";
import { FIELD_CODES, MESSAGE_CODES } from "./content/code-texts.ts";
import { ERROR_PAGES } from "./content/error-texts.ts";
import { problemExample } from "./content/problem-examples.ts";
import type { DocPage } from "./site/doc-page.ts";
import { jsonBlock, markdownTable } from "./site/markdown-table.ts";

/** Every code of the registry. */
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** The page of one error code: the cause, the fix, whether to retry. */
export function errorPage(code: ErrorCode, docsUrl: string): DocPage {
  const { http, title } = ERRORS[code];
  const { happened, fix, retry } = ERROR_PAGES[code];
  return {
    path: `/errors/${code}`,
    title,
    description: `HTTP ${http}, code \`${code}\`.`,
    section: "Error codes",
    order: http,
    markdown: `## What happened

${happened}

## How to fix it

${fix}

## Retry?

${retry}

## Example

${jsonBlock(problemExample(code, docsUrl))}
${code === "validation_error" ? `\n## Codes of fields\n\n${fieldTable()}\n` : ""}`,
  };
}

/** The codes of `errors` entries. */
export function fieldTable(): string {
  return markdownTable(
    ["Code", "Meaning"],
    Object.entries(FIELD_CODES).map(([code, text]) => [`\`${code}\``, text]),
  );
}

/** The codes of message errors, by status. */
export function messageCodeTable(): string {
  const rows = Object.entries(MESSAGE_CODES).flatMap(([status, codes]) =>
    Object.entries(codes).map(([code, text]) => [`\`${status}\``, `\`${code}\``, text]),
  );
  return markdownTable(["Status", "`error.code`", "Meaning"], rows);
}

/** The list of all codes, each with a link to its page, for a page in a folder of the root. */
export function errorTable(): string {
  const rows = ERROR_CODES.map((code) => [
    String(ERRORS[code].http),
    `[\`${code}\`](../errors/${code}.md)`,
    ERRORS[code].title,
  ]);
  return markdownTable(["HTTP", "Code", "Title"], rows);
}
