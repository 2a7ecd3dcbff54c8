import { expect } from "chai";
import {
  functionsOf,
  importsOf,
  repositoryFiles,
  type SourceFile,
} from "./support/source-files.ts";

/**
 * The house rules that a machine can hold. A rule's exceptions are named here, each with its
 * reason; the list may only shrink, and an exception that is not needed any more fails the test.
 */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  // How often each does: what must not happen has no end to wait for, and some are about how long a thing takes.
  "tests wait for what happens, and not for a time": [
    "test/contract/gateway/body-budget.test.ts 4",
    "test/contract/gateway/drain-request.test.ts 2",
    "test/contract/gateway/pause-refused-sockets.test.ts 2",
    "test/contract/gateway/hostile-input.test.ts 1",
    "test/contract/gateway/overload.test.ts 1",
    "test/integration/carrier/replicas.test.ts 3",
    "test/integration/messaging/reroute.test.ts 1",
    "test/integration/messaging/idempotency.test.ts 1",
    "test/integration/rpc/connections.test.ts 1",
    "test/integration/smpp/session.test.ts 1",
    "test/integration/webhook/attempt-before-store.test.ts 1",
    "test/integration/webhook/health.test.ts 1",
    "test/unit/flow/batcher.test.ts 2",
    "test/unit/gateway/replica-count.test.ts 1",
    "test/unit/gateway/run-once.test.ts 1",
    "test/unit/gateway/send-batcher.test.ts 2",
    "test/unit/gateway/response-budget.test.ts 1",
    "test/unit/messaging/metrics.test.ts 1",
  ],
};

/** The ways to let a time pass. */
const SLEEP = /await (sleep|delay|pause|setTimeout)\(|await new Promise.*=> (void )?setTimeout\(/g;

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
/** The formatter holds code to 100; words in comments and messages may run on a little. */
const LINE_COLUMNS_MAX = 120;

const files = repositoryFiles();
const sources = files.filter(
  ({ path }) => /\.m?[tj]s$/.test(path) && !path.startsWith("proto/gen/"),
);
const has = (path: string) =>
  files.some((file) => file.path === path || file.path.startsWith(`${path}/`));

describe("the house rules", () => {
  rule("a file has at most 400 lines", () =>
    sources
      .filter(({ text }) => text.split("\n").length - 1 > FILE_LINES_MAX)
      .map(({ path }) => path),
  );

  rule("a function has at most 70 lines", () =>
    sources.flatMap(({ path, text }) =>
      functionsOf(text)
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ line, lines }) => `${path}:${line} (${lines})`),
    ),
  );

  rule("a line has at most 120 columns", () =>
    linesWith(
      sources.filter(({ path }) => !path.startsWith("test/vectors/")),
      (line) => [...line].length > LINE_COLUMNS_MAX && !/https?:\/\//.test(line),
    ),
  );

  rule("files and folders are named in kebab-case", () =>
    sources.map(({ path }) => path).filter((path) => !/^[a-z0-9./-]+$/.test(path)),
  );

  rule("no file or folder is called utils, helpers or misc", () =>
    files
      .map(({ path }) => path)
      .filter((path) => /(^|\/)(utils?|helpers?|misc)(\/|\.|$)/.test(path)),
  );

  rule("no barrels: no index file, no re-export of everything", () => [
    ...sources.map(({ path }) => path).filter((path) => /(^|\/)index\.[mt]?[tj]s$/.test(path)),
    ...linesWith(sources, (line) => /^export \*/.test(line)),
  ]);

  rule("no default exports", () => linesWith(sources, (line) => /^export default\b/.test(line)));

  rule("no enums and no namespaces: types are stripped, not compiled", () =>
    linesWith(sources, (line) => /^(export )?(declare )?(const )?(enum|namespace) \w/.test(line)),
  );

  rule("no test is left alone or left out", () =>
    linesWith(
      sources.filter(({ path }) => path.startsWith("test/")),
      (line) => /\b(describe|it|context)\.(only|skip)\(|\bx(it|describe)\(/.test(line),
    ),
  );

  rule("console is for command lines; services write log lines", () =>
    linesWith(
      sources.filter(
        ({ path }) => /^(services|gateway)\//.test(path) && !path.includes("/smsctl/"),
      ),
      (line) => /\bconsole\.\w+\(/.test(line),
    ),
  );

  rule("tests wait for what happens, and not for a time", () =>
    sources
      .filter(({ path }) => /^test\/(unit|contract|integration|e2e)\//.test(path))
      .map(({ path, text }) => ({ path, sleeps: text.match(SLEEP)?.length ?? 0 }))
      .filter(({ sleeps }) => sleeps > 0)
      .map(({ path, sleeps }) => `${path} ${sleeps}`),
  );

  rule("no file names a machine's paths or a package registry's host", () => {
    // Written in two halves, so that this file does not name them either.
    const paths = ["wo rk", "ro ot", "tmp/br ief"].map((half) => half.replace(" ", "")).join("|");
    const hosts = ["registry.npm js", "pythonhos ted", "pypi .org/simple", "proxy.go lang"];
    const names = hosts.map((half) => half.replace(" ", "").replaceAll(".", "\\.")).join("|");
    const forbidden = new RegExp(`(^|[\\s"'\`(=:])/(${paths})(/|\\b)|${names}`);
    return linesWith(files, (line) => forbidden.test(line));
  });
});

describe("the packages", () => {
  rule("the lock file holds no download addresses", () =>
    linesWith(
      files.filter(({ path }) => path === "package-lock.json"),
      (line) => /"resolved": "http/.test(line),
    ),
  );

  rule("the lock file knows the packages of every platform, as npm ci asks", () => {
    const text = files.find(({ path }) => path === "package-lock.json")?.text ?? "{}";
    const { packages = {} } = JSON.parse(text) as { packages?: Record<string, LockedPackage> };
    return Object.values(packages)
      .flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))
      .filter((name) => packages[`node_modules/${name}`] === undefined);
  });

  rule("every dependency is pinned to an exact version", () => {
    const text = files.find(({ path }) => path === "package.json")?.text ?? "{}";
    const { dependencies = {}, devDependencies = {} } = JSON.parse(text) as Manifest;
    return Object.entries({ ...dependencies, ...devDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `${name} ${version}`);
  });
});

describe("the arrows", () => {
  rule("services do not import each other", () => [
    ...new Set(
      arrows((from, to) => {
        const [a, b] = [serviceOf(from), serviceOf(to)];
        return a !== undefined && b !== undefined && a !== b && b !== "shared";
      }).map((arrow) => foldersOf(arrow)),
    ),
  ]);

  rule("shared imports no service, and only main and the migration know them all", () =>
    arrows(
      (from, to) =>
        serviceOf(to) !== undefined &&
        serviceOf(to) !== "shared" &&
        (serviceOf(from) === "shared" ||
          (/^services\/[\w-]+\.ts$/.test(from) && !/^services\/(main|migrate)\.ts$/.test(from))),
    ),
  );

  rule("nothing outside test imports test, and only deploy and test import deploy", () =>
    arrows(
      (from, to) =>
        (to.startsWith("test/") && !from.startsWith("test/")) ||
        (to.startsWith("deploy/") && !/^(deploy|test|helm)\//.test(from)),
    ),
  );

  rule("shared/core is pure: it imports nothing of shared/io or shared/rpc", () =>
    arrows(
      (from, to) =>
        from.startsWith("services/shared/core/") && /^services\/shared\/(io|rpc)\//.test(to),
    ),
  );

  rule("a domain imports itself, shared/core, and packages that only compute", () =>
    arrows((from, to) => {
      const home = /^services\/[\w-]+\/domain\//.exec(from)?.[0];
      if (home === undefined || to.startsWith(home)) return false;
      return !/^services\/shared\/(core|routes|smpp)\//.test(to) && !PURE_PACKAGES.includes(to);
    }),
  );

  rule("within a service: domain ← app ← store, adapters ← start", () =>
    arrows((from, to) => {
      if (serviceOf(from) === undefined || serviceOf(from) !== serviceOf(to)) return false;
      const [a, b] = [roomOf(from), roomOf(to)];
      if (a === undefined || b === undefined || a === b) return false;
      return (RANKS[b] ?? 0) >= (RANKS[a] ?? 0);
    }),
  );

  rule("a service decides and its store saves: no driver in the domain or the use cases", () =>
    arrows(
      (from, to) =>
        ["domain", "app"].includes(roomOf(from) ?? "") &&
        /^(mongodb|nats|ioredis|koa|@grpc\/grpc-js|pino)$/.test(to),
    ),
  );
});

describe("the threat model", () => {
  const text = files.find(({ path }) => path === "docs/security.md")?.text ?? "";
  const testsIn = (line: string) => line.match(/test\/[\w./-]+\.test\.ts/g) ?? [];

  rule("every test that it names exists", () => testsIn(text).filter((path) => !has(path)));

  rule("every threat has a test that proves its defence", () => {
    const threats = text.split("\n").filter((line) => /^\| [STRIDE] \|/.test(line));
    if (threats.length < 20) return ["fewer than 20 threats were found"];
    return threats.filter((line) => testsIn(line).length === 0);
  });
});

describe("the rooms", () => {
  const SERVICES = ["tenant", "sender-id", "wallet", "routing", "messaging", "carrier", "webhook"];
  const ROOMS = ["README.md", "domain", "app", "store", "adapters", "config", "start", "migrate"];

  rule("every service has the same rooms", () =>
    SERVICES.filter((service) => has(`services/${service}`)).flatMap((service) =>
      ROOMS.map((room) => `services/${service}/${room}`).filter(
        (path) => !has(path) && !has(`${path}.ts`),
      ),
    ),
  );
});

type LockedPackage = { readonly optionalDependencies?: Record<string, string> };

/** Hashing and address arithmetic do no IO; ids and the time still come as arguments. */
const PURE_PACKAGES = ["node:crypto", "ipaddr.js"];

type Manifest = {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
};

/** Lower ranks know nothing of higher ones; rooms of one rank do not know each other. */
const RANKS: Readonly<Record<string, number>> = {
  domain: 0,
  app: 1,
  store: 2,
  adapters: 2,
  start: 3,
};

/** The room a file of a service belongs to: `store.ts`, `store-documents.ts` and `store/x.ts` are all store. */
function roomOf(path: string): string | undefined {
  return /^services\/[\w-]+\/(domain|app|store|adapters|start)[-./]/.exec(path)?.[1];
}

function serviceOf(path: string): string | undefined {
  return path.startsWith("gateway/") ? "gateway" : /^services\/([\w-]+)\//.exec(path)?.[1];
}

/** Every import `from → to` that breaks a rule. */
function arrows(breaks: (from: string, to: string) => boolean): string[] {
  return sources.flatMap((file) =>
    importsOf(file)
      .filter((to) => breaks(file.path, to))
      .map((to) => `${file.path} → ${to}`),
  );
}

function foldersOf(arrow: string): string {
  const folder = (path: string) => path.slice(0, path.lastIndexOf("/"));
  const [from = "", to = ""] = arrow.split(" → ");
  return `services/${serviceOf(from)} → ${folder(to)}`;
}

function linesWith(among: readonly SourceFile[], isWrong: (line: string) => boolean): string[] {
  return among.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, at) => (isWrong(line) ? [`${path}:${at + 1}`] : [])),
  );
}

/** A test that lists every breach of a rule, less the exceptions, all of which must be needed. */
function rule(name: string, breaches: () => string[]): void {
  it(name, () => {
    const allowed = EXCEPTIONS[name] ?? [];
    const found = breaches();
    expect(found.filter((breach) => !allowed.includes(breach))).to.deep.equal([]);
    expect(
      allowed.filter((breach) => !found.includes(breach)),
      "not needed",
    ).to.deep.equal([]);
  });
}
