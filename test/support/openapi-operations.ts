/** The operations of the published OpenAPI document, for tests that run over all of them. */

/** One parameter with its schema. */
export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: {
    readonly type?: string;
    readonly enum?: readonly string[];
    readonly items?: { readonly enum?: readonly string[]; readonly $ref?: string };
  };
};

/** One operation. */
export type OpenApiOperation = {
  readonly id: string;
  readonly method: string;
  /** With `{name}` for parameters. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** An example of its body, when it takes one. */
  readonly example: unknown;
};

type Described = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: object }>>;
  };
};

type NamedSchema = Parameter["schema"] & { readonly examples?: readonly unknown[] };

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, NamedSchema>> };
};

/** Lists them in the order of the document, with the choices of a list in its parameter. */
export function operationsOf(document: Document): OpenApiOperation[] {
  const withItems = (parameter: Parameter): Parameter => {
    const name = parameter.schema.items?.$ref?.split("/").at(-1);
    const items = name === undefined ? undefined : document.components.schemas[name];
    return items === undefined
      ? parameter
      : { ...parameter, schema: { ...parameter.schema, items } };
  };
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      parameters: (described.parameters ?? []).map(withItems),
      example: exampleOf(document, described),
    })),
  );
}

/** Fills in the parameters of the path; throws for a parameter that is missing in `values`. */
export function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value is known for the path parameter ${name}`);
    return value;
  });
}

/** The example of a body, which is in its schema. */
function exampleOf({ components }: Document, { requestBody }: Described): unknown {
  const schema = JSON.stringify(requestBody?.content["application/json"]?.schema ?? {});
  const [name = ""] = schema.match(/(?<=#\/components\/schemas\/)\w+/) ?? [];
  return components.schemas[name]?.examples?.[0];
}
