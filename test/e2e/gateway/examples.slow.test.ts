/** Runs each worked example of the documentation against the real service. */
import { execFile, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { openFaultyProxy } from "../../support/faulty-proxy.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";
import { skipSince } from "../../support/skip.ts";

const FOLDER = join(ROOT, "gateway/docs/examples");

/** The command of each language, and a probe for its toolchain. */
const LANGUAGES = [
  { extension: "sh", command: "sh", probe: ["curl", "--version"] },
  { extension: "ts", command: process.execPath, probe: [process.execPath, "--version"] },
  { extension: "py", command: "python3", probe: ["python3", "--version"] },
  { extension: "go", command: "go", first: ["run"], probe: ["go", "version"] },
  { extension: "php", command: "php", probe: ["php", "-r", "exit(extension_loaded('curl')?0:1);"] },
  { extension: "java", command: "java", probe: ["java", "-version"] },
] as const;

const PROGRAMS = ["send", "retry-safely", "page-messages"] as const;

describe("the worked examples", function () {
  this.timeout(180_000);
  let rest: RestStack;
  let customer: Customer;
  let numbers = 0;

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    customer = await rest.addCustomer();
  });

  it("exist for every program in every language", () => {
    const files = readdirSync(FOLDER);
    for (const program of PROGRAMS) {
      for (const { extension } of LANGUAGES) expect(files).to.include(`${program}.${extension}`);
    }
  });

  for (const language of LANGUAGES) {
    describe(language.extension, () => {
      const [tool, ...words] = language.probe;
      before(function () {
        // Skip a language that is not installed.
        const { status } = spawnSync(tool, words, { stdio: "ignore" });
        if (status !== 0) skipSince(this, `there is no ${tool}`);
      });
      const run = (program: string, settings: Record<string, string>) =>
        new Promise<string>((resolve, reject) => {
          const first = "first" in language ? language.first : [];
          const file = join(FOLDER, `${program}.${language.extension}`);
          const env = {
            ...process.env,
            BASE_URL: rest.stack.gateway,
            API_KEY: customer.apiKey,
            SENDER_ID: "Acme",
            ...settings,
          };
          execFile(language.command, [...first, file], { env }, (error, stdout, stderr) =>
            error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stderr}`)),
          );
        });
      const newNumber = () => {
        numbers += 1;
        return `+2348035${String(numbers).padStart(6, "0")}`;
      };
      const messagesTo = async (to: string) => {
        const { body } = await customer.call("GET", `/v1/messages?${new URLSearchParams({ to })}`);
        return body.data.map(({ id }: { id: string }) => id);
      };

      it("sends one message", async () => {
        const TO = newNumber();
        const output = await run("send", { TO });
        const [id] = await messagesTo(TO);
        expect(output.trim()).to.equal(`${id} queued`);
      });

      it("retries safely: after a 503 and a lost response there is one message", async () => {
        const proxy = await openFaultyProxy(rest.stack.gateway);
        try {
          const TO = newNumber();
          const settings = { BASE_URL: proxy.url, TO, IDEMPOTENCY_KEY: `example-${numbers}` };
          const output = await run("retry-safely", settings);
          const ids = await messagesTo(TO);
          expect(ids).to.have.length(1);
          expect(output.trim()).to.equal(`${ids[0]} queued`);
          expect(proxy.keys).to.deep.equal(Array(3).fill(`example-${numbers}`));
        } finally {
          proxy.close();
        }
      });

      it("pages through messages", async () => {
        const reader = await rest.addCustomer();
        const CREATED_AFTER = new Date(Date.now() - 60_000).toISOString();
        const sent: string[] = [];
        for (let at = 0; at < 5; at += 1) {
          const body = { to: "08031234567", from: "Acme", body: `Message ${at}` };
          sent.push((await reader.call("POST", "/v1/sms/messages", { body })).body.data.id);
        }
        const CREATED_BEFORE = new Date(Date.now() + 1000).toISOString();
        const settings = { API_KEY: reader.apiKey, CREATED_AFTER, CREATED_BEFORE, LIMIT: "2" };
        const output = await run("page-messages", settings);
        expect(output.trim().split("\n")).to.deep.equal(sent.reverse());
      });
    });
  }
});
