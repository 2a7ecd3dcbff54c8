/**
 * `make screenshots`: pictures of the console's pages on the running development stack, for docs/screenshots. It sends
 * a few messages and runs a small campaign first, so that the pages have something to show.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { consoleLink } from "../../deploy/dev/console-link.ts";
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

await runCommand(async () => {
  if (CHROMIUM === undefined) throw new Error(NO_CHROMIUM);
  const stack = requireRunningStack(layoutOf());
  mkdirSync(FOLDER, { recursive: true });
  await sendSome(stack);
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
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.getByText("Loading…").waitFor({ state: "detached" });
        // Charts and warnings come after the first answer.
        await page.waitForLoadState("networkidle");
        const file = `${name === "" ? "overview" : name}-${theme}.png`;
        await page.screenshot({ path: join(FOLDER, file) });
        process.stdout.write(`docs/screenshots/${file}\n`);
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
});

/** Messages with several fates: the last four digits of a number decide. */
async function sendSome({ gateway, api_key, sender_id }: StackFile): Promise<void> {
  const numbers = ["08031230001", "08031230002", "08031239901", "08031230003", "08031239903"];
  for (const to of numbers) {
    const response = await fetch(`${gateway}/v1/sms/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
      body: JSON.stringify({ to, from: sender_id, body: "Your order is on its way." }),
    });
    if (!response.ok) throw new Error(`a message was refused: ${await response.text()}`);
  }
}
