/** The parts of guides that come from code: `<!-- include: name -->` on a line of its own. */
import { STATUS_CHANGED_EXAMPLE } from "../content/event-samples.ts";
import { exampleTabs } from "../content/example-pages.ts";
import { segmentTable, statusTable, testNumberTable } from "../content/message-tables.ts";
import { problemExample } from "../content/problem-examples.ts";
import { errorTable, fieldTable, messageCodeTable } from "../error-pages.ts";
import { HEADERS } from "../headers.ts";
import { WEBHOOKS } from "../webhook-events.ts";
import { type ApiDocument, operationsOf } from "./api-document.ts";
import { jsonBlock, markdownTable } from "./markdown-table.ts";

const MARKER = /^<!-- include: ([a-z-]+)(?: ([a-z-]+))? -->$/gm;

/** The sources of the included parts. */
export type PartSource = { readonly docsUrl: string; readonly document: ApiDocument };

/** Replaces each marker by its part. Throws for an unknown name. */
export function includeParts(markdown: string, source: PartSource): string {
  return markdown.replace(MARKER, (_, name: string, argument: string | undefined) => {
    if (name === "samples") return exampleTabs(argument ?? "");
    const part = PARTS[name];
    if (part === undefined) throw new Error(`there is no part ${name} to include`);
    return part(source);
  });
}

const PARTS: Readonly<Record<string, (source: PartSource) => string>> = {
  statuses: statusTable,
  segments: segmentTable,
  "test-numbers": testNumberTable,
  "message-codes": messageCodeTable,
  "field-codes": fieldTable,
  "error-index": errorTable,
  "problem-example": ({ docsUrl }) => jsonBlock(problemExample("validation_error", docsUrl)),
  "event-example": () => jsonBlock(STATUS_CHANGED_EXAMPLE),
  "event-types": () =>
    markdownTable(
      ["Type", "Sent"],
      Object.entries(WEBHOOKS).map(([type, { post }]) => [`\`${type}\``, `${post.summary}.`]),
    ),
  headers: () =>
    markdownTable(
      ["Header", "Meaning"],
      Object.entries(HEADERS).map(([name, { description }]) => [`\`${name}\``, description]),
    ),
  scopes: scopeTable,
};

/** Each scope with the operations that need it. */
function scopeTable({ document }: PartSource): string {
  const scopes = new Map<string, string[]>();
  for (const { summary, scope } of operationsOf(document)) {
    scopes.set(scope, [...(scopes.get(scope) ?? []), summary]);
  }
  const rows = [...scopes].map(([scope, summaries]) => [`\`${scope}\``, summaries.join("; ")]);
  return markdownTable(["Scope", "Allows"], rows);
}
