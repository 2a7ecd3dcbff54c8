/** Pages of the console in Chromium: their faults, and their use by mouse or by keyboard. */
import { execFileSync } from "node:child_process";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type FileChooser,
  type Locator,
  type Page,
} from "playwright-core";
import { CHROMIUM, NO_CHROMIUM } from "./chromium.ts";
import { skipSince } from "./skip.ts";

/** Builds the consoles and opens Chromium; skips the suite where there is no Chromium. */
export async function openChromium(suite: Mocha.Context): Promise<Browser> {
  if (CHROMIUM === undefined) return skipSince(suite, NO_CHROMIUM);
  execFileSync(process.execPath, ["console/build.ts", "--if-changed"]);
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

/** A page, with each request to elsewhere, breach of the policy and error that it had. */
export type WatchedPage = { readonly page: Page; readonly faults: readonly string[] };

/** Opens a page of a context; `origin` is the console's, and addresses that begin with one of `own` are no faults. */
export async function openWatchedPage(
  context: BrowserContext,
  origin: string,
  own: readonly string[] = ["data:", origin, `blob:${origin}`],
): Promise<WatchedPage> {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!own.some((start) => url.startsWith(start))) faults.push(url);
  });
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  return { page, faults };
}

/** The serious breaches of WCAG 2.2 AA on a page. */
export async function seriousFindings(page: Page): Promise<string[]> {
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

/** How a person uses a page. */
export type Hands = {
  press(button: Locator): Promise<void>;
  write(field: Locator, text: string): Promise<void>;
  choose(list: Locator, option: string): Promise<void>;
  attach(field: Locator, name: string, content: string): Promise<void>;
};

/** The console by mouse. Text needs a keyboard anyway. */
export function mouse(page: Page): Hands {
  return {
    press: (button) => button.click(),
    write: (field, text) => field.fill(text),
    choose: async (list, option) => void (await list.selectOption(option)),
    attach: (field, name, content) => attachBy(page, () => field.click(), name, content),
  };
}

/** The console by keyboard alone: Tab moves, Enter and Space press, and no element is focused by a script. */
export function keyboard(page: Page): Hands {
  const { keyboard: keys } = page;

  /** Presses Tab until the element has the focus; the order goes round, so it comes if it can be reached at all. */
  async function reach(target: Locator): Promise<void> {
    await target.waitFor();
    const isThere = () => target.evaluate((element) => element === document.activeElement);
    for (let at = 0; at < TABS_MAX; at += 1) {
      if (await isThere()) return;
      await keys.press("Tab");
    }
    throw new Error(`no number of Tabs leads to ${target}`);
  }

  return {
    async press(button) {
      await reach(button);
      await keys.press("Enter");
    },
    async write(field, text) {
      await reach(field);
      await keys.press("Control+A");
      await keys.insertText(text);
    },
    async choose(list, option) {
      await reach(list);
      // The letters of an option choose it.
      await keys.type(option);
      await keys.press("Tab");
    },
    async attach(field, name, content) {
      // A page that has just opened may move the focus to its heading between the two steps.
      const open = async () => {
        await reach(field);
        await keys.press("Enter");
      };
      await attachBy(page, open, name, content);
    },
  };
}

const TABS_MAX = 150;

/** The dialog of the operating system is no part of the page: it gets its answer. */
async function attachBy(
  page: Page,
  open: () => Promise<void>,
  name: string,
  content: string,
): Promise<void> {
  const chooser = await openDialog(page, open);
  await chooser.setFiles({ name, mimeType: "text/csv", buffer: Buffer.from(content) });
}

/** Opens the dialog, and again when no dialog comes: at most five times. */
async function openDialog(page: Page, open: () => Promise<void>): Promise<FileChooser> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt === 5;
    const dialog = page.waitForEvent("filechooser", isLast ? {} : { timeout: 5000 });
    const [opened] = await Promise.allSettled([dialog, open()]);
    if (opened.status === "fulfilled") return opened.value;
    if (isLast) throw opened.reason;
  }
}
