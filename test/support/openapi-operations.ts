/** The operations of the published OpenAPI document, for tests that run over all of them. */

/** One parameter with its schema. */
export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: {
    readonly type?: string;
    readonly enum?: readonly string[];
    readonly items?: { readonly enum?: readonly string[] };
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
  readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> };
};

/** Lists them in the order of the document. */
export function operationsOf(document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}): OpenApiOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      parameters: described.parameters ?? [],
      example: described.requestBody?.content["application/json"]?.example,
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
