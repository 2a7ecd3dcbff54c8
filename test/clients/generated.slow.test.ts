/**
 * Clients that strangers' generators make of our OpenAPI document, used against a running stack. A generator may not
 * warn, its client must compile, and each error must come as its own type. The programs in `programs/` do the same
 * in each language and print the same.
 */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { expect } from "chai";
import { openRestStack, type RestStack } from "../support/rest.ts";
import { skipSince } from "../support/skip.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startFuture } from "./future.ts";
import { installed } from "./install.ts";
import { run } from "./run.ts";

/** The environment of each program. */
const SEEN = {
  single: "scheduled",
  bulk: ["queued", "rejected invalid_recipient"],
  list: true,
  history: "scheduled",
  cancelled: "cancelled",
  unauthenticated: "401 unauthenticated",
  insufficientBalance: "402 insufficient_balance 3.0000 of 4.0000 NGN",
  conflict: "409 idempotency_key_reused",
  invalid: "422 validation_error to invalid_recipient",
  rateLimited: "429 rate_limited 1",
  future: "carrier_pigeon rcs gsm8",
  futureList: "carrier_pigeon",
  futureCode: "401 key_expired",
};

/** openapi-generator says this of every document of version 3.1. */
const OF_EVERY_DOCUMENT = "OpenAPI 3.1 support is still in beta";
/** The C# generator looks up a model for the name of each query parameter; it makes none for `time_zone`. */
const OF_TIME_ZONE = "TimeZone (reserved word) cannot be used as model name";

const PROGRAMS = new URL("programs/", import.meta.url);

describe("Clients made by generators", function () {
  this.timeout(300_000);
  let rest: RestStack;
  let future: Awaited<ReturnType<typeof startFuture>>;
  let dir: string;
  let document: string;

  before(async () => {
    rest = await openRestStack();
    future = await startFuture(rest.stack.gateway);
    dir = temporaryFolder("clients");
    document = join(dir, "openapi.json");
    writeFileSync(document, (await rest.call("GET", "/openapi.json")).text);
  });
  after(async () => {
    await future?.close();
    await rest?.close();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  /** A folder for one client, with its program. */
  function folder(name: string, ...files: readonly string[]): string {
    const made = join(dir, name);
    mkdirSync(made);
    for (const file of files) cpSync(new URL(file, PROGRAMS), join(made, file));
    return made;
  }

  /** The settings of a program: its own customers, so that one client's messages are not in another's list. */
  async function settings() {
    const [customer, poor, limited] = await Promise.all([
      rest.addCustomer(),
      rest.addCustomer({ funds: 30_000n }),
      rest.addCustomer({ rateLimit: 1, burst: 1 }),
    ]);
    return {
      BASE_URL: rest.stack.gateway,
      FUTURE_URL: future.url,
      API_KEY: customer.apiKey,
      POOR_KEY: poor.apiKey,
      LIMITED_KEY: limited.apiKey,
      WRONG_KEY: `sk_live_${"A".repeat(43)}`,
    };
  }

  /** The folder of a kind of generators; skips the test where they are not to be had. */
  async function generatorsOf(test: Mocha.Context, kind: Parameters<typeof installed>[0]) {
    const found = await installed(kind);
    return "dir" in found ? found.dir : skipSince(test, found.missing);
  }

  it("redocly finds nothing to say about the document", async function () {
    const npm = await generatorsOf(this, "npm");
    const config = join(folder("redocly"), "redocly.yaml");
    writeFileSync(config, "extends: [recommended-strict]\n");
    const lint = join(npm, "node_modules/@redocly/cli/bin/cli.js");
    const args = [lint, "lint", "--config", config, "--format=json", document];
    const { stdout } = await run(process.execPath, args, { env: { REDOCLY_TELEMETRY: "off" } });
    expect(JSON.parse(stdout).totals).to.deep.equal({ errors: 0, warnings: 0, ignored: 0 });
  });

  it("Go: oapi-codegen", async function () {
    const bin = await generatorsOf(this, "go");
    const at = folder("go", "client.go", "go.mod", "go.sum");
    mkdirSync(join(at, "sms"));
    const options = ["-package", "sms", "-generate", "types,client", "-o", "sms/sms.go"];
    const made = await run(join(bin, "oapi-codegen"), [...options, document], { cwd: at });
    expect(made.stdout + made.stderr).to.equal("");
    const types = readFileSync(join(at, "sms/sms.go"), "utf8").matchAll(/^type (\w+) /gm);
    expectNames([...types].map(([, name = ""]) => name));
    await run("go", ["build", "-mod=readonly", "-o", "client", "."], { cwd: at });
    const { stdout } = await run(join(at, "client"), [], { env: await settings() });
    expect(JSON.parse(stdout)).to.deep.equal(SEEN);
  });

  it("Python: openapi-python-client", async function () {
    const venv = await generatorsOf(this, "python");
    const at = folder("python", "client.py");
    const path = `${join(venv, "bin")}${delimiter}${process.env.PATH}`;
    const args = ["generate", "--path", document, "--output-path", "sms_client", "--meta", "none"];
    const made = await run(
      join(venv, "bin/openapi-python-client"),
      [...args, "--fail-on-warning"],
      { cwd: at, env: { PATH: path } },
    );
    expect(made.stdout + made.stderr).to.not.match(/warn|error/i);
    expectNames(readdirSync(join(at, "sms_client/models")).map((name) => name.replace(".py", "")));
    await run(join(venv, "bin/python"), ["-W", "error", "-m", "compileall", "-q", "."], {
      cwd: at,
    });
    const program = ["-W", "error", "client.py"];
    const env = await settings();
    const { stdout } = await run(join(venv, "bin/python"), program, { cwd: at, env });
    expect(JSON.parse(stdout)).to.deep.equal(SEEN);
  });

  it("TypeScript: openapi-typescript with openapi-fetch", async function () {
    const npm = await generatorsOf(this, "npm");
    const at = folder("typescript", "client.ts");
    cpSync(join(npm, "node_modules"), join(at, "node_modules"), { recursive: true });
    writeFileSync(join(at, "package.json"), '{"type": "module"}');
    const generator = join(npm, "node_modules/openapi-typescript/bin/cli.js");
    const args = [generator, document, "--output", "sms.d.ts"];
    const made = await run(process.execPath, args, { cwd: at });
    expect(made.stdout + made.stderr).to.not.match(/warn|error/i);
    const strict = ["--strict", "--noEmit", "--module", "nodenext", "--target", "esnext"];
    const types = ["--types", "node", "--typeRoots", join(process.cwd(), "node_modules/@types")];
    const check = [...strict, ...types, "--allowImportingTsExtensions", "client.ts"];
    await run(join(process.cwd(), "node_modules/.bin/tsc"), check, { cwd: at });
    const env = await settings();
    const { stdout } = await run(process.execPath, ["client.ts"], { cwd: at, env });
    expect(JSON.parse(stdout)).to.deep.equal(SEEN);
  });

  it("TypeScript: @hey-api/openapi-ts", async function () {
    const npm = await generatorsOf(this, "npm");
    const at = folder("hey-api");
    const generator = join(npm, "node_modules/@hey-api/openapi-ts/bin/run.js");
    const made = await run(process.execPath, [generator, "-i", document, "-o", "sms"], { cwd: at });
    expect(made.stdout + made.stderr).to.not.match(/warn|error/i);
    const text = readFileSync(join(at, "sms/types.gen.ts"), "utf8");
    expectNames([...text.matchAll(/^export type (\w+) /gm)].map(([, name = ""]) => name));
    expect(text).to.match(/402: InsufficientBalanceProblem;/);
    const module = ["--module", "esnext", "--moduleResolution", "bundler", "--target", "esnext"];
    const check = ["--strict", "--noEmit", ...module, "--lib", "esnext,dom,dom.iterable"];
    const types = ["--types", "node", "--typeRoots", join(process.cwd(), "node_modules/@types")];
    await run(join(process.cwd(), "node_modules/.bin/tsc"), [...check, ...types, "sms/index.ts"], {
      cwd: at,
    });
  });

  /** Runs openapi-generator; it may say nothing but what it says of every document. */
  async function openApiGenerator(
    jars: string,
    generator: string,
    library: string,
    at: string,
    properties: readonly string[] = [],
  ) {
    const jar = ["-jar", join(jars, "openapi-generator-cli.jar"), "generate"];
    const more = properties.map((property) => `--additional-properties=${property}`);
    const options = ["-i", document, "-g", generator, "--library", library, "-o", at, ...more];
    const { stdout, stderr } = await run("java", [...jar, ...options]);
    const said = `${stdout}${stderr}`.split("\n").filter((line) => / (WARN|ERROR) /.test(line));
    const known = [OF_EVERY_DOCUMENT, OF_TIME_ZONE];
    const news = said.filter((line) => !known.some((one) => line.includes(one)));
    expect(news).to.deep.equal([]);
  }

  it("Java: openapi-generator", async function () {
    const jars = await generatorsOf(this, "maven");
    const at = folder("java", "client.java");
    await openApiGenerator(jars, "java", "native", join(at, "made"));
    const models = join(at, "made/src/main/java/org/openapitools/client/model");
    expectNames(readdirSync(models).map((name) => name.replace(".java", "")));
    // The libraries that the client asks for do not change with the document.
    const libraries = join(jars, "libraries");
    if (!existsSync(libraries)) {
      const copy = ["-q", "-B", "-f", "made/pom.xml", "dependency:copy-dependencies"];
      const scope = ["-DincludeScope=compile", `-DoutputDirectory=${join(at, "jars")}`];
      await run("mvn", [...copy, ...scope], { cwd: at });
      cpSync(join(at, "jars"), libraries, { recursive: true });
    }
    const path = join(libraries, "*");
    const classes = ["-proc:none", "-nowarn", "-cp", path, "-d", "classes"];
    const sources = ["-sourcepath", "made/src/main/java", "client.java"];
    await run("javac", [...classes, ...sources], { cwd: at });
    const env = await settings();
    const args = ["-cp", `classes${delimiter}${path}`, "Client"];
    const { stdout } = await run("java", args, { cwd: at, env });
    expect(JSON.parse(stdout)).to.deep.equal(SEEN);
  });

  it("C#: openapi-generator, without a warning", async function () {
    const jars = await generatorsOf(this, "maven");
    await openApiGenerator(jars, "csharp", "httpclient", join(folder("csharp"), "made"));
  });

  it("C#: the client compiles and sees each error", async function () {
    const jars = await generatorsOf(this, "maven");
    const tools = await generatorsOf(this, "csharp");
    const at = folder("dotnet", "client.cs", "compile.py");
    // Without supportsRetry it needs no library for retries, which only NuGet has.
    const properties = ["targetFramework=net8.0,supportsRetry=false"];
    await openApiGenerator(jars, "csharp", "httpclient", join(at, "made"), properties);
    const sources = globSync(join(at, "made/src/Org.OpenAPITools/**/*.cs"));
    expect(sources).to.have.length.above(100);
    // The machine may have no data of languages.
    const invariant = { DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1" };
    const program = join(at, "client.dll");
    const libraries = join(tools, "package/dist/generator");
    const made = await run(
      join(tools, "bin/python"),
      ["compile.py", program, libraries, "client.cs", ...sources],
      { cwd: at, env: invariant },
    );
    expect(made.stderr).to.equal("");
    const dotnet = made.stdout.trim().split("\n").at(-1) ?? "";
    const env = { ...(await settings()), ...invariant };
    const { stdout } = await run(dotnet, [program], { cwd: at, env });
    expect(JSON.parse(stdout)).to.deep.equal(SEEN);
  });
});

/** No type has a name that a generator made up: a number at its end, or a word of its place in the document. */
function expectNames(names: readonly string[]): void {
  expect(names.length).to.be.greaterThan(80);
  const numbered = names.filter((name) =>
    /(?<!200|202|201)\d$|inline|AllOf|AnyOf|OneOf/i.test(name),
  );
  expect(numbered).to.deep.equal([]);
}
