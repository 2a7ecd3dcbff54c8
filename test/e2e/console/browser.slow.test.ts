/**
 * The console in Chromium, on a whole stack: a person's first day by mouse and keyboard, accessibility of every page in
 * both themes and at the width of a phone, and texts of strangers. Skipped where there is no Chromium.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { expect } from "chai";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { CHROMIUM, NO_CHROMIUM } from "../../support/chromium.ts";
import { openMailbox } from "../../support/mailbox.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { skipSince } from "../../support/skip.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const HOSTILE = `<img src=x onerror="document.title='stolen'">`;

const PAGES = [
  ...["", "/send", "/messages", "/campaigns", "/campaigns/new", "/inbound", "/suppressions"],
  ...["/sender-ids", "/webhooks", "/people", "/sessions", "/usage", "/keys", "/statement"],
  ...["/account", "/audit", "/nowhere"],
];

describe("the console in a browser", function () {
  this.timeout(300_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  let browser: Browser;
  let origin: string;

  before(async function () {
    if (CHROMIUM === undefined) skipSince(this, NO_CHROMIUM);
    execFileSync(process.execPath, ["console/build.ts", "--if-changed"]);
    rest = await openRestStack({}, { processes: ONE_PROCESS });
    customer = await rest.addCustomer({ rateLimit: 1000, burst: 5000 });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    // Browsers keep a secure cookie of plain HTTP for this name alone.
    origin = rest.stack.gateway.replace("127.0.0.1", "localhost");
  });
  after(async () => {
    await browser?.close();
    await rest?.close();
  });

  /** Opens a page; notes each request to elsewhere, breach of the policy and error. */
  async function openPage(context: BrowserContext) {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const faults: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
        faults.push(request.url());
      }
    });
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    return { page, faults };
  }

  async function signIn(context: BrowserContext, role = Role.OWNER) {
    const { tenantId } = customer;
    const { url } = await rest.tenants.createPortalLink({ tenantId, role, displayName: "Ada" });
    const opened = await openPage(context);
    await opened.page.goto(`${origin}${url.slice(url.indexOf("/console"))}`);
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
    return opened;
  }

  async function seriousFindings(page: Page): Promise<string[]> {
    // The policy forbids inline scripts; those of the debugger are not subject to it.
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      }),
    );
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  }

  it("a link signs in once, and leaves no token in the address or the history", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    expect(page.url()).to.equal(`${origin}/console`);
    const [cookie] = await context.cookies();
    expect(cookie).to.include({ name: "__Host-sms_session", httpOnly: true, sameSite: "Strict" });
    await page.goBack().catch(() => null);
    expect(page.url()).to.not.contain("ptl_");
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("by keyboard alone a message is sent and seen delivered", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    await page.getByRole("link", { name: "Quick send" }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Numbers").focus();
    await page.keyboard.type("08031234567 nonsense");
    await page.keyboard.press("Tab");
    await page.keyboard.type(`“Hello” ${HOSTILE}`);
    await page.getByText("UCS-2 because of").waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Send", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "1 accepted, 1 refused" }).waitFor();
    await page.getByRole("link", { name: "+2348031234567" }).press("Enter");
    await page.locator(".timeline").getByText("delivered").waitFor();
    await page.getByText(HOSTILE).waitFor();
    expect(await page.title()).to.equal("Message to +2348031234567 – Console");
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a campaign runs from a CSV file whose columns have other names", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    await page.goto(`${origin}/console/campaigns/new`);
    await page.getByLabel("Name").fill("Spring");
    await page.getByLabel("Text").fill("Hi {{first_name}}");
    await page.getByRole("button", { name: "Make the draft" }).click();
    await page.getByLabel("CSV file").setInputFiles({
      name: "people.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`Phone;Name\n08031234568;Ada\n08031234569;"${HOSTILE}"\nx;Bad\n`),
    });
    await page.getByLabel("Column for {{first_name}}").selectOption("Name");
    await page.getByRole("button", { name: "Add the recipients" }).click();
    await page.getByText("2 added, 0 duplicates, 1 refused").waitFor();
    await page.getByRole("button", { name: "Estimate" }).click();
    await page.getByText("Costs at most").waitFor();
    await page.getByRole("button", { name: "Start the campaign" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start the campaign" }).click();
    await page.getByRole("heading", { name: "Progress" }).waitFor();
    await page.locator(".facts .status", { hasText: "completed" }).waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a webhook endpoint is made, tried, and its delivery sent again", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    await page.goto(`${origin}/console/webhooks`);
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    await page.getByLabel("Address").fill(rest.stack.receiver.url);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: rest.stack.receiver.url }).click();
    await page.getByRole("button", { name: "Send a test event" }).click();
    await page.getByRole("cell", { name: "webhook.test" }).waitFor();
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByRole("button", { name: "Send it again" }).click();
    await page.getByRole("cell", { name: "webhook.test" }).first().waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a key is made, works in a program, and is revoked", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    await page.goto(`${origin}/console/keys`);
    await page.getByRole("button", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("the shop");
    await page.getByRole("button", { name: "Make the key" }).click();
    const apiKey = (await page.getByText(/^sk_live_/).textContent()) ?? "";
    const isTaken = async () => (await rest.call("GET", "/v1/messages", { apiKey })).status;
    expect(await isTaken()).to.equal(200);
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    const row = page.getByRole("row", { name: /the shop/ });
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    await eventually(async () => (await isTaken()) === 401);
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a sender ID is asked for, the statement is downloaded, and the trail names the person", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context);
    await page.goto(`${origin}/console/sender-ids`);
    await page.getByRole("button", { name: "Ask for a sender ID" }).click();
    await page.getByLabel("Name").fill("Bakery");
    await page.getByLabel("What it is for").fill("Orders that are ready");
    await page.getByLabel("A sample text").fill("Your bread is ready.");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page
      .getByRole("row", { name: /Bakery/ })
      .getByText("pending")
      .waitFor();
    await page.goto(`${origin}/console/statement`);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download as CSV" }).click();
    const file = await (await download).path();
    expect(readFileSync(file, "utf8")).to.contain("top_up");
    await page.goto(`${origin}/console/audit`);
    await page.getByRole("row", { name: /sender id requested.*Ada/ }).waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("an invited person signs in by mail, and sees only the pages of the role", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page } = await signIn(context);
    await page.goto(`${origin}/console/people`);
    await page.getByLabel("Invite by e-mail").fill("grace@example.org");
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("cell", { name: "grace@example.org" }).waitFor();
    const token = await openMailbox(rest.stack.dir).tokenFor("grace@example.org", "inv");
    const second = await browser.newContext(DESKTOP);
    const grace = await openPage(second);
    await grace.page.goto(`${origin}/console/sign-in#${token}`);
    await grace.page.getByRole("heading", { name: "Overview" }).waitFor();
    const links = await grace.page.getByRole("navigation").getByRole("link").allInnerTexts();
    expect(links).to.include("Messages").and.not.include.members(["Quick send", "People"]);
    await second.close();
    await context.close();
  });

  for (const [name, options] of [
    ["light", { ...DESKTOP, colorScheme: "light" }],
    ["dark", { ...DESKTOP, colorScheme: "dark" }],
    ["a phone", PHONE],
  ] as const) {
    it(`every page is accessible and fits: ${name}`, async () => {
      const context = await browser.newContext(options);
      const { page, faults } = await signIn(context);
      for (const path of PAGES) {
        await page.goto(`${origin}/console${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.getByText("Loading…").waitFor({ state: "detached" });
        expect(await seriousFindings(page), path).to.deep.equal([]);
        const tooWide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect(tooWide, `${path} is too wide`).to.be.at.most(0);
      }
      expect(faults).to.deep.equal([]);
      await context.close();
    });
  }

  it("the pages are small, and name a policy without inline code or frames", async () => {
    const response = await fetch(`${origin}/console`, { headers: { "accept-encoding": "gzip" } });
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).to.contain("frame-ancestors 'none'").and.not.contain("unsafe");
    const page = await response.text();
    let bytes = 0;
    for (const [, path = ""] of page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)) {
      const file = await fetch(`${origin}${path}`, { headers: { "accept-encoding": "br" } });
      bytes += Number(file.headers.get("content-length"));
      expect(file.headers.get("cache-control")).to.contain("immutable");
    }
    expect(bytes).to.be.within(1000, 200_000);
  });
});
