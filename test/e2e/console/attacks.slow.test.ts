/**
 * Attacks on people who use the console, in Chromium on a whole stack: forged requests and frames of another origin of
 * the same site, planted sessions, texts that are code, addresses that lead away, and secrets in addresses.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import type { Browser, BrowserContext } from "playwright-core";
import { ensureCertificates } from "../../../deploy/dev/certificates.ts";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import { freePortRange } from "../../../deploy/dev/ports.ts";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import {
  BROWSER_SETTINGS,
  CONSOLE_API,
  openConsoleBrowser,
  portalToken,
} from "../../support/console-browser.ts";
import { openChromium, openWatchedPage } from "../../support/console-pages.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";
import { answer, type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

/** Each would change the title of the page if it ran. */
const HOSTILE = `<img src=x onerror="document.title='stolen'"><script>document.title='stolen'</script>`;

describe("attacks on the console", function () {
  this.timeout(120_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  let browser: Browser;
  let receiver: Receiver;
  let evil: Server;
  let origin: string;
  let evilPage = "";
  let evilOrigin: string;

  before(async function () {
    browser = await openChromium(this);
    const port = await freePortRange(1);
    rest = await openRestStack(
      { ...BROWSER_SETTINGS, WEBHOOK_ALLOWED_PORTS: String(port) },
      { processes: ONE_PROCESS },
    );
    receiver = await startReceiver(ensureCertificates(layoutOf(rest.stack.dir).tlsDir), port);
    customer = await rest.addCustomer();
    origin = rest.stack.gateway.replace("127.0.0.1", "localhost");
    evil = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(evilPage);
    });
    await new Promise<void>((resolve) => evil.listen(0, "127.0.0.1", resolve));
    // The same site as the console, so that SameSite alone protects nothing: sites have no ports.
    evilOrigin = `http://localhost:${(evil.address() as AddressInfo).port}`;
  });
  after(async () => {
    await browser?.close();
    evil?.close();
    await receiver?.close();
    await rest?.close();
  });

  async function signIn(context: BrowserContext, role = Role.OWNER) {
    const token = await portalToken(rest, customer, role);
    const opened = await openWatchedPage(context, origin);
    await opened.page.goto(`${origin}/console/sign-in#${token}`);
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
    return { ...opened, token };
  }

  const countMessages = async () => (await customer.call("GET", "/v1/messages")).body.data.length;

  it("another origin of the same site cannot act with a person's session", async () => {
    const context = await browser.newContext();
    await signIn(context);
    const before = await countMessages();
    const send = { to: "08031234567", from: customer.sender, body: "Forged" };
    evilPage = `<form method=post enctype=text/plain action="${origin}/v1/sms/messages">
      <input name='${JSON.stringify({ ...send, client_reference: "" }).slice(0, -2)}' value='"}'></form>`;
    const page = await context.newPage();
    const statuses: number[] = [];
    page.on("response", (response) => {
      if (response.url().startsWith(origin)) statuses.push(response.status());
    });
    await page.goto(evilOrigin);
    await page.evaluate("document.forms[0].submit()");
    await eventually(() => statuses.length > 0);
    // The answer has come, and its page is still loading: a step back before that would be interrupted.
    await page.waitForURL(`${origin}/**`);
    await page.goto(evilOrigin);
    // Requests that need no preflight, with headers that a page may set, and ones that need it.
    const answers = await page.evaluate(
      async ([target, api, body]) => {
        const tries: RequestInit[] = [
          { method: "POST", body, mode: "no-cors" },
          { method: "POST", body, headers: { "content-type": "text/plain" } },
          { method: "POST", body, headers: { "content-type": "application/json" } },
          { method: "POST", body, headers: { "sms-console": "1" } },
        ];
        const results: string[] = [];
        for (const path of ["/v1/sms/messages", `${api}/people`, `${api}/session/tenant`]) {
          for (const one of tries) {
            const answer = await fetch(target + path, { ...one, credentials: "include" })
              .then(({ type, status }) => `${type} ${status}`)
              .catch(() => "failed");
            results.push(answer);
          }
        }
        for (const path of ["/v1/balance", `${api}/session`]) {
          const read = await fetch(target + path, { credentials: "include" })
            .then((response) => response.text())
            .catch(() => "failed");
          results.push(read);
        }
        return results;
      },
      [origin, CONSOLE_API, JSON.stringify(send)] as const,
    );
    for (const one of answers) expect(one).to.be.oneOf(["failed", "opaque 0"]);
    expect(await countMessages(), "nothing was sent").to.equal(before);
    for (const status of statuses) expect(status).to.be.oneOf([204, 403, 404, 405, 415]);
    expect(statuses).to.include(403);
    await context.close();
  });

  it("no page of the console opens in a frame", async () => {
    const context = await browser.newContext();
    await signIn(context);
    const paths = ["/console", "/console/sign-in", "/console/send", "/console/nowhere"];
    evilPage = paths.map((path) => `<iframe src="${origin}${path}"></iframe>`).join("");
    const page = await context.newPage();
    await page.goto(evilOrigin, { waitUntil: "networkidle" });
    const frames = page.frames().filter((frame) => frame !== page.mainFrame());
    expect(frames).to.have.length(paths.length);
    for (const frame of frames) expect(await frame.locator("#app").count()).to.equal(0);
    for (const path of paths) {
      const { headers } = await fetch(`${origin}${path}`);
      expect(headers.get("x-content-type-options"), path).to.equal("nosniff");
      expect(headers.get("x-frame-options"), path).to.equal("DENY");
      expect(headers.get("content-security-policy")).to.contain("frame-ancestors 'none'");
    }
    await context.close();
  });

  it("a session cookie set by an attacker before the sign-in is replaced by a new session", async () => {
    const { gateway } = rest.stack;
    const open = async (cookie: string) => {
      const one = openConsoleBrowser(gateway);
      one.cookie = cookie;
      const token = await portalToken(rest, customer, Role.OWNER);
      const opened = await one.call("POST", `${CONSOLE_API}/session`, { body: { token } });
      expect(opened.status, opened.text).to.equal(201);
      return one.cookie;
    };
    const read = async (cookie: string) => {
      const one = openConsoleBrowser(gateway);
      one.cookie = cookie;
      return (await one.call("GET", `${CONSOLE_API}/session`)).status;
    };
    // One that never existed, and one of the attacker's own.
    const made = `__Host-sms_session=ses_${"A".repeat(43)}`;
    const attackers = await open("");
    for (const planted of [made, attackers]) {
      const victims = await open(planted);
      expect(victims)
        .to.match(/^__Host-sms_session=ses_/)
        .and.not.equal(planted);
      expect(await read(victims)).to.equal(200);
    }
    expect(await read(made)).to.equal(401);
    // Without the prefix any host of the site could have set it.
    expect(await read(attackers.replace("__Host-", ""))).to.equal(401);
    // Other cookies before and after it change nothing.
    expect(await read(`a=b; ${attackers}; c=d`)).to.equal(200);
  });

  it("texts of strangers are shown as texts: message, sender, campaign, file, webhook answer", async () => {
    const url = receiver.url("/hook");
    receiver.behave(answer(500, HOSTILE));
    const hook = await customer.call("POST", "/v1/webhook-endpoints", {
      body: { url, description: HOSTILE },
    });
    expect(hook.status, hook.text).to.equal(201);
    const hookId = hook.body.data.id;
    await customer.call("POST", `/v1/webhook-endpoints/${hookId}/test`, { body: {} });
    const body = { to: "08031234567", from: customer.sender, body: HOSTILE };
    const reference = { client_reference: "<b>x</b>" };
    const sent = await customer.call("POST", "/v1/sms/messages", {
      body: { ...body, ...reference },
    });
    const campaign = await customer.call("POST", "/v1/campaigns", {
      body: { name: HOSTILE.slice(0, 90), from: customer.sender, body: HOSTILE },
    });
    const key = await customer.call("POST", "/v1/api-keys", {
      body: { name: HOSTILE.slice(0, 90), scopes: ["balance:read"] },
    });
    for (const { status, text } of [sent, campaign, key]) expect(status, text).to.be.below(300);
    await nameSender(HOSTILE);
    await eventually(() => receiver.received.length > 0);
    const context = await browser.newContext();
    const { page, faults } = await signIn(context);
    const campaignPath = `/campaigns/${campaign.body.data.id}`;
    for (const [path, text] of [
      ["/messages", "<img src=x"],
      [`/messages/${sent.body.data.id}`, "<script>"],
      ["/campaigns", "<img src=x"],
      [campaignPath, "<script>"],
      ["/sender-ids", "<img src=x"],
      ["/keys", "<img src=x"],
      ["/audit", "api key created"],
      ["/webhooks", "HTTP 500"],
      [`/webhooks/${hookId}`, "<img src=x"],
    ] as const) {
      await page.goto(`${origin}/console${path}`);
      await page.getByText(text).first().waitFor();
      expect(await page.title(), path).to.not.equal("stolen");
      expect(await page.locator("main img, main script, main b").count(), path).to.equal(0);
    }
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByRole("dialog").getByText("<script>").first().waitFor();
    await page.goto(`${origin}/console${campaignPath}`);
    await page.getByLabel("CSV file").setInputFiles({
      name: `${HOSTILE.replaceAll("/", "")}.csv`,
      mimeType: "text/csv",
      buffer: Buffer.from(`to,"<img src=x>"\n08031234568,"${HOSTILE.replaceAll('"', '""')}"\n`),
    });
    await page.getByRole("cell", { name: "<script>" }).waitFor();
    expect(await page.locator("main img, main script").count()).to.equal(0);
    expect(await page.title()).to.not.equal("stolen");
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  /** The API refuses such a name; the pages must not rely on it. */
  async function nameSender(name: string): Promise<void> {
    const refused = await customer.call("POST", "/v1/sender-ids", {
      body: { name, use_case: "x", sample: "x" },
    });
    expect(refused.status).to.equal(422);
    const made = await customer.call("POST", "/v1/sender-ids", {
      body: { name: "Hostile", use_case: "x", sample: "x" },
    });
    const mongo = await MongoClient.connect(rest.stack.mongodb_uri);
    try {
      const senders = mongo.db("sms_sender_id").collection<{ _id: string }>("sender_ids");
      const changed = await senders.updateOne(
        { _id: made.body.data.id },
        { $set: { name } },
        { bypassDocumentValidation: true },
      );
      expect(changed.modifiedCount).to.equal(1);
    } finally {
      await mongo.close();
    }
  }

  it("a sign-in leads to the console, for any address and any page before", async () => {
    for (const [at, after] of [
      evilOrigin,
      "//evil.example",
      "/\\evil.example",
      "javascript:document.title='stolen'",
      "/console/..//evil.example",
      "/console@evil.example",
      "/v1/balance",
    ].entries()) {
      // Strangers are limited by address.
      const extraHTTPHeaders = { "x-forwarded-for": `198.19.0.${at}` };
      const context = await browser.newContext({ extraHTTPHeaders });
      const page = await context.newPage();
      const query = `?next=${encodeURIComponent(after)}&redirect_uri=${encodeURIComponent(after)}`;
      await page.goto(`${origin}/console/sign-in${query}`);
      await page.evaluate((path) => sessionStorage.setItem("sms-console-after", path), after);
      const token = await portalToken(rest, customer, Role.OWNER);
      await page.goto(`${origin}/console/sign-in${query}&x#${token}`);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      expect(page.url(), after).to.equal(`${origin}/console`);
      await context.close();
    }
  });

  it("no secret is in an address or a log: links, sessions, keys, signing secrets", async () => {
    const context = await browser.newContext();
    const addresses: string[] = [];
    context.on("request", (request) => {
      addresses.push(request.url(), request.headers().referer ?? "");
    });
    const { page, token } = await signIn(context);
    await page.goto(`${origin}/console/keys`);
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("secret");
    await page.getByRole("button", { name: "Make the key" }).click();
    const key = (await page.getByText(/^sk_live_/).textContent()) ?? "";
    const [cookie] = await context.cookies();
    const secrets = [token, key, cookie?.value ?? ""];
    for (const secret of secrets) expect(secret.length).to.be.at.least(40);
    const own = addresses.filter((one) => !one.endsWith(`#${token}`)).join("\n");
    const logs = join(rest.stack.dir, "log");
    const logged = readdirSync(logs)
      .map((name) => readFileSync(join(logs, name), "utf8"))
      .join("\n");
    for (const secret of secrets) {
      expect(own).to.not.contain(secret);
      expect(logged).to.not.contain(secret);
    }
    await context.close();
  });
});
