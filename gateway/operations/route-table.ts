import Router from "@koa/router";
import type { Endpoint, Method } from "./operation.ts";

/** What a path stands for: its endpoints by method, and the values of its parameters. */
export type RouteMatch = {
  readonly path: string;
  readonly methods: ReadonlyMap<Method, Endpoint>;
  readonly params: Readonly<Record<string, string>>;
};

/** Finds a path's endpoints; `undefined` when no endpoint has the path. */
export type RouteTable = { match(path: string): RouteMatch | undefined };

type Route = { readonly path: string; readonly methods: Map<Method, Endpoint> };
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Compiles endpoints into a table. Paths are compared as they are sent: case and a last slash
 * count. A path without parameters is one look-up; the router knows the few that have some.
 */
export function compileRoutes(endpoints: readonly Endpoint[]): RouteTable {
  const exact = new Map<string, RouteMatch>();
  const patterns = new Map<string, Route>();
  const router = new Router({ strict: true, sensitive: true });
  for (const [path, methods] of groupByPath(endpoints)) {
    if (!path.includes(":")) {
      exact.set(path, { path, methods, params: NO_PARAMS });
      continue;
    }
    patterns.set(path, { path, methods });
    router.register(path, [...methods.keys()], () => undefined);
  }

  return {
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

/** The endpoint that serves a method: HEAD is served by GET (RFC 9110 section 9.3.2). */
export function endpointFor(match: RouteMatch | undefined, method: string): Endpoint | undefined {
  return match?.methods.get((method === "HEAD" ? "GET" : method) as Method);
}

/** The value of `Allow` for a path (RFC 9110 section 10.2.1). */
export function allowedMethods({ methods }: RouteMatch): string {
  const shown = [...methods.values()].filter(({ isRemoved }) => isRemoved !== true);
  const names: string[] = shown.map(({ method }) => method);
  if (names.includes("GET")) names.push("HEAD");
  return [...names, "OPTIONS"].join(", ");
}

function groupByPath(endpoints: readonly Endpoint[]): Map<string, Map<Method, Endpoint>> {
  const groups = new Map<string, Map<Method, Endpoint>>();
  for (const endpoint of endpoints) {
    const methods = groups.get(endpoint.path) ?? new Map<Method, Endpoint>();
    if (methods.has(endpoint.method)) {
      throw new Error(`${endpoint.method} ${endpoint.path} is served twice`);
    }
    groups.set(endpoint.path, methods.set(endpoint.method, endpoint));
  }
  return groups;
}
