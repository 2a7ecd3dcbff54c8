/** The OpenAPI document as the pages read it. */
export type Schema = { readonly [keyword: string]: unknown };

export type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
};

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;

type ApiResponse = { readonly description: string; readonly content?: Content };

type Reference = { readonly $ref: string };

export type ApiOperation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ApiResponse | Reference>>;
  readonly "x-required-scope": string;
};

export type ApiDocument = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
  };
};

/** An operation with its place. */
export type PlacedOperation = ApiOperation & {
  readonly method: string;
  readonly path: string;
  readonly scope: string;
};

/** Every operation, in the order of the document. */
export function operationsOf({ paths }: ApiDocument): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, value]) => {
      const operation = value as ApiOperation;
      const scope = operation["x-required-scope"];
      return { ...operation, method: method.toUpperCase(), path, scope };
    }),
  );
}

/** The name of a component. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** The responses of an operation by status, those of the components too. */
export function responsesOf(
  { components }: ApiDocument,
  { responses }: ApiOperation,
): (readonly [string, ApiResponse])[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const found = "$ref" in response ? components.responses[nameIn(response.$ref)] : response;
    return found === undefined ? [] : [[status, found] as const];
  });
}

/** The first example of a body, which its schema has. */
export function exampleOf({ components }: ApiDocument, schema: Schema): unknown {
  const [reference = ""] = JSON.stringify(schema).match(/(?<="\$ref":")[^"]+/) ?? [];
  const { examples } = components.schemas[nameIn(reference)] ?? {};
  return Array.isArray(examples) ? examples[0] : undefined;
}
