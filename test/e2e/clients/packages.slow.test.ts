/** The clients as packages: what a customer installs is complete, typed, and made from the document. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { TYPESCRIPT_TYPES } from "../../../clients/generate/files.ts";
import {
  installTypescriptTool,
  typescriptTypes,
} from "../../../clients/generate/typescript-types.ts";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { pythonWith } from "../../support/python-venv.ts";
import { skipSince } from "../../support/skip.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const run = promisify(execFile);
const TYPESCRIPT = join(ROOT, "clients/typescript");

/** Compiles only if the package brings its types: the comparison of a code narrows the union. */
const CONSUMER = `
import { createSmsClient, isSmsError, type SmsError, verifyWebhook } from "sms-messaging-client";

const sms = createSmsClient({ apiKey: "sk_test_x", baseUrl: "http://127.0.0.1:9", maxRetries: 0 });
function amountOf(error: SmsError): string {
  // @ts-expect-error: only this code has amounts.
  error.requiredAmount;
  return error.code === "insufficient_balance" ? error.requiredAmount : "";
}
try {
  const { id, status } = await sms.messages.send({ to: "1", from: "Acme", body: "Hi" });
  console.log(id.length, status === "queued");
  for await (const { to } of sms.messages.list({ limit: 1 })) console.log(to.length);
} catch (error) {
  if (isSmsError(error)) console.log(error.code, amountOf(error), sms.mode);
}
// @ts-expect-error: there is no such member.
void sms.messages.send({ to: "1", from: "Acme", body: "Hi", sendAt: "" }).catch(() => {});
console.log(typeof verifyWebhook);
`;

describe("the packages of the clients", function () {
  this.timeout(240_000);
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder("packages");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** Installs the compiler and the generator of the TypeScript client. */
  function needTool(test: Mocha.Context): void {
    try {
      installTypescriptTool();
    } catch {
      skipSince(test, "npm cannot install the tools of clients/typescript");
    }
  }

  it("openapi-typescript makes the same types from the document: make clients", function () {
    needTool(this);
    const current = readFileSync(join(ROOT, TYPESCRIPT_TYPES), "utf8");
    expect(current === typescriptTypes(), "run make clients").to.equal(true);
  });

  it("the TypeScript package builds, has types, and runs without Node's modules", async function () {
    needTool(this);
    await run("npm", ["pack", "--pack-destination", folder], { cwd: TYPESCRIPT });
    const target = join(folder, "node_modules/sms-messaging-client");
    mkdirSync(target, { recursive: true });
    const [archive = ""] = (await run("sh", ["-c", "ls *.tgz"], { cwd: folder })).stdout.split(
      "\n",
    );
    await run("tar", ["xf", archive, "--strip-components=1", "-C", target], { cwd: folder });
    const { stdout: imports } = await run("sh", ["-c", "cat dist/*.js dist/*/*.js"], {
      cwd: target,
      maxBuffer: 10_000_000,
    });
    expect(imports).to.not.match(/from "(?!\.)/);

    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "consumer.ts"), CONSUMER);
    const strict = ["--strict", "--target", "es2022", "--module", "nodenext"];
    const compiler = join(TYPESCRIPT, "node_modules/typescript/bin/tsc");
    await run(process.execPath, [compiler, ...strict, "--lib", "es2023,dom", "consumer.ts"], {
      cwd: folder,
    }).catch((error: { stdout: string }) => expect.fail(error.stdout));
    const { stdout } = await run(process.execPath, ["consumer.js"], { cwd: folder });
    expect(stdout.split("\n")).to.deep.equal(["connection_failed  test", "function", ""]);
  });

  it("the Python package builds and installs with its types", async function () {
    const python = await pythonWith(this, "python-package", [
      "setuptools==84.0.0",
      "urllib3==2.8.0",
    ]);
    // A build writes beside its sources.
    cpSync(join(ROOT, "clients/python"), join(folder, "source"), { recursive: true });
    const options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"];
    const target = join(folder, "installed");
    const install = [
      "-m",
      "pip",
      "install",
      ...options,
      "--target",
      target,
      join(folder, "source"),
    ];
    await run(python, install);
    const program =
      "import importlib.metadata as m, importlib.resources as r, sms_messaging as s\n" +
      'print(m.version("sms-messaging-client"), (r.files(s) / "py.typed").is_file(), s.SmsClient)';
    const env = { ...process.env, PYTHONPATH: target };
    const { stdout } = await run(python, ["-c", program], { env });
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(stdout.trim()).to.equal(`${version} True <class 'sms_messaging.client.SmsClient'>`);
  });
});
