/** The reference, built from the OpenAPI document: one page that loads nothing. */
import { conceptSections } from "./content/concepts.ts";
import { exampleList } from "./content/example-pages.ts";
import { errorTable, fieldTable, messageCodeTable } from "./error-pages.ts";
import { type Html, html, json, page, prose, row } from "./html.ts";
import type { buildOpenApi } from "./openapi.ts";
import { ATTEMPTS_NOTE, type WebhookOperation } from "./webhook-events.ts";

type Document = ReturnType<typeof buildOpenApi>;
type Schema = { readonly [keyword: string]: unknown };
type OperationObject = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly parameters: readonly {
    name: string;
    in: string;
    required: boolean;
    description?: string;
    schema: Schema;
  }[];
  readonly requestBody?: {
    content: { "application/json": { schema: Schema } };
  };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
};
type ResponseObject = {
  readonly description: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content?: Record<string, { schema: Schema; example?: unknown }>;
};
type Responses = Readonly<Record<string, ResponseObject>>;

export function referencePage(document: Document, docsUrl: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as OperationObject,
      responses: resolve(document, operation as OperationObject),
      example: examplesOf(document, (operation as OperationObject).requestBody)[0],
    })),
  );
  const sections = document.tags.map(({ name }) => {
    const mine = operations.filter(({ operation }) => operation.tags.includes(name));
    return html`<h2>${name}</h2>
${mine.map(operationSection)}`;
  });
  const links = operations.map(
    ({ method, path, operation }) =>
      html`<li><a href="#${operation.operationId}"><span class="method">${method}</span> ${path}</a></li>`,
  );
  const schemas = Object.entries(document.components.schemas as Record<string, Schema>);
  return page(
    document.info.title,
    html`<h1>${document.info.title}</h1>
${document.info.description.split("\n\n").map((text) => html`<p>${prose(text)}</p>`)}
<p><a href="${docsUrl}/openapi.json">OpenAPI 3.1 document</a> ·
<a href="${docsUrl}/api/migrations/send-endpoint">Migration from POST /v1/messages</a> ·
<a href="#statuses">Statuses</a> · <a href="#money">Money</a> · <a href="#segments">Segments</a> ·
<a href="#test-mode">Test mode</a> · <a href="#headers">Headers</a> ·
<a href="#errors">Errors</a> · <a href="#webhooks">Webhooks</a> · <a href="#schemas">Schemas</a></p>
<nav><ul>
${links}
</ul></nav>
${baseAddress(document.servers[0].url)}
<h2>Worked examples</h2>
${exampleList(docsUrl)}
${conceptSections()}
${sections}
<h2 id="headers">Headers of answers</h2>
${headerTable(document.components.headers)}
<h2 id="errors">Errors</h2>
${errorTable(docsUrl)}
<h3>Codes of fields</h3>
${fieldTable()}
<h3>Codes of messages</h3>
${messageCodeTable()}
<h2 id="webhooks">Webhooks</h2>
<p>${prose(WEBHOOKS_NOTE)}</p>
${Object.entries(document.webhooks).map(([name, { post }], at) => webhookSection(document, name, post, at === 0))}
<h2 id="schemas">Schemas</h2>
${schemas.map(([name, schema]) => schemaSection(name, schema))}`,
  );
}

/** The responses of an operation, with those of the components. */
function resolve({ components }: Document, { responses }: OperationObject): Responses {
  const named = components.responses as Responses;
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      "$ref" in response ? (named[nameIn(response.$ref)] as ResponseObject) : response,
    ]),
  );
}

/** The examples of a body, which are in its schema. */
function examplesOf(
  { components }: Document,
  body: OperationObject["requestBody"],
): readonly unknown[] {
  const { schema = {} } = body?.content["application/json"] ?? {};
  const [reference = ""] = JSON.stringify(schema).match(/(?<="\$ref":")[^"]+/) ?? [];
  const named = components.schemas as Readonly<Record<string, { examples?: readonly unknown[] }>>;
  return named[nameIn(reference)]?.examples ?? [];
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

type Shown = {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
  readonly responses: Responses;
  readonly example: unknown;
};

function operationSection({ method, path, operation, responses, example }: Shown): Html {
  const body = operation.requestBody?.content["application/json"];
  return html`<section id="${operation.operationId}">
<h3><span class="method">${method}</span> <code>${path}</code></h3>
<p><strong>${operation.summary}.</strong></p>
${operation.deprecated === true ? html`<p class="note">Deprecated.</p>` : html``}
${operation.description.split("\n\n").map((text) => html`<p>${prose(text)}</p>`)}
${parameterTable(operation.parameters)}
${body === undefined ? html`` : html`<h4>Body</h4><p>${typeOf(body.schema)}</p>${json(example)}`}
<h4>Answers</h4>
${responseTable(responses)}
</section>`;
}

const WEBHOOKS_NOTE =
  "Each event is one POST request to every endpoint that has asked for its type. All have the same " +
  "headers, with their own `X-Service-Event-Type`. Answer 2xx within 10 seconds; anything else is a " +
  `failure. ${ATTEMPTS_NOTE}`;

/** One event type; the headers, which all types share, are in the first section. */
function webhookSection(
  document: Document,
  name: string,
  webhook: WebhookOperation,
  isFirst: boolean,
): Html {
  const { schema } = webhook.requestBody.content["application/json"];
  const example = examplesOf(document, webhook.requestBody).find(
    (one) => (one as { type: string }).type === name,
  );
  return html`<section id="event-${name}">
<h3>${name}</h3>
<p><strong>${webhook.summary}.</strong></p>
<p>${prose(webhook.description)}</p>
${isFirst ? parameterTable(webhook.parameters) : html``}
<h4>Body</h4>
<p>${typeOf(schema)}</p>
${example === undefined ? html`` : json(example)}
</section>`;
}

function parameterTable(parameters: OperationObject["parameters"]): Html {
  if (parameters.length === 0) return html``;
  const rows = parameters.map(({ name, in: place, schema, description, required }) =>
    row(
      html`<code>${name}</code>`,
      required ? `${place}, required` : place,
      typeOf(schema),
      prose(description ?? ""),
    ),
  );
  return html`<h4>Parameters</h4>
<table><tr><th>Name</th><th>In</th><th>Type</th><th></th></tr>
${rows}
</table>`;
}

function responseTable(responses: Responses): Html {
  const rows = Object.entries(responses).map(([status, { description, headers }]) => {
    const own = Object.keys(headers).filter((name) => !ON_EVERY_ANSWER.has(name));
    return row(status, prose(description), prose(own.map((name) => `\`${name}\``).join(", ")));
  });
  const success = Object.values(responses).find(({ content }) => content?.["application/json"]);
  const answer = success?.content?.["application/json"];
  return html`<table><tr><th>Status</th><th></th><th>Headers</th></tr>
${rows}
</table>
${answer === undefined ? html`` : html`<p>${typeOf(answer.schema)}</p>${json(answer.example)}`}`;
}

/** The address of the API in words. */
function baseAddress(url: string): Html {
  return url === "/" ? html`` : html`<p>Every path is under <code>${url}</code>.</p>`;
}

/** Headers that are not listed at each response. */
const ON_EVERY_ANSWER: ReadonlySet<string> = new Set(["X-Request-Id", "Cache-Control"]);

function headerTable(headers: Document["components"]["headers"]): Html {
  const rows = Object.entries(headers).map(([name, { description }]) => {
    const where = ON_EVERY_ANSWER.has(name) ? "on every answer" : "where an answer names it";
    return row(html`<code>${name}</code>`, prose(description), where);
  });
  return html`<table>
${rows}
</table>`;
}

function schemaSection(name: string, schema: Schema): Html {
  return html`<section id="schema-${name}">
<h3>${name}</h3>
<table><tr><th>Member</th><th>Type</th><th>Present</th><th></th></tr>
${memberRows(schema, "")}
</table>
</section>`;
}

/** A row for each member, followed by the members of a nested object or of list items, prefixed by its name. */
function memberRows(schema: Schema, prefix: string): Html[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const required = new Set((schema.required ?? []) as string[]);
  return properties.flatMap(([property, inner]) => [
    row(
      html`<code>${prefix}${property}</code>`,
      inner.properties === undefined ? typeOf(inner) : nameOf(inner.type ?? "object"),
      required.has(property) ? "always" : "",
      prose(String(inner.description ?? "")),
    ),
    ...memberRows(inner, `${prefix}${property}.`),
    ...memberRows((inner.items ?? {}) as Schema, `${prefix}${property}[].`),
  ]);
}

/** A schema's type in words, with its bounds. */
function typeOf(schema: Schema): Html {
  const reference = schema.$ref;
  if (typeof reference === "string") {
    const name = nameIn(reference);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const [first] = (schema.anyOf ?? []) as Schema[];
  if (first !== undefined) return html`${typeOf(first)} or null`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  const items = schema.items as Schema | undefined;
  if (items !== undefined) return html`list of ${typeOf(items)}${bounds(schema)}`;
  if (Array.isArray(schema.enum)) {
    return html`one of ${prose(schema.enum.map((word) => `\`${word}\``).join(", "))}`;
  }
  const format = schema.format === undefined ? "" : ` (${schema.format})`;
  return html`${nameOf(schema.type ?? "any")}${format}${bounds(schema)}`;
}

function nameOf(type: unknown): string {
  return Array.isArray(type) ? type.join(" or ") : String(type);
}

function bounds(schema: Schema): Html {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema;
  const usual = schema.default === undefined ? "" : `, ${schema.default} when absent`;
  const low = minLength ?? minimum ?? minItems;
  const high = maxLength ?? maximum ?? maxItems;
  const range = low === undefined && high === undefined ? "" : `, ${low ?? 0} to ${high ?? "any"}`;
  return html`${range}${usual}${pattern === undefined ? "" : html`, <code>${String(pattern)}</code>`}`;
}
