import type { Endpoint, Method } from "./endpoint.ts";

/** What a path stands for: its endpoints by method, and the values of its parameters. */
export type RouteMatch = {
  readonly path: string;
  readonly methods: ReadonlyMap<Method, Endpoint>;
  readonly params: Readonly<Record<string, string>>;
};

/** Finds a path's endpoints; `undefined` when no endpoint has the path. */
export type RouteTable = { match(path: string): RouteMatch | undefined };

type Route = { readonly path: string; readonly methods: Map<Method, Endpoint> };
type Pattern = Route & { readonly segments: readonly string[] };

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Compiles endpoints into a table. Paths are compared as they are sent: case and a last slash
 * count. A path without parameters is one look-up; the few with parameters are tried by their
 * number of segments.
 */
export function compileRoutes(endpoints: readonly Endpoint[]): RouteTable {
  const exact = new Map<string, RouteMatch>();
  const patterns = new Map<number, Pattern[]>();
  for (const [path, methods] of groupByPath(endpoints)) {
    if (!path.includes(":")) {
      exact.set(path, { path, methods, params: NO_PARAMS });
      continue;
    }
    const segments = path.split("/");
    const sameLength = patterns.get(segments.length) ?? [];
    patterns.set(segments.length, [...sameLength, { path, methods, segments }]);
  }

  return {
    match(path) {
      const found = exact.get(path);
      if (found !== undefined) return found;
      const parts = path.split("/");
      for (const pattern of patterns.get(parts.length) ?? []) {
        const params = matchSegments(pattern.segments, parts);
        if (params !== undefined) return { path: pattern.path, methods: pattern.methods, params };
      }
      return undefined;
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

function matchSegments(
  segments: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (let at = 0; at < segments.length; at++) {
    const segment = segments[at] as string;
    const part = parts[at] as string;
    if (segment.startsWith(":")) {
      if (part === "") return undefined;
      params[segment.slice(1)] = decode(part);
    } else if (segment !== part) return undefined;
  }
  return params;
}

/** What cannot be decoded stays as it is: as an identifier it is unknown either way. */
function decode(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
