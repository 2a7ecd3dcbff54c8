/**
 * The TypeScript client outside Node: in a browser on a page of another origin, and in Deno and Bun where the machine
 * has them. The gateway is real; messaging is in memory.
 */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { signingKey, signWebhook } from "../../../services/shared/core/webhook-signature.ts";
import { collectOutput } from "../../support/child-output.ts";
import { CHROMIUM, NO_CHROMIUM } from "../../support/chromium.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";
import { skipSince } from "../../support/skip.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const CLIENT = join(ROOT, "clients/typescript/src/client.ts");
const SECRET = "whsec_of-this-test";
const EVENT = JSON.stringify({ id: "evt_1", type: "webhook.test", data: {} });

/** A program that calls the client and keeps the results in `seen`; `client` is the module's address. */
const program = (client: string, baseUrl: string) => `
  const { createSmsClient, isSmsError, verifyWebhook } = await import(${JSON.stringify(client)});
  const baseUrl = ${JSON.stringify(baseUrl)};
  const sms = createSmsClient({ apiKey: ${JSON.stringify(API_KEY)}, baseUrl });
  const seen = {};
  const message = await sms.messages.send({ to: "+2348031234567", from: "Acme", body: "Hi" });
  seen.status = message.status;
  const unknown = createSmsClient({ apiKey: "sk_live_" + "x".repeat(43), baseUrl });
  try {
    await unknown.messages.get("msg_01M7ZT1N7Y5V51BPMMDFK33YKG");
  } catch (error) {
    seen.code = isSmsError(error) && error.code;
    seen.requestId = error.requestId;
  }
  const event = await verifyWebhook({
    body: ${JSON.stringify(EVENT)},
    signature: ${JSON.stringify(signWebhook([signingKey(SECRET)], Math.floor(Date.now() / 1000), EVENT))},
    secret: ${JSON.stringify(SECRET)},
  });
  seen.event = event.type;
`;

const WANTED = { status: "queued", code: "unauthenticated", event: "webhook.test" } as const;

function expectWorks(seen: { readonly requestId?: string }): void {
  expect(seen).to.include(WANTED);
  expect(seen.requestId).to.match(/^req_/);
}

describe("the TypeScript client", function () {
  this.timeout(120_000);

  describe("on a page in Chromium", () => {
    let pages: Server;
    let browser: Browser | undefined;
    let app: RestApp | undefined;
    let origin: string;

    before(async function () {
      if (CHROMIUM === undefined) return skipSince(this, NO_CHROMIUM);
      const { outputFiles } = await build({
        ...{ entryPoints: [CLIENT], bundle: true, format: "esm", platform: "browser" },
        write: false,
      });
      pages = createServer((request, response) => {
        const isScript = request.url === "/client.js";
        response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
        response.end(isScript ? outputFiles[0]?.text : "<!doctype html><title>A page</title>");
      });
      await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
      origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
      browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    });
    after(async () => {
      await browser?.close();
      pages?.close();
    });
    afterEach(async () => app?.close());

    async function runOnPage(corsOrigins: readonly string[]) {
      app = await openRestApp({ corsOrigins });
      const page = await (browser as Browser).newPage();
      await page.goto(origin);
      const code = `(async () => { ${program(`${origin}/client.js`, app.url)} return seen; })()`;
      return page.evaluate(code) as Promise<object>;
    }

    it("sends, has its errors and verifies webhooks, where the gateway allows the page's origin", async () => {
      expectWorks(await runOnPage([origin]));
    });

    it("is blocked by the browser where the gateway does not allow the origin, as by default", async () => {
      const failed = await runOnPage([]).then(
        () => "",
        (error: Error) => error.message,
      );
      expect(failed).to.match(/connection_failed|NoResponse|no response/i);
    });
  });

  for (const [name, words] of [
    ["deno", ["run", "--allow-net", "--allow-read"]],
    ["bun", ["run"]],
  ] as const) {
    it(`works in ${name}`, async function () {
      const { error } = spawnSync(name, ["--version"]);
      if (error !== undefined)
        return skipSince(this, `there is no ${name} (npm install -g ${name})`);
      const app = await openRestApp();
      try {
        const file = join(temporaryFolder("runtime"), "program.mjs");
        writeFileSync(file, `${program(CLIENT, app.url)}\nconsole.log(JSON.stringify(seen));\n`);
        const child = spawn(name, [...words, file]);
        const { seen, ended } = collectOutput(child);
        expect(await ended, seen.err).to.equal(0);
        expectWorks(JSON.parse(seen.out));
      } finally {
        await app.close();
      }
    });
  }
});
