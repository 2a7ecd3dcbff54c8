import { arrows, exists, rule, sources } from "../support/house-rules.ts";
import { importsOf } from "../support/source-files.ts";

const SERVICES = [
  "tenant",
  "sender-id",
  "wallet",
  "routing",
  "messaging",
  "carrier",
  "webhook",
  "campaign",
  "consent",
];
const ROOMS = ["README.md", "domain", "app", "store", "adapters", "config", "start", "migrate"];

/**
 * Every room of the house. A source file that no pattern matches is in no room. Where `rank` is given, a file
 * imports files of its own service only from rooms of a lower rank, or from its own room.
 */
const PLACES: readonly { readonly pattern: RegExp; readonly rank?: number }[] = [
  { pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/domain\/[\w-]+\.ts$/, rank: 0 },
  { pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/app\/[\w-]+\.ts$/, rank: 1 },
  { pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/store\/[\w-]+\.ts$/, rank: 2 },
  {
    pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/adapters\/([\w-]+\/)?[\w-]+\.ts$/,
    rank: 2,
  },
  { pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/(config|metrics)\.ts$/ },
  {
    pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/(start|migrate)\.ts$/,
    rank: 4,
  },
  { pattern: /^services\/(?!shared\/|smsctl\/)[\w-]+\/create-[\w-]+\.ts$/, rank: 3 },
  { pattern: /^services\/shared\/(core|flow|io|rpc|cli|routes|smpp|vendor|web)\/[\w.-]+\.ts$/ },
  { pattern: /^services\/shared\/(caller-methods|process|service-addresses)\.ts$/ },
  { pattern: /^services\/(main|migrate)\.ts$|^services\/strip-types-cache\.mjs$/ },
  { pattern: /^services\/smsctl\/(main\.ts|smsctl\.mjs)$/ },
  { pattern: /^services\/smsctl\/(actions|calls|check|cli|commands)\/[\w-]+\.ts$/ },
  { pattern: /^gateway\/(app|config|start)\.ts$/ },
  {
    pattern: /^gateway\/(http|json|load-shedding|auth|rate-limit|idempotency|console)\/[\w-]+\.ts$/,
  },
  { pattern: /^gateway\/(lists|schemas|render)\/[\w-]+\.ts$/ },
  { pattern: /^gateway\/operations\/((campaigns|messages|sends|webhooks)\/)?[\w-]+\.ts$/ },
  { pattern: /^gateway\/docs\/((content|examples|site|webhook-verification)\/)?[\w-]+\.ts$/ },
  // Scripts of the pages, which browsers run.
  { pattern: /^gateway\/docs\/assets\/[\w-]+\.js$/ },
  {
    pattern:
      /^console\/(build\.ts|main\.tsx|(operators\/)?(main\.tsx|(api|core|parts|pages)\/[\w-]+\.tsx?))$/,
  },
  {
    pattern:
      /^deploy\/((dev|chart|backup)\/)?[\w-]+\.m?ts$|^deploy\/dev\/(install|interrupted)\.mjs$/,
  },
  { pattern: /^clients\/cli\/(main\.ts|sms\.mjs)$/ },
  { pattern: /^clients\/cli\/(actions|calls|cli|commands|send)\/[\w-]+\.ts$/ },
  { pattern: /^clients\/generate\/[\w-]+\.ts$/ },
  { pattern: /^clients\/typescript\/src\/(resources\/)?[\w-]+\.ts$/ },
  { pattern: /^test\/(unit|contract|integration|e2e)\/[\w-]+\/[\w.-]+\.test\.ts$/ },
  { pattern: /^test\/(chaos|load|fuzz|chart|clients|support)\/([\w-]+\/)?[\w.-]+\.ts$/ },
  { pattern: /^test\/tidy\/[\w-]+\.test\.ts$/ },
];

/** Parts of shared that decide or schedule and do no input or output. */
const PURE_SHARED = /^services\/shared\/(core|routes|smpp)\//;
/** Hashing and address arithmetic do no input or output; ids and the time are arguments. */
const PURE_PACKAGES = ["node:crypto", "ipaddr.js"];

describe("the rooms", () => {
  rule("every source file is in a room", () =>
    sources
      .map(({ path }) => path)
      .filter((path) => !PLACES.some(({ pattern }) => pattern.test(path))),
  );

  rule("every service has the same rooms", () =>
    SERVICES.flatMap((service) =>
      ROOMS.map((room) => `services/${service}/${room}`).filter(
        (path) => !exists(path) && !exists(`${path}.ts`),
      ),
    ),
  );
});

describe("the arrows", () => {
  rule("services do not import each other", () =>
    arrows((from, to) => {
      const [a, b] = [serviceOf(from), serviceOf(to)];
      return a !== undefined && b !== undefined && a !== b && b !== "shared";
    }),
  );

  rule("shared imports no service, and only main and migrate know them all", () =>
    arrows(
      (from, to) =>
        serviceOf(to) !== undefined &&
        serviceOf(to) !== "shared" &&
        (serviceOf(from) === "shared" ||
          (/^services\/[\w-]+\.ts$/.test(from) && !/^services\/(main|migrate)\.ts$/.test(from))),
    ),
  );

  rule("nothing outside test imports test, and only tools and tests import deploy", () =>
    arrows(
      (from, to) =>
        (to.startsWith("test/") && !from.startsWith("test/")) ||
        (to.startsWith("deploy/") && !/^(deploy|test|helm|clients\/generate)\//.test(from)),
    ),
  );

  rule("shared/core and shared/flow import nothing of shared/io or shared/rpc", () =>
    arrows(
      (from, to) =>
        /^services\/shared\/(core|flow)\//.test(from) && /^services\/shared\/(io|rpc)\//.test(to),
    ),
  );

  rule("a domain imports itself, the pure parts of shared, and packages that only compute", () =>
    arrows((from, to) => {
      const home = /^services\/[\w-]+\/domain\//.exec(from)?.[0];
      if (home === undefined || to.startsWith(home)) return false;
      return !PURE_SHARED.test(to) && !PURE_PACKAGES.includes(to);
    }),
  );

  rule("use cases import no driver, no shared/io and no shared/rpc", () =>
    arrows(
      (from, to) =>
        /^services\/(?!shared\/|smsctl\/)[\w-]+\/app\//.test(from) &&
        (/^services\/shared\/(io|rpc|vendor)\//.test(to) ||
          /^(mongodb|nats|ioredis|koa|@grpc\/grpc-js|pino)$/.test(to)),
    ),
  );

  rule("within a service: domain ← app ← store, adapters ← start", () =>
    arrows((from, to) => {
      if (serviceOf(from) === undefined || serviceOf(from) !== serviceOf(to)) return false;
      const [a, b] = [rankOf(from), rankOf(to)];
      if (a === undefined || b === undefined || roomOf(from) === roomOf(to)) return false;
      return b >= a;
    }),
  );

  rule(
    "the client that customers install imports nothing outside itself, no package included",
    () =>
      arrows(
        (from, to) =>
          from.startsWith("clients/typescript/") && !to.startsWith("clients/typescript/src/"),
      ),
  );

  rule("no file imports itself through other files, not even for a type", circles);
});

function rankOf(path: string): number | undefined {
  return PLACES.find(({ pattern }) => pattern.test(path))?.rank;
}

function roomOf(path: string): string | undefined {
  return /^services\/[\w-]+\/([\w-]+)/.exec(path)?.[1];
}

function serviceOf(path: string): string | undefined {
  return path.startsWith("gateway/") ? "gateway" : /^services\/([\w-]+)\//.exec(path)?.[1];
}

/** One circle of imports for each file that closes one, found by a depth-first walk. */
function circles(): string[] {
  const importsByPath = new Map(sources.map((file) => [file.path, importsOf(file)]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path].join(" → "));
    if (at >= 0 || done.has(path)) return;
    for (const next of importsByPath.get(path) ?? []) {
      if (importsByPath.has(next)) walk(next, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of importsByPath.keys()) walk(path, []);
  return found;
}
