import { expect } from "chai";
import { buildOpenApi } from "../../../gateway/docs/openapi.ts";
import { createOperations } from "../../../gateway/operations/all.ts";
import { openApiValidator } from "../../support/openapi-check.ts";
import { DOCS_URL, memoryPorts } from "../../support/rest-app.ts";

type Json = Record<string, unknown>;
type Response = {
  $ref?: string;
  description: string;
  headers: Record<string, { $ref?: string; required?: boolean }>;
  content?: Record<
    string,
    { schema: Json; example?: unknown; examples?: Record<string, { value: unknown }> }
  >;
};
type OperationObject = {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, Response>;
};

const endpoints = createOperations(memoryPorts(), true);
const BASE_URL = "https://api.example.test";
const document = buildOpenApi(endpoints, { baseUrl: BASE_URL, docsUrl: DOCS_URL });
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    operation: resolve(operation as OperationObject),
  })),
);

/** The operation with the responses to which it refers. */
function resolve(operation: OperationObject): OperationObject {
  const named = document.components.responses as unknown as Record<string, Response>;
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    response.$ref === undefined ? response : named[response.$ref.split("/").at(-1) ?? ""],
  ]);
  return { ...operation, responses: Object.fromEntries(responses) as Record<string, Response> };
}

/** Validates against the schemas of the document, with references to its components. */
const ajv = openApiValidator(document);
function validate(schema: Json, value: unknown): string {
  const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components'));
  return ajv.validate(local, value) ? "" : ajv.errorsText();
}

/** The examples of a body, which are in its schema. */
function examplesOf(schema: Json): readonly unknown[] {
  const [name = ""] = JSON.stringify(schema).match(/(?<=#\/components\/schemas\/)\w+/) ?? [];
  const named = document.components.schemas as Record<string, { examples?: readonly unknown[] }>;
  return named[name]?.examples ?? [];
}

/** Every schema in a part of the document, by its path. Examples are no schemas. */
function* schemasOf(part: unknown, path = ""): Generator<[string, Json]> {
  if (typeof part !== "object" || part === null) return;
  if (!Array.isArray(part)) yield [path, part as Json];
  for (const [name, inner] of Object.entries(part)) {
    if (name !== "example" && name !== "examples") yield* schemasOf(inner, `${path}/${name}`);
  }
}

/** The names of the schemas that the responses, or the events, can contain. */
function reachable(from: "responses"): Set<string> {
  const roots = operations.map(({ operation }) => operation[from]);
  const found = new Set<string>();
  const visit = (part: unknown) => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (found.has(name)) continue;
      found.add(name);
      visit((document.components.schemas as Json)[name]);
    }
  };
  visit([roots, document.webhooks]);
  return found;
}

describe("the OpenAPI document", () => {
  it("is version 3.1 and has every operation once, each with its own id", () => {
    expect(document.openapi).to.equal("3.1.0");
    expect(operations.map(({ name }) => name).sort()).to.deep.equal(
      endpoints.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`).sort(),
    );
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it("describes every group of operations", () => {
    for (const tag of document.tags) expect(tag, tag.name).to.have.property("description");
  });

  it("has no broken reference", () => {
    for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)) {
      const found = (reference as string)
        .split("/")
        .slice(1)
        .reduce<unknown>((at, name) => (at as Json)?.[name], document);
      expect(found, reference).to.be.an("object");
    }
  });

  for (const { name, path, operation } of operations) {
    describe(name, () => {
      it("declares exactly the parameters of its path", () => {
        const declared = operation.parameters.filter((parameter) => parameter.in === "path");
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
        expect(declared.map((parameter) => parameter.name)).to.deep.equal(inPath);
        expect(declared.every(({ required }) => required)).to.equal(true);
      });

      it("describes every status, with the headers of all responses", () => {
        const statuses = Object.keys(operation.responses);
        expect(statuses).to.include.members(["401", "403", "413", "415", "429", "500", "503"]);
        for (const [status, { headers }] of Object.entries(operation.responses)) {
          expect(Object.keys(headers), status).to.include.members([
            "X-Request-Id",
            "Cache-Control",
          ]);
          const hasRetryAfter = Object.keys(headers).includes("Retry-After");
          expect(hasRetryAfter, status).to.equal(status === "429" || status === "503");
        }
      });

      it("has examples that its own schemas accept", () => {
        const body = operation.requestBody?.content["application/json"]?.schema;
        if (body !== undefined) {
          const [example] = examplesOf(body);
          expect(example).to.be.an("object");
          expect(validate(body, example)).to.equal("");
        }
        for (const [status, { content = {} }] of Object.entries(operation.responses)) {
          for (const { schema, example, examples = {} } of Object.values(content)) {
            const all: unknown[] = example === undefined ? [] : [example];
            all.push(...Object.values(examples).map(({ value }) => value));
            expect(all.length, status).to.be.greaterThan(0);
            for (const value of all) expect(validate(schema, value), status).to.equal("");
          }
        }
      });
    });
  }

  it("describes each kind of problem once, with an example of each of its codes", () => {
    const responses = Object.entries(document.components.responses) as unknown as [
      string,
      Response & { "x-error-codes": string[] },
    ][];
    const used = new Set(
      [...JSON.stringify(document.paths).matchAll(/#\/components\/responses\/(\w+)/g)].map(
        ([, name]) => name,
      ),
    );
    expect(responses.map(([name]) => name)).to.have.members([...used]);
    for (const [name, { content = {}, "x-error-codes": codes }] of responses) {
      const { schema, examples = {} } = content["application/problem+json"] ?? {};
      const isMoney = codes.includes("insufficient_balance");
      expect(schema, name).to.deep.equal({
        $ref: `#/components/schemas/${isMoney ? "InsufficientBalanceProblem" : "Problem"}`,
      });
      const shown = Object.values(examples).map(({ value }) => (value as { code: string }).code);
      expect(new Set(shown), name).to.deep.equal(new Set(codes));
    }
  });

  it("requires the amounts of a problem about the balance, which no other problem has", () => {
    const { Problem, InsufficientBalanceProblem } = document.components.schemas as Json as Record<
      string,
      { required: string[]; properties: Json }
    >;
    const amounts = ["required_amount", "available_amount", "currency"];
    expect(InsufficientBalanceProblem?.required).to.include.members(amounts);
    for (const name of amounts) expect(Problem?.properties).to.not.have.property(name);
  });

  it("gives a type to every constant and enumeration", () => {
    for (const [path, schema] of schemasOf(document)) {
      if ("const" in schema || "enum" in schema) expect(schema, path).to.have.property("type");
    }
  });

  it("closes only enumerations of responses that never grow within v1", () => {
    const closed = [...reachable("responses")].filter((name) => {
      const inline = [...schemasOf((document.components.schemas as Json)[name])];
      return inline.some(([, schema]) => Array.isArray(schema.enum));
    });
    expect(closed.sort()).to.deep.equal([
      "CampaignRecipientStatus",
      "CampaignStatus",
      "MessageStatus",
    ]);
  });

  it("names every object, so that generators need not invent a name", () => {
    const isNamed = /^\/components\/schemas\/\w+$/;
    for (const [path, schema] of schemasOf(document)) {
      if ("properties" in schema && !path.includes("/properties/properties")) {
        expect(path).to.match(isNamed);
      }
    }
  });

  it("names every header that the service adds to a webhook", () => {
    const { parameters } = document.webhooks["message.status_changed"].post;
    const names = parameters.map(({ name }: { name: string }) => name);
    expect(names).to.deep.equal([
      "User-Agent",
      "X-Service-Event-Type",
      "X-Service-Event-Id",
      "X-Service-Delivery-Id",
      "X-Service-Delivery-Attempt",
      "X-Service-Signature",
    ]);
  });

  it("lists 409 for a change of a webhook endpoint", () => {
    const { operation } = operations.find(
      ({ name }) => name === "PATCH /v1/webhook-endpoints/{endpoint_id}",
    ) as (typeof operations)[number];
    expect(Object.keys(operation.responses)).to.include("409");
  });

  it("requires RateLimit headers after the rate limit, and makes them optional on 403, 500 and 503", () => {
    for (const { name, operation } of operations) {
      for (const [status, { headers }] of Object.entries(operation.responses)) {
        const isBefore = ["400", "401", "408", "413", "415", "431"].includes(status);
        for (const header of ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]) {
          const said = headers[header];
          const what = `${name} ${status} ${header}`;
          if (isBefore) expect(said, what).to.equal(undefined);
          else if (["403", "500", "503"].includes(status))
            expect(said?.required, what).to.equal(false);
          else expect(said?.$ref, what).to.equal(`#/components/headers/${header}`);
        }
      }
    }
  });

  it("shows deprecation on the old send path only, not on 413, 415 and 431, optional on 400 and 408", () => {
    for (const { name, operation } of operations) {
      for (const [status, { headers }] of Object.entries(operation.responses)) {
        const isDeprecated = name === "POST /v1/messages";
        for (const header of ["Deprecation", "Sunset", "Link"]) {
          const said = headers[header];
          const what = `${name} ${status} ${header}`;
          if (!isDeprecated || ["413", "415", "431"].includes(status)) {
            expect(said, what).to.equal(undefined);
          } else if (["400", "408"].includes(status)) expect(said?.required, what).to.equal(false);
          else expect(said?.$ref, what).to.equal(`#/components/headers/${header}`);
        }
      }
    }
  });

  it("names every error code of the contract for the sends", () => {
    const send = operations.find(({ name }) => name === "POST /v1/sms/messages");
    const text = JSON.stringify(send?.operation);
    for (const code of [
      "unauthenticated",
      "insufficient_balance",
      "ip_not_allowed",
      "insufficient_scope",
      "email_not_verified",
      "tenant_suspended",
      "conflict",
      "idempotency_key_reused",
      "payload_too_large",
      "unsupported_media_type",
      "validation_error",
      "sender_id_not_approved",
      "rate_limited",
      "internal_error",
      "service_unavailable",
    ]) {
      expect(text).to.contain(`"code":"${code}"`);
    }
  });
});
