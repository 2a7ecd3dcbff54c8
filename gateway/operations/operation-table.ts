import Router from "@koa/router";
import { AppError } from "../../services/shared/core/errors.ts";
import { nearestWord } from "../schemas/nearest-word.ts";
import type { Method, Operation } from "./operation.ts";

/** A matched path: its operations by method, and the values of its parameters. */
export type PathMatch = {
  readonly path: string;
  readonly methods: ReadonlyMap<Method, Operation>;
  readonly params: Readonly<Record<string, string>>;
};

/** Finds the operations of a path; `undefined` when no operation has it. */
export type OperationTable = {
  match(path: string): PathMatch | undefined;
  /** The path without parameters that was probably meant. */
  nearest(path: string): string | undefined;
};

type PathEntry = { readonly path: string; readonly methods: Map<Method, Operation> };
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Compiles operations into a table. Paths are compared as sent: case and a trailing slash matter. Paths without
 * parameters are in a map; the router matches the few that have some.
 */
export function compileOperations(operations: readonly Operation[]): OperationTable {
  const exact = new Map<string, PathMatch>();
  const patterns = new Map<string, PathEntry>();
  const router = new Router({ strict: true, sensitive: true });
  for (const [path, methods] of groupByPath(operations)) {
    if (!path.includes(":")) {
      exact.set(path, { path, methods, params: NO_PARAMS });
      continue;
    }
    patterns.set(path, { path, methods });
    router.register(path, [...methods.keys()], () => undefined);
  }

  const shown = operations.flatMap(({ path, isRemoved }) =>
    isRemoved === true || path.includes(":") ? [] : path,
  );
  return {
    nearest: (path) => nearestWord(path, shown) ?? nearestWord(`/v1${path}`, shown),
    match(path) {
      const found = exact.get(path);
      if (found !== undefined) return found;
      const [layer] = router.match(path, "GET").path;
      const pattern = layer === undefined ? undefined : patterns.get(String(layer.path));
      if (layer === undefined || pattern === undefined) return undefined;
      return { ...pattern, params: layer.params(path, layer.captures(path)) };
    },
  };
}

/** The operation of a method; GET also serves HEAD (RFC 9110 section 9.3.2). */
export function operationFor(match: PathMatch | undefined, method: string): Operation | undefined {
  return match?.methods.get((method === "HEAD" ? "GET" : method) as Method);
}

/** The value of `Allow` for a path (RFC 9110 section 10.2.1). */
export function allowedMethods({ methods }: PathMatch): string {
  const shown = [...methods.values()].filter(({ isRemoved }) => isRemoved !== true);
  const names: string[] = shown.map(({ method }) => method);
  if (names.includes("GET")) names.push("HEAD");
  return [...names, "OPTIONS"].join(", ");
}

/** The error for a method that a path does not take; `allow` is the value of its header `Allow`. */
export function methodNotAllowed(method: string, allow: string): AppError {
  const taken = allow.split(", ").filter((one) => one !== "OPTIONS" && one !== "HEAD");
  const text = `This path does not take ${method}. It takes ${taken.join(", ")}.`;
  return new AppError("method_not_allowed", text);
}

function groupByPath(operations: readonly Operation[]): Map<string, Map<Method, Operation>> {
  const groups = new Map<string, Map<Method, Operation>>();
  for (const operation of operations) {
    const methods = groups.get(operation.path) ?? new Map<Method, Operation>();
    if (methods.has(operation.method)) {
      throw new Error(`${operation.method} ${operation.path} is served twice`);
    }
    groups.set(operation.path, methods.set(operation.method, operation));
  }
  return groups;
}
