/**
 * The console in Chromium, on a whole stack: sign-in, charts, long lists, and accessibility of every page in both
 * themes and at the width of a phone. Skipped where there is no Chromium.
 */
import { expect } from "chai";
import type { Browser, BrowserContext } from "playwright-core";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { SenderIdReview } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { codeOf, stepAt } from "../../../services/tenant/domain/totp.ts";
import { fromBase32 } from "../../support/base32.ts";
import { openChromium, openWatchedPage, seriousFindings } from "../../support/console-pages.ts";
import { openMailbox } from "../../support/mailbox.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const DESKTOP = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };

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
    browser = await openChromium(this);
    rest = await openRestStack({}, { processes: ONE_PROCESS });
    customer = await rest.addCustomer({ rateLimit: 1000, burst: 5000 });
    // Browsers keep a secure cookie of plain HTTP for this name alone.
    origin = rest.stack.gateway.replace("127.0.0.1", "localhost");
  });
  after(async () => {
    await browser?.close();
    await rest?.close();
  });

  const openPage = (context: BrowserContext) => openWatchedPage(context, origin);

  async function signIn(context: BrowserContext, role = Role.OWNER, { tenantId } = customer) {
    const { url } = await rest.tenants.createPortalLink({ tenantId, role, displayName: "Ada" });
    const opened = await openPage(context);
    await opened.page.goto(`${origin}${url.slice(url.indexOf("/console"))}`);
    await opened.page.getByRole("heading", { name: "Overview" }).waitFor();
    return opened;
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

  it("a second factor is turned on, asked for at the sign-in, and turned off", async () => {
    const { tenantId } = customer;
    const email = "ada@example.org";
    await rest.tenants.invitePerson({ tenantId, email, role: Role.VIEWER });
    const mailbox = openMailbox(rest.stack.dir);
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await openPage(context);
    await page.goto(`${origin}/console/sign-in#${await mailbox.tokenFor(email, "inv")}`);
    await page.getByRole("link", { name: "Your sessions" }).click();
    await page.getByRole("button", { name: "Turn on" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("img", { name: "The key as a QR code" }).waitFor();
    const secret = fromBase32((await dialog.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? "");
    expect(await seriousFindings(page)).to.deep.equal([]);
    await dialog.getByLabel("Code", { exact: true }).fill("123");
    await dialog.getByRole("button", { name: "Turn on" }).click();
    await dialog.getByText("is not the present code").waitFor();
    const step = stepAt(Date.now());
    await dialog.getByLabel("Code", { exact: true }).fill(codeOf(secret, step));
    await dialog.getByRole("button", { name: "Turn on" }).click();
    await dialog
      .getByText(/^[A-Z2-7]{4}-/)
      .first()
      .waitFor();
    const codes = await dialog.getByText(/^[A-Z2-7]{4}-/).allTextContents();
    expect(codes).to.have.length(10);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();

    await page.getByLabel("E-mail").fill(email);
    await page.getByRole("button", { name: "Send me a link" }).click();
    await page.getByText("a link is on its way").waitFor();
    await page.goto(`${origin}/console/sign-in#${await mailbox.tokenFor(email, "sgn")}`);
    // Only the fragment of the address has changed, which loads no page.
    await page.reload();
    await page.getByRole("heading", { name: "Your code" }).waitFor();
    expect(await seriousFindings(page)).to.deep.equal([]);
    await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, step + 1));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();

    await page.goto(`${origin}/console/sessions`);
    await page.getByRole("button", { name: "Turn off" }).click();
    await dialog.getByLabel("Code", { exact: true }).fill(codes[0] ?? "");
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Turn on" }).waitFor();
    // The wrong code was answered with 422, which browsers report.
    expect(faults.filter((one) => !one.includes("422"))).to.deep.equal([]);
    await context.close();
  });

  it("the overview counts the sent messages, and names the problems", async () => {
    const own = await rest.addCustomer();
    const body = { to: ["08031234567", "08031239901"], from: own.sender, body: "Hello" };
    await own.call("POST", "/v1/sms/messages/bulk", { body });
    await rest.senderIds.createSenderId({ tenantId: own.tenantId, name: "Refused" });
    const review = { review: SenderIdReview.REJECT, reason: "Not your brand" };
    await rest.senderIds.reviewSenderId({
      ...{ tenantId: own.tenantId, idOrName: "Refused" },
      ...review,
    });
    await own.call("PATCH", "/v1/account", { body: { low_balance_threshold: "99999999.0000" } });
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, Role.OWNER, own);
    const attention = page.getByRole("region", { name: "What needs attention" });
    await attention.getByRole("link", { name: /The balance is low/ }).waitFor();
    await attention.getByRole("link", { name: "sender ID Refused is rejected: Not" }).waitFor();
    await eventually(
      async () => {
        await page.reload();
        const chart = page.getByRole("img", { name: "Delivered, of those that ended: 50 %" });
        await page.getByRole("img", { name: /^Messages/ }).waitFor();
        return (await chart.count()) === 1;
      },
      { timeoutMs: 40_000, everyMs: 500, what: "a counted share" },
    );
    await page.getByRole("img", { name: /^Messages: 2/ }).waitFor();
    await page.getByText("The values as a table").click();
    const row = page.getByRole("table", { name: "What was sent" }).getByRole("row").nth(1);
    expect(await row.textContent()).to.match(/50 %NGN/);
    await page.getByLabel("30 days").check();
    await page.getByRole("img", { name: /^Messages: 2/ }).waitFor();
    const failed = page.getByRole("region", { name: "Not delivered, and why" });
    const reason = { name: /9901.*The handset could not be reached/ };
    await failed.getByRole("row", reason).waitFor();
    await failed.getByRole("link", { name: "All of the last 7 days" }).click();
    await page.getByRole("heading", { name: "Messages", level: 1 }).waitFor();
    await page.getByRole("row", reason).waitFor();
    expect(await page.getByRole("row", { name: /4567/ }).count(), "a delivered one").to.equal(0);
    expect(faults).to.deep.equal([]);
    await context.close();
  });

  it("a list of 12,000 rows scrolls to its end, with few of them laid out", async () => {
    const own = await rest.addCustomer();
    const count = 12_000;
    const numbers = Array.from({ length: count }, (_, at) => `+23480${31_000_000 + at}`);
    const added = await own.call("POST", "/v1/suppressions", {
      ...{ raw: `number\n${numbers.join("\n")}\n`, headers: { "content-type": "text/csv" } },
    });
    expect(added.body.data.added, added.text).to.equal(count);
    const context = await browser.newContext(DESKTOP);
    const { page, faults } = await signIn(context, Role.OWNER, own);
    await page.goto(`${origin}/console/suppressions`);
    await page.getByRole("row").nth(40).waitFor();
    const most = await page.evaluate(async () => {
      let rows = 0;
      const frames: number[] = [];
      let last = performance.now();
      const count = () => document.querySelectorAll("tbody tr").length;
      const index = () => {
        const all = [...document.querySelectorAll("tr[aria-rowindex]")];
        return Math.max(...all.map((one) => Number(one.getAttribute("aria-rowindex"))));
      };
      while (document.querySelector(".more") !== null) {
        scrollTo(0, document.documentElement.scrollHeight);
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - last);
        last = performance.now();
        rows = Math.max(rows, count());
      }
      scrollTo(0, document.documentElement.scrollHeight);
      for (let at = 0; at < 10; at += 1) await new Promise(requestAnimationFrame);
      frames.sort((a, b) => a - b);
      return { rows, end: index(), p99: frames[Math.floor(frames.length * 0.99)] ?? 0 };
    });
    expect(most.end, "the last row").to.equal(count + 1);
    // Each chunk that is away is one row.
    expect(most.rows).to.be.below(700);
    // A hitch would be a frame of a second; a slow machine has frames of some tens of milliseconds.
    expect(most.p99, "ms of a frame").to.be.below(500);
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
        await page.locator(".loading").first().waitFor({ state: "detached" });
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
