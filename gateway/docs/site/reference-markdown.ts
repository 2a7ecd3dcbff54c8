/** The reference as Markdown: every operation and schema of the OpenAPI document. */
import {
  type ApiDocument,
  exampleOf,
  nameIn,
  operationsOf,
  type Parameter,
  type PlacedOperation,
  responsesOf,
  type Schema,
} from "./api-document.ts";
import { codeBlock, jsonBlock, markdownTable } from "./markdown-table.ts";

export function referenceMarkdown(document: ApiDocument): string {
  const operations = operationsOf(document);
  const groups = document.tags.map(({ name, description = "" }) => {
    const own = operations.filter(({ tags }) => tags.includes(name));
    return [`## ${name}`, description, ...own.map((one) => operationPart(document, one))].join(
      "\n\n",
    );
  });
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    [`### ${name}`, memberTable(schema)].join("\n\n"),
  );
  return [document.info.description, ...groups, "## Schemas", ...schemas].join("\n\n");
}

function operationPart(document: ApiDocument, operation: PlacedOperation): string {
  const { method, path, summary, description, deprecated, parameters, requestBody } = operation;
  const body = requestBody?.content["application/json"];
  return [
    `### ${summary}`,
    codeBlock("http", `${method} ${path}`),
    ...(deprecated === true ? ["**Deprecated.**"] : []),
    description,
    ...(parameters.length === 0 ? [] : [parameterTable(parameters)]),
    ...(body === undefined ? [] : bodyParts("Body", body.schema, exampleOf(document, body.schema))),
    ...responseParts(document, operation),
  ].join("\n\n");
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, schema, description = "", required }) => [
    `\`${name}\``,
    required ? `${place}, required` : place,
    typeOf(schema),
    description,
  ]);
  return markdownTable(["Parameter", "In", "Type", "Meaning"], rows);
}

function responseParts(document: ApiDocument, operation: PlacedOperation): string[] {
  const responses = responsesOf(document, operation);
  const table = markdownTable(
    ["Status", "Meaning"],
    responses.map(([status, { description }]) => [status, description]),
  );
  const answer = responses.map(([, { content }]) => content?.["application/json"]).find(Boolean);
  if (answer === undefined) return [table];
  const example = answer.example ?? exampleOf(document, answer.schema);
  return [table, ...bodyParts("Answer", answer.schema, example)];
}

function bodyParts(title: string, schema: Schema, example: unknown): string[] {
  const type = `${title}: ${typeOf(schema)}`;
  return example === undefined ? [type] : [type, jsonBlock(example)];
}

function memberTable(schema: Schema): string {
  const rows = memberRows(schema, "");
  return rows.length === 0
    ? typeOf(schema)
    : markdownTable(["Member", "Type", "Present", "Meaning"], rows);
}

/** A row for each member, followed by those of a nested object or of list items, prefixed by its name. */
function memberRows(schema: Schema, prefix: string): string[][] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = new Set((schema.required ?? []) as string[]);
  return properties.flatMap(([property, inner]) => [
    [
      `\`${prefix}${property}\``,
      inner.properties === undefined ? typeOf(inner) : nameOf(inner.type ?? "object"),
      required.has(property) ? "always" : "",
      String(inner.description ?? ""),
    ],
    ...memberRows(inner, `${prefix}${property}.`),
    ...memberRows((inner.items ?? {}) as Schema, `${prefix}${property}[].`),
  ]);
}

/** A schema's type in words, with its bounds. */
function typeOf(schema: Schema): string {
  const reference = schema.$ref;
  if (typeof reference === "string") return nameIn(reference);
  const [first] = (schema.anyOf ?? []) as Schema[];
  if (first !== undefined) return `${typeOf(first)} or null`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  const items = schema.items as Schema | undefined;
  if (items !== undefined) return `list of ${typeOf(items)}${bounds(schema)}`;
  if (Array.isArray(schema.enum)) {
    return `one of ${schema.enum.map((word) => `\`${word}\``).join(", ")}`;
  }
  const format = schema.format === undefined ? "" : ` (${schema.format})`;
  return `${nameOf(schema.type ?? "any")}${format}${bounds(schema)}`;
}

function nameOf(type: unknown): string {
  return Array.isArray(type) ? type.join(" or ") : String(type);
}

function bounds(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema;
  const usual = schema.default === undefined ? "" : `, ${schema.default} when absent`;
  const low = minLength ?? minimum ?? minItems;
  const high = maxLength ?? maximum ?? maxItems;
  const range = low === undefined && high === undefined ? "" : `, ${low ?? 0} to ${high ?? "any"}`;
  return `${range}${usual}${pattern === undefined ? "" : `, \`${String(pattern)}\``}`;
}
