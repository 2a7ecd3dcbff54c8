/**
 * A customer's first day in the console, in Chromium on a whole stack, by mouse and then by keyboard alone: from an
 * invitation to a statement. Operators approve and fund by `smsctl`. Skipped where there is no Chromium.
 */
import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { ensureCertificates } from "../../../deploy/dev/certificates.ts";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import { freePortRange } from "../../../deploy/dev/ports.ts";
import {
  type Hands,
  keyboard,
  mouse,
  openChromium,
  openWatchedPage,
} from "../../support/console-pages.ts";
import { type Mailbox, openMailbox } from "../../support/mailbox.ts";
import { eventually } from "../../support/poll.ts";
import { openRestStack, type RestStack } from "../../support/rest.ts";
import { smsctl } from "../../support/smsctl.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";
import { type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

/** One person's page and account. */
type Story = {
  readonly page: Page;
  readonly hands: Hands;
  readonly tenant: string;
  readonly email: string;
};

describe("a first day in the console", function () {
  this.timeout(120_000);
  let rest: RestStack<TestStack>;
  let browser: Browser;
  let receiver: Receiver;
  let mailbox: Mailbox;
  let origin: string;

  before(async function () {
    browser = await openChromium(this);
    const port = await freePortRange(1);
    const settings = { WEBHOOK_ALLOWED_PORTS: String(port) };
    rest = await openRestStack(settings, { processes: ONE_PROCESS });
    receiver = await startReceiver(ensureCertificates(layoutOf(rest.stack.dir).tlsDir), port);
    mailbox = openMailbox(rest.stack.dir);
    // Browsers keep a secure cookie of plain HTTP for this name alone.
    origin = rest.stack.gateway.replace("127.0.0.1", "localhost");
  });
  after(async () => {
    await browser?.close();
    await receiver?.close();
    await rest?.close();
  });

  async function operator(...words: string[]): Promise<void> {
    const { code, error } = await smsctl(rest.stack, ...words);
    expect(code, `smsctl ${words.join(" ")}: ${error}`).to.equal(0);
  }

  const open = ({ page, hands }: Story, name: string) =>
    hands.press(page.getByRole("navigation").getByRole("link", { name, exact: true }));
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
  const inDialog = (page: Page, name: string) =>
    page.getByRole("dialog").getByRole("button", { name, exact: true });

  async function signInByInvitation({ page, tenant, email }: Story): Promise<void> {
    await operator("tenant", "create", "--name", tenant, "--email-verified", "false");
    await operator("console", "invite", email, "--tenant", tenant, "--role", "owner");
    const token = await mailbox.tokenFor(email, "inv");
    await page.goto(`${origin}/console/sign-in#${token}`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("No sender ID can be used yet.").waitFor();
    // The mail has arrived, so the address is the owner's own.
    expect(await page.getByText("email is not verified").count()).to.equal(0);
    const { tenant: found } = await rest.tenants.getTenant({ idOrName: tenant });
    expect(found?.emailVerified).to.equal(true);
  }

  async function getSenderId(story: Story): Promise<void> {
    const { page, hands, tenant } = story;
    await open(story, "Sender IDs");
    await hands.press(button(page, "Ask for a sender ID"));
    await hands.write(page.getByLabel("Name"), "Bakery");
    await hands.write(page.getByLabel("What it is for"), "Orders that are ready");
    await hands.write(page.getByLabel("A sample text"), "Your bread is ready.");
    await hands.press(button(page, "Ask"));
    const row = page.getByRole("row", { name: /Bakery/ });
    await row.getByText("pending").waitFor();
    await operator("sender-id", "approve", "Bakery", "--tenant", tenant);
    await operator(
      ...["wallet", "fund", "--tenant", tenant, "--amount", "1000.00", "--reference", "first"],
    );
  }

  async function sendAndFollow(story: Story): Promise<void> {
    const { page, hands } = story;
    await open(story, "Quick send");
    await hands.write(page.getByLabel("Numbers"), "08031234567 nonsense");
    await hands.write(page.getByLabel("Text", { exact: true }), "Your “bread” is ready.");
    await page.getByText("UCS-2 because of").waitFor();
    await hands.press(button(page, "Send"));
    await page.getByRole("heading", { name: "1 accepted, 1 refused" }).waitFor();
    await hands.press(page.getByRole("link", { name: "+2348031234567" }));
    const timeline = page.locator(".timeline");
    for (const text of ["queued", "sent", "delivered", "charged"]) {
      await timeline.getByText(text).first().waitFor();
    }
  }

  async function tryWebhook(story: Story): Promise<void> {
    const { page, hands } = story;
    const url = receiver.url();
    await open(story, "Webhooks");
    await hands.press(button(page, "Add an endpoint"));
    await hands.write(page.getByLabel("Address"), url);
    await hands.press(button(page, "Add"));
    await page.getByText(/^whsec_/).waitFor();
    await hands.press(inDialog(page, "Close"));
    await hands.press(page.getByRole("link", { name: url }));
    await hands.press(button(page, "Send a test event"));
    await page.getByRole("row", { name: /webhook\.test succeeded/ }).waitFor();
    await hands.press(button(page, "Details").first());
    await page.getByRole("dialog").getByText("HTTP 2").first().waitFor();
    await hands.press(inDialog(page, "Send it again"));
    // The second attempt of the same delivery.
    await page.getByRole("row", { name: /webhook\.test succeeded HTTP 2\d\d 2 / }).waitFor();
  }

  async function useKey(story: Story): Promise<void> {
    const { page, hands } = story;
    await open(story, "API keys");
    await hands.press(button(page, "Make a key"));
    await hands.write(page.getByLabel("Name"), "the shop");
    await hands.press(button(page, "Make the key"));
    const apiKey = (await page.getByText(/^sk_live_/).textContent()) ?? "";
    const status = async () => (await rest.call("GET", "/v1/messages", { apiKey })).status;
    expect(await status()).to.equal(200);
    await hands.press(inDialog(page, "Close"));
    const row = page.getByRole("row", { name: /the shop/ });
    await hands.press(row.getByRole("button", { name: "Revoke" }));
    await hands.press(inDialog(page, "Revoke"));
    await row.getByText("revoked").waitFor();
    await eventually(async () => (await status()) === 401);
  }

  async function runCampaign(story: Story): Promise<void> {
    const { page, hands } = story;
    await open(story, "Campaigns");
    await hands.press(page.getByRole("link", { name: "New campaign" }));
    await hands.write(page.getByLabel("Name"), "Spring");
    await hands.write(page.getByLabel("Text", { exact: true }), "Hi {{first_name}}");
    await hands.press(button(page, "Make the draft"));
    const csv = "Phone;Name\n08031234568;Ada\n08031234569;Bea\nx;Bad\n";
    await hands.attach(page.getByLabel("CSV file"), "people.csv", csv);
    await hands.choose(page.getByLabel("Column for {{first_name}}"), "Name");
    await hands.press(button(page, "Add the recipients"));
    await page.getByText("2 added, 0 duplicates, 1 refused").waitFor();
    await hands.press(button(page, "Estimate"));
    await page.getByText("Costs at most").waitFor();
    await hands.press(button(page, "Start the campaign"));
    await hands.press(inDialog(page, "Start the campaign"));
    await page.locator(".facts .status", { hasText: "completed" }).waitFor();
  }

  async function readStatement(story: Story): Promise<void> {
    const { page, hands } = story;
    await open(story, "Statement");
    await page.getByRole("row", { name: /top up.*NGN 1,000\.00/ }).waitFor();
    const charge = page.getByRole("row", { name: /charge.*Spring/ });
    await charge.first().waitFor();
    expect(await charge.count(), "those of the campaign alone name it").to.equal(2);
    const download = page.waitForEvent("download");
    await hands.press(button(page, "Download as CSV"));
    const file = readFileSync(await (await download).path(), "utf8");
    expect(file.match(/charge/g), file).to.have.length(3);
    expect(file).to.contain("top_up");
    await open(story, "Audit");
    await page
      .getByRole("row", { name: new RegExp(`sender id requested.*${story.email}`) })
      .waitFor();
  }

  for (const [name, handsOf] of [
    ["by mouse", mouse],
    ["by keyboard alone", keyboard],
  ] as const) {
    it(`${name}: from the invitation to the statement`, async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      const { page, faults } = await openWatchedPage(context, origin);
      const id = name.replaceAll(" ", "-");
      const email = `${id}@example.org`;
      const story: Story = { page, hands: handsOf(page), tenant: `Story ${id}`, email };
      await signInByInvitation(story);
      await getSenderId(story);
      await sendAndFollow(story);
      await tryWebhook(story);
      await useKey(story);
      await runCampaign(story);
      await readStatement(story);
      expect(faults).to.deep.equal([]);
      await context.close();
    });
  }
});
