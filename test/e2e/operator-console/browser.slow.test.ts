/**
 * The operators' console in Chromium, on a whole stack: an operator's day, accessibility of every page in both themes
 * and at the width of a phone. Skipped where there is no Chromium.
 */

import { expect } from "chai";
import type { Browser, BrowserContext } from "playwright-core";
import { freePortRange } from "../../../deploy/dev/ports.ts";
import { OperatorRole } from "../../../proto/gen/sms/v1/operator_pb.js";
import { EntryKind } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { openChromium, openWatchedPage, seriousFindings } from "../../support/console-pages.ts";
import { operatorToken } from "../../support/operator-browser.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { smsctl } from "../../support/smsctl.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const HOSTILE = `<img src=x onerror="document.title='stolen'">`;
const TO = "+2348031234567";

describe("the operators' console in a browser", function () {
  this.timeout(300_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  let browser: Browser;
  let origin: string;
  let messageId: string;

  before(async function () {
    browser = await openChromium(this);
    rest = await openRestStack({}, { processes: ONE_PROCESS });
    customer = await rest.addCustomer();
    // Browsers keep a secure cookie of plain HTTP for this name alone.
    origin = rest.stack.operator_console.replace("127.0.0.1", "localhost");
    const body = { to: TO, from: customer.sender, body: HOSTILE };
    const sent = await customer.call("POST", "/v1/sms/messages", { body });
    messageId = sent.body.data.id;
    const { tenantId } = customer;
    const asked = { useCase: HOSTILE, sample: "Your bread is ready." };
    await rest.senderIds.requestSenderId({ tenantId, name: "Bakery", ...asked });
  });
  after(async () => {
    await browser?.close();
    await rest?.close();
  });

  async function signIn(context: BrowserContext, person: string, role = OperatorRole.ADMIN) {
    const opened = await openWatchedPage(context, origin, ["data:", origin]);
    const token = await operatorToken(rest, person, role);
    await opened.page.goto(`${origin}/operators/sign-in#${token}`);
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(opened.page.url()).to.equal(`${origin}/operators`);
    return opened;
  }

  const tenantPage = () => `${origin}/operators/tenants/${customer.tenantId}`;

  it("a tenant is found by name, suspended and resumed", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, "ada@example.org");
    const { tenant } = await rest.tenants.getTenant({ idOrName: customer.tenantId });
    const name = tenant?.name ?? "";
    await page.getByRole("link", { name: "Tenants" }).click();
    await page.getByLabel("Name or id").fill(name.toUpperCase());
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await page.getByText("Suspended: it may read").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await page.getByText("Suspended: it may read").waitFor({ state: "detached" });
    await page.goto(`${origin}/operators/audit?tenant=${customer.tenantId}`);
    await page
      .getByRole("row", { name: /UpdateTenant ada@example.org/ })
      .first()
      .waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a sender ID that waits is approved from the overview", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, "ada@example.org", OperatorRole.OPERATOR);
    await page.getByRole("link", { name: /waits? for a review/ }).click();
    const row = page.getByRole("row", { name: /Bakery/ });
    await row.getByRole("button", { name: "Review" }).click();
    await page.getByRole("dialog").getByText(HOSTILE).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByLabel("Status").selectOption("approved");
    await page
      .getByRole("row", { name: /Bakery/ })
      .getByText("approved")
      .waitFor();
    expect(await page.title()).to.equal("Sender IDs – Operators");
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a large funding waits for a second person, who approves it", async () => {
    const before = await funded();
    const [first, second] = [await browser.newContext(DESKTOP), await browser.newContext(DESKTOP)];
    const ada = await signIn(first, "ada@example.org", OperatorRole.FINANCE);
    await ada.page.goto(tenantPage());
    await ada.page.getByRole("button", { name: "Fund", exact: true }).click();
    await ada.page.getByLabel("Amount in NGN").fill("2500000.50");
    await ada.page.getByText("A second person must approve this amount.").waitFor();
    await ada.page.getByLabel("Reason").fill("Invoice 7");
    await ada.page.getByRole("button", { name: "Ask for approval" }).click();
    await ada.page.getByText("waits for a second person").waitFor();
    await ada.page.goto(`${origin}/operators/fundings`);
    await ada.page.getByRole("button", { name: "Take back" }).waitFor();
    expect(await ada.page.getByRole("button", { name: "Approve" }).count()).to.equal(0);
    expect(await funded()).to.deep.equal(before);

    const bob = await signIn(second, "bob@example.org", OperatorRole.FINANCE);
    await bob.page.getByRole("link", { name: /waits? for a second person/ }).click();
    const row = bob.page.getByRole("row", { name: /Invoice 7/ });
    await row.getByRole("button", { name: "Approve" }).click();
    await bob.page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await row.waitFor({ state: "detached" });
    expect(await funded()).to.deep.equal([25_000_005_000n, ...before]);
    await bob.page.getByLabel("State").selectOption("funded");
    await bob.page
      .getByRole("row", { name: /Invoice 7/ })
      .getByText("bob@example.org")
      .waitFor();
    expect([...ada.faults, ...bob.faults]).to.deep.equal([]);
    await first.close();
    await second.close();
  });

  /** The amounts of the customer's fundings, newest first. */
  async function funded(): Promise<bigint[]> {
    const { tenantId } = customer;
    const { entries } = await rest.wallets.listEntries({ tenantId, kinds: [EntryKind.FUND] });
    return entries.map(({ postings }) => postings.find(({ amount }) => amount > 0n)?.amount ?? 0n);
  }

  it("by keyboard a message is found by its number, and its history read", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, "sam@example.org", OperatorRole.SUPPORT);
    await page.getByRole("link", { name: "Find a message" }).press("Enter");
    await page.getByLabel("Message id or number").focus();
    await page.keyboard.type(TO);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: TO }).first().press("Enter");
    await page.locator(".timeline").getByText("sent").first().waitFor();
    await page.getByText(HOSTILE).waitFor();
    expect(await page.title()).to.equal(`Message to ${TO} – Operators`);
    await page.goto(`${origin}/operators/messages?q=${messageId}`);
    await page.goto(tenantPage());
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    for (const name of ["Suspend", "Change the limits", "Fund", "Revoke"]) {
      expect(await page.getByRole("button", { name, exact: true }).count(), name).to.equal(0);
    }
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("the overview says why a connector has no link to its carrier", async () => {
    const port = String(await freePortRange(1));
    const settings = ["--host", "127.0.0.1", "--port", port, "--system-id", "x", "--password", "y"];
    const added = await smsctl(rest.stack, "connector", "add", "dead", ...settings);
    expect(added.code, added.error).to.equal(0);
    const context = await browser.newContext(PHONE);
    const { page, faults } = await signIn(context, "ada@example.org", OperatorRole.SUPPORT);
    const why = /The connector dead has no link to its carrier: .*ECONNREFUSED/;
    await page.getByRole("link", { name: why }).click({ timeout: 60_000 });
    const card = page.getByRole("region", { name: "dead", exact: true });
    await card.getByText("ECONNREFUSED").first().waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
    expect((await smsctl(rest.stack, "connector", "remove", "dead")).code).to.equal(0);
  });

  it("a connector is paused and resumed, and a number is explained", async () => {
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, "ada@example.org", OperatorRole.OPERATOR);
    await page.getByRole("link", { name: "Connectors" }).click();
    const card = page.getByRole("region", { name: "smsc", exact: true });
    await card.getByText("bound").first().waitFor();
    await card.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await card.getByText("paused").first().waitFor();
    await card.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await card.getByText("active").first().waitFor();
    await page.getByRole("link", { name: "Explain a number" }).click();
    await page.getByLabel("Number").fill(TO);
    await page.getByLabel("Tenant").fill(customer.tenantId);
    await page.getByLabel("Sender ID").fill(customer.sender);
    await page.getByRole("button", { name: "Explain" }).click();
    await page.getByRole("row", { name: /Tenant yes/ }).waitFor();
    await page.getByText("chosen", { exact: true }).waitFor();
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  for (const [name, options] of [
    ["light", { ...DESKTOP, colorScheme: "light" }],
    ["dark", { ...DESKTOP, colorScheme: "dark" }],
    ["a phone", PHONE],
  ] as const) {
    it(`every page is accessible and fits: ${name}`, async () => {
      const context = await browser.newContext(options);
      const { page, faults } = await signIn(context, "ada@example.org");
      const explain = new URLSearchParams({ to: TO, tenant: customer.tenantId, from: "Bakery" });
      for (const path of [
        ...["", "/tenants", `/tenants/${customer.tenantId}`, "/fundings?state=", "/checks"],
        ...["/sender-ids?status=", `/messages?q=${encodeURIComponent(TO)}`],
        ...[`/messages/${messageId}`, `/explain?${explain}`, "/connectors", "/routes"],
        ...["/put-aside", "/audit", "/people", "/sessions", "/nowhere"],
      ]) {
        await page.goto(`${origin}/operators${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle");
        await page.locator(".loading").first().waitFor({ state: "detached" });
        expect(await seriousFindings(page), path).to.deep.equal([]);
        const tooWide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect(tooWide, `${path} is too wide`).to.be.at.most(0);
      }
      expect(faults).to.deep.equal([]);
      await context.close();
    });
  }
});
