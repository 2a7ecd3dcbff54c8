/**
 * `make screenshots`: pictures of the console's pages on the running development stack, for docs/screenshots. It sends
 * a few messages and runs a small campaign first, so that the pages have something to show.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { consoleLink, operatorLink } from "../../deploy/dev/console-link.ts";
import { layoutOf, ROOT } from "../../deploy/dev/paths.ts";
import { requireRunningStack } from "../../deploy/dev/running-stack.ts";
import { runCommand } from "../../deploy/dev/stack-error.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { CHROMIUM, NO_CHROMIUM } from "./chromium.ts";

const FOLDER = join(ROOT, "docs/screenshots");
const PAGES = [
  ...["", "send", "messages", "campaigns", "inbound", "suppressions", "usage", "sender-ids"],
  ...["webhooks", "keys", "statement", "people", "account", "audit", "sessions"],
];

/** Pages of one thing, by the list that leads to them and the link in it. */
const DETAILS = [
  ["message", "messages?status=undelivered", "main td a"],
  ["campaign", "campaigns", "main td a"],
  ["webhook", "webhooks", 'main td a[href*="whe_"]:has-text(":8443")'],
] as const;
/** Pages of the operators' console, with what follows the path where it needs some. */
const OPERATOR_PAGES = [
  ...["", "tenants", "sender-ids", "fundings", "messages", "explain", "connectors", "routes"],
  ...["put-aside", "checks", "audit", "people"],
];

await runCommand(async () => {
  if (CHROMIUM === undefined) throw new Error(NO_CHROMIUM);
  const stack = requireRunningStack(layoutOf());
  mkdirSync(FOLDER, { recursive: true });
  await sendSome(stack);
  await askForSenderId(stack);
  // Its result is on a page; it exits with 1 where the stack's data are not as they should be.
  spawnSync(process.execPath, ["services/smsctl/main.ts", "check"], { cwd: ROOT });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    for (const theme of ["light", "dark"] as const) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        colorScheme: theme,
        locale: "en-GB",
        timezoneId: "Africa/Lagos",
      });
      const page = await context.newPage();
      await page.goto(await consoleLink(stack));
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      const origin = new URL(page.url()).origin;
      for (const name of PAGES) {
        await page.goto(`${origin}/console/${name}`.replace(/\/$/, ""));
        await take(page, `${name || "overview"}-${theme}`);
      }
      for (const [name, list, link] of DETAILS) {
        await page.goto(`${origin}/console/${list}`);
        await page.locator(link).first().click();
        await page.locator("main h2").first().waitFor();
        await take(page, `${name}-${theme}`);
      }
      await takeOperators(page, stack, theme);
      await context.close();
    }
  } finally {
    await browser.close();
  }
});

/** Takes a picture of a page once everything on it is loaded. */
async function take(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(".loading").first().waitFor({ state: "detached" });
  // Charts and warnings come after the first answer.
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  process.stdout.write(`docs/screenshots/${name}.png\n`);
}

/** The pages of the operators' console; a tenant and a message by the links to them. */
async function takeOperators(page: Page, stack: StackFile, theme: string): Promise<void> {
  await page.goto(await operatorLink(stack));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const { origin } = new URL(page.url());
  const root = `${origin}/operators`;
  // Waits for a second person; the same key asks for it once.
  await page.request.post(`${root}/api/rpc/sms.v1.WalletService/RequestFunding`, {
    data: {
      tenantId: stack.tenant_id,
      amount: "25000000000",
      reason: "Invoice 1042",
      key: "shots",
    },
    headers: { origin, "sms-console": "1" },
  });
  const asked = { tenant: "Demo", from: stack.sender_id, to: "+2348031230001" };
  const queries: Readonly<Record<string, string>> = {
    "sender-ids": "?status=",
    fundings: "?state=",
    messages: "?q=%2B2348031239901",
    explain: `?${new URLSearchParams(asked)}`,
  };
  for (const name of OPERATOR_PAGES) {
    await page.goto(`${root}/${name}${queries[name] ?? ""}`.replace(/\/$/, ""));
    await take(page, `operators-${name || "overview"}-${theme}`);
  }
  await page.goto(`${root}/tenants/${stack.tenant_id}`);
  await take(page, `operators-tenant-${theme}`);
  await page.goto(`${root}/messages${queries.messages}`);
  await page.getByRole("link", { name: "+2348031239901" }).first().click();
  await take(page, `operators-message-${theme}`);
}

/** A name that waits for a review, unless an earlier run has asked for it. */
async function askForSenderId(stack: StackFile): Promise<void> {
  const asked = {
    name: "Bakery",
    use_case: "Orders that are ready",
    sample: "Your bread is ready.",
  };
  const response = await post(stack, "/v1/sender-ids", asked);
  if (!response.ok && response.status !== 409) {
    throw new Error(`the name was refused: ${await response.text()}`);
  }
}

/** Messages with several fates: the last four digits of a number decide. A campaign, and a webhook that fails. */
async function sendSome(stack: StackFile): Promise<void> {
  const add = async (path: string, body: unknown) => {
    const response = await post(stack, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was refused: ${text}`);
    return (JSON.parse(text) as { data: { id: string } }).data;
  };
  // Nothing listens there.
  await add("/v1/webhook-endpoints", { url: "https://localhost:8443/hook", description: "ERP" });
  const numbers = ["08031230001", "08031230002", "08031239901", "08031230003", "08031239903"];
  for (const to of numbers) {
    const body = "Your order is on its way.";
    await add("/v1/sms/messages", { to, from: stack.sender_id, body });
  }
  const content = {
    name: "Spring sale",
    from: stack.sender_id,
    body: "Hi {{name}}, all is half price.",
  };
  const campaign = await add("/v1/campaigns", { ...content, rate_per_second: 1 });
  const recipients = Array.from({ length: 60 }, (_, at) => ({
    ...{ to: `0803123${1000 + at}`, variables: { name: "Ada" } },
  }));
  await add(`/v1/campaigns/${campaign.id}/recipients`, { recipients });
  await add(`/v1/campaigns/${campaign.id}/start`, {});
}

function post({ gateway, api_key }: StackFile, path: string, body: unknown): Promise<Response> {
  return fetch(`${gateway}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
