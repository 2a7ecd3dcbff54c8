import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect } from "chai";
import { exists, files, linesWith, markdown, rule, sources } from "../support/house-rules.ts";
import { functionsOf } from "../support/source-files.ts";

/** The ways to let time pass in a test. */
const SLEEP = /await (sleep|delay|pause|setTimeout)\(|await new Promise.*=> (void )?setTimeout\(/g;

/**
 * Files with the number of their sleeps. Each proves that something does not happen, or measures how long
 * something takes, so it has no event to wait for.
 */
const SLEEPS = [
  "test/contract/gateway/body-budget.test.ts 4",
  "test/contract/gateway/drain-request.test.ts 1",
  "test/contract/gateway/hostile-input.test.ts 1",
  "test/contract/gateway/overload.test.ts 1",
  "test/integration/carrier/replicas.slow.test.ts 3",
  "test/integration/messaging/reroute.test.ts 1",
  "test/integration/messaging/idempotency.test.ts 1",
  "test/integration/rpc/connections.slow.test.ts 1",
  "test/integration/smpp/session.test.ts 1",
  "test/unit/flow/backoff.test.ts 1",
  "test/unit/flow/batcher.test.ts 2",
  "test/unit/gateway/replica-count.test.ts 1",
  "test/unit/gateway/run-locked.test.ts 1",
  "test/unit/messaging/metrics.test.ts 1",
];

/** Makers of folders that the helper cannot make. */
const FOLDERS = [
  // The helper itself.
  "test/support/temporary-folder.ts 1",
  // One for each mocha process, inside the folder of the run.
  "test/support/run-tests.ts 1",
  // The files of the image, on the disk of the checkout: hard links to them.
  "test/chart/assembled-image.ts 1",
];

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const MARKUP_LINES_MAX = 100;
/** The formatter keeps code within 100 columns; comments and messages may be a little longer. */
const LINE_COLUMNS_MAX = 120;

describe("the lock file", () => {
  it("has a checksum for every package, so that npm installs no other content", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { integrity?: string; link?: boolean }>;
    };
    const without = Object.entries(packages).flatMap(([path, { integrity, link = false }]) =>
      path === "" || link || integrity !== undefined ? [] : [path],
    );
    expect(without).to.deep.equal([]);
  });
});

describe("source files", () => {
  rule("a file has at most 400 lines", () =>
    sources
      .filter(({ text }) => text.split("\n").length - 1 > FILE_LINES_MAX)
      .map(({ path }) => path),
  );

  rule("a function has at most 70 lines, and with its markup 100", () =>
    sources.flatMap(({ path, text }) =>
      functionsOf(text)
        .filter(
          ({ lines }) => lines > (path.endsWith(".tsx") ? MARKUP_LINES_MAX : FUNCTION_LINES_MAX),
        )
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

  rule(
    "tests poll for an event and do not sleep",
    () =>
      sources
        .filter(({ path }) => /^test\/(unit|contract|integration|e2e)\//.test(path))
        .map(({ path, text }) => ({ path, sleeps: text.match(SLEEP)?.length ?? 0 }))
        .filter(({ sleeps }) => sleeps > 0)
        .map(({ path, sleeps }) => `${path} ${sleeps}`),
    SLEEPS,
  );

  rule(
    "tests make temporary folders by temporaryFolder, which removes them",
    () =>
      sources
        .filter(({ path }) => path.startsWith("test/"))
        .map(({ path, text }) => ({ path, made: text.match(/\bmkdtemp\w*\(/g)?.length ?? 0 }))
        .filter(({ made }) => made > 0)
        .map(({ path, made }) => `${path} ${made}`),
    FOLDERS,
  );

  rule("Markdown is wrapped at 120 columns, except tables, links and code", () =>
    markdown.flatMap(({ path, text }) => {
      let isCode = false;
      return text.split("\n").flatMap((line, at) => {
        if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
        const isFree = isCode || /^\s*\|/.test(line) || /https?:\/\/\S{40}|\]\([^)]{40}/.test(line);
        return !isFree && [...line].length > LINE_COLUMNS_MAX ? [`${path}:${at + 1}`] : [];
      });
    }),
  );

  rule("the architecture fits on one page of 150 lines", () => {
    const page = markdown.find(({ path }) => path === "docs/architecture.md")?.text ?? "";
    const lines = page.split("\n").length - 1;
    return lines > 0 && lines <= 150 ? [] : [`docs/architecture.md: ${lines} lines`];
  });

  rule("diagrams have no semicolon, which Mermaid reads as the end of a line", () =>
    markdown.flatMap(({ path, text }) => {
      const diagrams = text.match(/^```mermaid$[\s\S]*?^```$/gm) ?? [];
      return diagrams
        .flatMap((diagram) => diagram.match(/^.*;.*$/gm) ?? [])
        .map((line) => `${path}:${line}`);
    }),
  );

  rule("every file that documentation names exists", () =>
    markdown
      .filter(({ path, text }) => !/CHANGELOG/.test(path) && !/^Status: superseded/m.test(text))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/`(?:\.\.?\/)*([\w./-]+\/[\w.-]+\.(?:ts|mjs|tpl|proto))`/g)]
          .map(([, name = ""]) => name)
          .filter((name) => !files.some((file) => `/${file.path}`.endsWith(`/${name}`)))
          .map((name) => `${path}: ${name}`),
      ),
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

  rule("what make up runs and builds imports no package for development", () => {
    const { dependencies, optionalDependencies } = manifest();
    const installed = { ...dependencies, ...optionalDependencies };
    return sources
      .filter(({ path }) => /^(services|gateway|console|deploy\/dev|clients\/cli)\//.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(PACKAGE_IMPORT)]
          .map(([, first, second]) => first ?? second ?? "")
          .filter((name) => !name.startsWith("node:"))
          .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"))
          .filter((name) => installed[name] === undefined)
          .map((name) => `${path}: ${name}`),
      );
  });

  rule("every dependency is pinned to an exact version", () => {
    const { dependencies, optionalDependencies, devDependencies } = manifest();
    return Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `${name} ${version}`);
  });
});

describe("links between documents", () => {
  // The gateway makes pages of its guides; test/unit/gateway/documentation.test.ts checks their links.
  const documents = markdown.filter(({ path }) => !path.startsWith("gateway/docs/"));
  const headings = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));

  rule("each leads to a file, and to a heading where it names one", () =>
    documents.flatMap(({ path, text }) =>
      [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
        if (/^(\w+:|\/)/.test(link)) return [];
        const [to = "", anchor = ""] = link.split("#");
        const target = to === "" ? path : normalize(join(dirname(path), to)).replace(/\/$/, "");
        const isThere = existsSync(target) && (anchor === "" || headings.get(target)?.has(anchor));
        return isThere ? [] : [`${path} → ${link}`];
      }),
    ),
  );
});

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const titles = [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title);
  return new Set(
    titles.map((title) =>
      title
        .toLowerCase()
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "");
}

describe("the threat model", () => {
  const text = files.find(({ path }) => path === "docs/security.md")?.text ?? "";
  const testsIn = (line: string) => line.match(/test\/[\w./-]+\.test\.ts/g) ?? [];

  rule("every test that it names exists", () => testsIn(text).filter((path) => !exists(path)));

  rule("every threat has a test that proves its defence", () => {
    const threats = text.split("\n").filter((line) => /^\| [STRIDE] \|/.test(line));
    if (threats.length < 20) return ["fewer than 20 threats were found"];
    return threats.filter((line) => testsIn(line).length === 0);
  });
});

/** An import of a package that is there when the program runs, so not of types alone. */
const PACKAGE_IMPORT =
  /^(?:import|export) (?!type\b)(?:[^;"]*? from )?"([^."/][^"]*)"|\bimport\("([^."/][^"]*)"\)/gm;

function manifest(): Manifest {
  const text = files.find(({ path }) => path === "package.json")?.text ?? "{}";
  return JSON.parse(text) as Manifest;
}

type LockedPackage = { readonly optionalDependencies?: Record<string, string> };

type Manifest = {
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
};
