/** Checks real responses against the published OpenAPI document. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import type { Customer, RestAnswer, RestCall, RestStack } from "./rest.ts";

type Json = Record<string, unknown>;
type Header = { required?: boolean; schema: Json };
type Response = {
  "x-error-codes"?: readonly string[];
  headers?: Record<string, { $ref: string } | Header>;
  content?: Record<string, { schema: Json }>;
};
type Document = {
  paths: Record<string, Record<string, { responses: Record<string, Response | { $ref: string }> }>>;
  components: { headers: Record<string, Header>; responses: Record<string, Response> };
};

/** How the service writes instants, which the document says in words only (docs/contract.md). */
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Validates by the schemas of a document, which it knows as `doc`. A word that `x-extensible-enum` does not list is
 * wrong here: clients take it for one that was added later, but today's service must not send it.
 */
export function openApiValidator(document: object): Ajv2020 {
  const formats = { "date-time": INSTANT, uri: true } as const;
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats });
  ajv.addKeyword({
    keyword: "x-extensible-enum",
    type: "string",
    schemaType: "array",
    validate: (words: readonly string[], word: string) => words.includes(word),
  });
  return ajv.addSchema(document, "doc");
}

/** Throws unless the document describes the response of an operation. */
export type AnswerCheck = (method: string, path: string, answer: RestAnswer) => void;

/** Throws unless a webhook's body is a `message.status_changed` event of the document. */
export function createEventCheck(document: Document): (event: unknown) => void {
  const ajv = openApiValidator(document);
  return (event) => {
    const isRight = ajv.validate("doc#/components/schemas/MessageStatusChangedEvent", event);
    expect(isRight, ajv.errorsText()).to.equal(true);
  };
}

/** Creates the check; `path` is a template, such as `/v1/messages/{message_id}`. */
export function createAnswerCheck(document: Document): AnswerCheck {
  const ajv = openApiValidator(document);
  return (method, path, answer) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    const described = operation?.responses[String(answer.status)];
    const response =
      described !== undefined && "$ref" in described
        ? document.components.responses[described.$ref.split("/").at(-1) ?? ""]
        : described;
    expect(response, `${method} ${path} ${answer.status} is described`).to.be.an("object");
    for (const [name, described] of Object.entries(response?.headers ?? {})) {
      const header =
        "$ref" in described
          ? document.components.headers[described.$ref.split("/").at(-1) ?? ""]
          : described;
      const value = answer.headers.get(name);
      if (header?.required === true) expect(value, `header ${name}`).to.be.a("string");
      if (value === null || header === undefined) continue;
      const typed = header.schema.type === "integer" ? Number(value) : value;
      expect(ajv.validate(header.schema, typed), `${name}: ${value}`).to.equal(true);
    }
    const codes = response?.["x-error-codes"];
    if (codes !== undefined) {
      expect(answer.body.status).to.equal(answer.status);
      expect(codes, `${method} ${path} ${answer.status}`).to.include(answer.body.code);
    }
    if (answer.text === "") return;
    const type = (answer.headers.get("content-type") ?? "").split(";")[0] ?? "";
    const schema = response?.content?.[type]?.schema;
    expect(schema, `${type} of ${method} ${path} ${answer.status}`).to.be.an("object");
    const local = JSON.parse(
      JSON.stringify(schema).replaceAll('"#/components', '"doc#/components'),
    );
    const content = type === "text/csv" ? answer.text : answer.body;
    expect(ajv.validate(local, content), ajv.errorsText()).to.equal(true);
  };
}

/** Calls as a customer, and throws unless the document describes the response. */
export type CheckedCall = (
  customer: Customer,
  method: string,
  path: string,
  options?: RestCall,
) => Promise<RestAnswer>;

/** The part of a path in the place of a parameter. */
const PARAMETERS: readonly (readonly [value: RegExp, parameter: string])[] = [
  [/msg_[^/]+/, "{message_id}"],
  [/cmp_[^/]+/, "{campaign_id}"],
  [/whe_[^/]+/, "{endpoint_id}"],
  [/whd_[^/]+/, "{delivery_id}"],
  [/key_[^/]+/, "{api_key_id}"],
  [/inb_[^/]+/, "{inbound_message_id}"],
  [/(?<=\/suppressions\/).+/, "{number}"],
];

/** Reads a stack's document for checked calls. */
export async function openCheckedCall(rest: RestStack): Promise<CheckedCall> {
  const check = createAnswerCheck((await rest.call("GET", "/openapi.json")).body);
  return async (customer, method, path, options) => {
    const answer = await customer.call(method, path, options);
    const [plain = ""] = path.split("?");
    const template = PARAMETERS.reduce((text, [value, name]) => text.replace(value, name), plain);
    check(method, template, answer);
    return answer;
  };
}
