/**
 * The documentation in Chromium: accessibility, the width of a phone, requests to elsewhere, search, tabs, and a
 * request that the reference sends. Skipped where there is no Chromium.
 */
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { expect } from "chai";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { CHROMIUM, NO_CHROMIUM } from "../../support/chromium.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";
import { skipSince } from "../../support/skip.ts";

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const BROWSER_MS = 60_000;

describe("the documentation in a browser", function () {
  this.timeout(300_000);
  let app: RestApp;
  let browser: Browser;
  let paths: string[] = [];

  before(async function () {
    if (CHROMIUM === undefined) skipSince(this, NO_CHROMIUM);
    app = await openRestApp();
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
    paths = (await linksOf("/docs/")).filter(
      (path) => !path.includes(".") && path !== "/docs/reference",
    );
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  /** Opens a page and notes every request to elsewhere, breach of the policy, and error. */
  async function open(path: string, options: BrowserContextOptions = DESKTOP) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(BROWSER_MS);
    const faults: string[] = [];
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${app.url}/`) && !/^(data|blob):/.test(url)) faults.push(url);
    });
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("response", (response) => {
      if (response.status() >= 400) faults.push(response.url());
    });
    await page.goto(`${app.url}${path}`, { waitUntil: "load" });
    return { page, faults, close: () => context.close() };
  }

  async function linksOf(path: string): Promise<string[]> {
    const { page, close } = await open(path);
    const hrefs = await page.$$eval("a[href]", (links) =>
      links.map((link) => (link as unknown as { pathname: string }).pathname),
    );
    await close();
    return [...new Set(hrefs)];
  }

  /** The dark pages differ from the light ones by their colours only. */
  const RULES = {
    light: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    dark: ["color-contrast"],
  };

  async function seriousFindings(page: Page, runOnly = RULES.light): Promise<string[]> {
    // The policy forbids inline scripts; those of the debugger are not subject to it.
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(
      (rules) => (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: rules }),
      runOnly,
    );
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  }

  const isWide = (page: Page) =>
    page.evaluate(() => {
      const { document } = globalThis as unknown as {
        document: { documentElement: Record<string, number> };
      };
      const { scrollWidth = 0, clientWidth = 0 } = document.documentElement;
      return scrollWidth > clientWidth;
    });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`every page fits a phone, and axe has no serious finding on it, ${colorScheme}`, async () => {
      expect(paths.length).to.be.greaterThan(40);
      const found: string[] = [];
      const { page, faults, close } = await open("/docs/", { ...PHONE, colorScheme });
      for (const path of paths) {
        await page.goto(`${app.url}${path}`);
        if (await isWide(page)) found.push(`${path} is wider than the screen`);
        const findings = await seriousFindings(page, RULES[colorScheme]);
        found.push(...findings.map((text) => `${path}: ${text}`));
      }
      expect([...found, ...faults]).to.deep.equal([]);
      await page.goto(`${app.url}/nothing`);
      expect(await isWide(page)).to.equal(false);
      expect(await seriousFindings(page)).to.deep.equal([]);
      await close();
    });
  }

  it("the reference shows every operation at the address that the search names, and calls no other host", async () => {
    const { page, faults, close } = await open("/docs/reference");
    const entries = (await (await fetch(`${app.url}/docs/search.json`)).json()) as { id: string }[];
    const wanted = entries.filter(({ id }) => id.startsWith("reference#"));
    expect(wanted.length).to.be.greaterThan(30);
    const missing: string[] = [];
    for (const { id } of wanted) {
      const [, hash = ""] = id.split("#");
      await page.goto(`${app.url}/docs/${id}`);
      const operation = page.locator(`[id$="${hash}"]`).first();
      await operation.waitFor({ state: "attached" }).catch(() => missing.push(id));
    }
    expect(missing).to.deep.equal([]);
    expect(faults).to.deep.equal([]);
    expect(await page.getByText("Powered by").isVisible()).to.equal(false);
    await close();
  });

  for (const [screen, options] of [
    ["a desktop", { ...DESKTOP, colorScheme: "light" }],
    ["a phone in the dark", { ...PHONE, colorScheme: "dark" }],
  ] as const) {
    it(`the reference fits ${screen}, and axe has no serious finding on it`, async () => {
      const { page, faults, close } = await open("/docs/reference", options);
      await page.getByRole("heading", { name: "SMS messaging API" }).waitFor();
      expect(await isWide(page)).to.equal(false);
      expect(await seriousFindings(page)).to.deep.equal([]);
      expect(faults).to.deep.equal([]);
      await close();
    });
  }

  it("the reference sends a request with the reader's key to this gateway", async () => {
    const { page, close } = await open("/docs/reference#tag/sending/sendMessage");
    await page.getByLabel(/token/i).first().fill(API_KEY);
    await page
      .getByRole("button", { name: /test request/i })
      .first()
      .click();
    const sent = page.waitForRequest((request) => request.url().includes("/v1/"));
    await page.getByRole("dialog").getByRole("button", { name: /^send/i }).first().click();
    const request = await sent;
    expect(new URL(request.url()).origin).to.equal(app.url);
    expect((await request.allHeaders()).authorization).to.equal(`Bearer ${API_KEY}`);
    expect((await request.response())?.status()).to.equal(202);
    await close();
  });

  it("the search finds a section and an operation, and the arrow keys reach them", async () => {
    const { page, faults, close } = await open("/docs/guides/money");
    const field = page.getByRole("searchbox");
    await field.fill("signature");
    await page.locator(".site-results a").first().waitFor();
    const texts = await page.locator(".site-results a").allTextContents();
    expect(texts.join("\n")).to.contain("Verify webhooks");
    await field.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/webhook/i);
    expect(faults).to.deep.equal([]);
    await close();
  });

  it("a language chosen in one sample is chosen in all, also on the next page", async () => {
    const { page, close } = await open("/docs/guides/quickstart");
    await page.getByRole("tab", { name: "Python" }).click();
    expect(await page.locator('figure[data-tab="Python"]').isVisible()).to.equal(true);
    expect(await page.locator('figure[data-tab="curl"]').isVisible()).to.equal(false);
    await page.goto(`${app.url}/docs/guides/verify-webhooks`);
    expect(await page.locator('figure[data-tab="Python"]').first().isVisible()).to.equal(true);
    await page.getByRole("tab", { name: "Java" }).click();
    const server = page.locator('figure[data-tab="Python"]').last();
    expect(await server.isVisible(), "a sample without Java stays as it is").to.equal(true);
    await close();
  });

  it("the button to copy covers no line on a phone", async () => {
    const { page, close } = await open("/docs/guides/quickstart", PHONE);
    const figure = page.locator("figure.code").first();
    const [button, line] = await Promise.all([
      figure.locator(".copy").boundingBox(),
      figure.locator("code").boundingBox(),
    ]);
    if (button === null || line === null) throw new Error("the sample is not visible");
    expect(line.y).to.be.at.least(button.y + button.height);
    await close();
  });

  it("a sample is copied whole", async () => {
    const { page, close } = await open("/docs/examples/send", {
      ...DESKTOP,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.getByRole("tab", { name: "Go" }).click();
    await page.locator('figure[data-tab="Go"]').hover();
    await page.locator('figure[data-tab="Go"] .copy').click();
    await page.getByText("Copied", { exact: true }).first().waitFor();
    const copied = await page.evaluate(() =>
      (
        globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }
      ).navigator.clipboard.readText(),
    );
    const file = new URL("../../../gateway/docs/examples/send.go", import.meta.url);
    expect(copied.trim()).to.equal(readFileSync(file, "utf8").trim());
    await close();
  });

  it("on a phone the menu opens the pages, and without scripts everything is there", async () => {
    const phone = await open("/docs/guides/money", PHONE);
    const navigation = phone.page.locator("#navigation");
    expect(await navigation.isVisible()).to.equal(false);
    await phone.page.getByRole("button", { name: "Menu" }).click();
    expect(await navigation.isVisible()).to.equal(true);
    await phone.close();
    const plain = await open("/docs/guides/quickstart", { ...PHONE, javaScriptEnabled: false });
    for (const text of ["Quickstart", "Authentication", "urllib.request"]) {
      expect(await plain.page.getByText(text).first().isVisible(), text).to.equal(true);
    }
    await plain.close();
  });
});
