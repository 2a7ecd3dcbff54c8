/** The worked gRPC clients against the real service, with a token and with mutual TLS. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { serveMessagingOverTls } from "../../support/messaging-over-tls.ts";
import { pythonWith } from "../../support/python-venv.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";
import { skipSince } from "../../support/skip.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const run = promisify(execFile);
const CLIENTS = join(ROOT, "clients/grpc");
const BUILT = join(ROOT, ".local/clients");

type Language = {
  readonly name: "Go" | "Python";
  /** Builds it; skips the tests on a machine without its tools. */
  readonly build: (test: Mocha.Context) => Promise<void>;
  readonly command: () => readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** How each language spells the statuses. */
  readonly statuses: readonly [string, string, string];
};

let python = "";

const LANGUAGES: readonly Language[] = [
  {
    name: "Go",
    async build(test) {
      if (spawnSync("go", ["version"]).error !== undefined) skipSince(test, "there is no go");
      const cwd = join(CLIENTS, "go");
      const modules = await run("go", ["mod", "download"], { cwd }).catch((error: Error) => error);
      if (modules instanceof Error) skipSince(test, `go has no modules: ${modules.message}`);
      await run(join(ROOT, "node_modules/.bin/buf"), ["generate"], { cwd });
      await run("go", ["vet", "./..."], { cwd });
      await run("go", ["build", "-o", join(BUILT, "grpc-go"), "."], { cwd });
    },
    command: () => [join(BUILT, "grpc-go")],
    statuses: ["FailedPrecondition", "InvalidArgument", "DeadlineExceeded"],
  },
  {
    name: "Python",
    async build(test) {
      const packages = readFileSync(join(CLIENTS, "python/requirements.txt"), "utf8");
      python = await pythonWith(test, "grpc", packages.trim().split("\n"));
      const target = join(BUILT, "grpc-python");
      if (!existsSync(target)) mkdirSync(target, { recursive: true });
      const files = (await run("sh", ["-c", "ls sms/v1/*.proto"], { cwd: join(ROOT, "proto") }))
        .stdout;
      const out = [`--python_out=${target}`, `--grpc_python_out=${target}`];
      const args = ["-m", "grpc_tools.protoc", "-I", ".", ...out, ...files.trim().split("\n")];
      await run(python, args, { cwd: join(ROOT, "proto") });
    },
    command: () => [python, join(CLIENTS, "python/send.py")],
    env: { PYTHONPATH: join(BUILT, "grpc-python"), PYTHONDONTWRITEBYTECODE: "1" },
    statuses: ["FAILED_PRECONDITION", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"],
  },
];

describe("the worked gRPC clients", function () {
  this.timeout(240_000);
  let rest: RestStack;
  let customer: Customer;

  before(async () => {
    rest = await sharedRestStack();
    customer = await rest.addCustomer();
  });

  for (const { name, build, command, env = {}, statuses } of LANGUAGES) {
    describe(name, () => {
      before(async function () {
        await build(this);
      });

      async function runClient(key: string, to: string, settings: Record<string, string>) {
        const [program, ...args] = command();
        const { stdout } = await run(program, args, {
          env: {
            ...process.env,
            ...env,
            SMS_TENANT: customer.tenantId,
            SMS_FROM: "Acme",
            SMS_TO: to,
            SMS_KEY: key,
            SMS_MODE: "live",
            ...settings,
          },
        });
        return stdout.trim().split("\n");
      }

      /** One message, its replay, and the three refusals. */
      async function expectOutput(lines: readonly string[], to: string): Promise<void> {
        const query = new URLSearchParams({ to });
        const { body } = await customer.call("GET", `/v1/messages?${query}`);
        const ids = body.data.map(({ id }: { id: string }) => id);
        expect(ids).to.have.length(1);
        const [reused, wrong, late] = statuses;
        expect(lines).to.deep.equal([
          `sent ${ids[0]} false`,
          `sent ${ids[0]} true`,
          `refused ${reused} idempotency_key_reused`,
          `refused ${wrong} validation_error to=invalid_recipient`,
          `refused ${late}`,
        ]);
      }

      it("sends once under a key with a token, and sees each refusal with its code", async () => {
        const to = name === "Go" ? "+2348038000001" : "+2348038000002";
        const lines = await runClient(`billing-${name}-token`, to, {
          SMS_GRPC_ADDRESS: rest.stack.grpc.messaging ?? "",
          SMS_GRPC_TOKEN: rest.stack.grpc_token,
        });
        await expectOutput(lines, to);
      });

      it("does the same with a client certificate in place of the token", async () => {
        const to = name === "Go" ? "+2348038000003" : "+2348038000004";
        const tls = await serveMessagingOverTls(rest.messaging);
        try {
          const settings = { SMS_GRPC_ADDRESS: tls.address, ...tls.settings };
          await expectOutput(await runClient(`billing-${name}-tls`, to, settings), to);
        } finally {
          await tls.close();
        }
      });

      it("is refused without a token, with a reason that no customer sees", async () => {
        const settings = { SMS_GRPC_ADDRESS: rest.stack.grpc.messaging ?? "" };
        const failure = await runClient("no-token", "+2348038000005", settings).catch(
          (error: { stderr: string }) => error.stderr,
        );
        expect(failure).to.match(/A valid service token is required/);
      });
    });
  }

  describe("the programs of the guide", () => {
    let folder: string;

    before(() => {
      folder = temporaryFolder("grpc-guide");
    });

    /** The code blocks of a section, in order. The sender is the customer's. */
    async function blocksOf(section: string): Promise<string[]> {
      const url = `${rest.stack.gateway}/docs/guides/grpc.md`;
      const [, text = ""] = (await (await fetch(url)).text()).split(`\n## ${section}\n`);
      const [own = ""] = text.split("\n## ");
      const blocks = [...own.matchAll(/^```\w+\n([\s\S]*?)^```/gm)];
      return blocks.map(([, block = ""]) => block.replaceAll('"DEMO"', '"Acme"'));
    }
    /** Types commands into a shell in the folder. */
    const type = (commands: string) =>
      run("sh", ["-euc", commands], {
        cwd: folder,
        env: {
          ...process.env,
          CHECKOUT: ROOT,
          SMS_GRPC_ADDRESS: rest.stack.grpc.messaging ?? "",
          SMS_GRPC_TOKEN: rest.stack.grpc_token,
          SMS_TENANT: customer.tenantId,
        },
      });

    it("Go: a module of the reader's own sends one message in two runs", async function () {
      if (spawnSync("go", ["version"]).error !== undefined) skipSince(this, "there is no go");
      const [where, modules = "", config = "", program = "", commands = ""] = await blocksOf("Go");
      expect(where, "the folder is another here").to.match(/^export CHECKOUT=/);
      const got = await type(modules).catch((error: Error) => error);
      if (got instanceof Error) skipSince(this, `go has no modules: ${got.message}`);
      writeFileSync(join(folder, "buf.gen.yaml"), config);
      writeFileSync(join(folder, "main.go"), program);
      const { stdout } = await type(commands);
      const [id] = /msg_\w+/.exec(stdout) ?? [];
      expect(stdout).to.equal(`${id} replayed: false\n${id} replayed: true\n`);
    });

    it("Python: the program sends one message in two runs", async function () {
      const [install = "", program = "", command = ""] = await blocksOf("Python");
      const got = await type(install).catch((error: Error) => error);
      if (got instanceof Error) skipSince(this, `pip has no grpcio: ${got.message}`);
      writeFileSync(join(folder, "send.py"), program);
      const { stdout } = await type(`${command}\n${command}`);
      const [id] = /msg_\w+/.exec(stdout) ?? [];
      expect(stdout).to.equal(`${id} replayed: False\n${id} replayed: True\n`);
    });

    it("have the versions of the worked clients", async () => {
      const read = (path: string) => readFileSync(join(CLIENTS, path), "utf8");
      const go = [...(await blocksOf("Go")).join("").matchAll(/(\S+)@(v[\d.]+)$/gm)];
      expect(go).to.have.length(3);
      const module = read("go/go.mod");
      for (const [, path = "", version = ""] of go) {
        const known = path.replace(/\/cmd\/protoc-gen-go$/, "");
        expect(module, path).to.contain(`${known} ${version}`);
      }
      const pip = (await blocksOf("Python")).join("").match(/grpcio\S*==[\d.]+/g) ?? [];
      expect(pip).to.have.length(2);
      expect(read("python/requirements.txt").split("\n")).to.include.members(pip);
    });
  });
});
