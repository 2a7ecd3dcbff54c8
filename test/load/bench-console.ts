/**
 * `make bench-console [CONSOLES=50] [ROUNDS=32]`: the share of the gateway's accept rate that open consoles leave. It
 * measures the rate of single sends in turn without and with the consoles, in one run. First it prints the time of each
 * request of a console.
 */
import { NOT_DELIVERED } from "../../console/api/console.ts";
import { pollPauseMs } from "../../console/core/poll-pause.ts";
import { consoleLink } from "../../deploy/dev/console-link.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { pause } from "../../services/shared/flow/backoff.ts";
import { BROWSER_SETTINGS, openConsoleBrowser, openWith } from "../support/console-browser.ts";
import { fetchData } from "./fetch-data.ts";
import { getRequest, type LoadAnswer, openConnection } from "./http-client.ts";
import { measureOurAccept } from "./our-accept.ts";
import { type Row, report } from "./report.ts";
import { spreadOf } from "./spread.ts";
import { loadStack } from "./stack.ts";

const CONSOLES = Number(process.env.CONSOLES ?? 50);
const ROUNDS = Number(process.env.ROUNDS ?? 32);
const SLICE_MS = 2500;
const WARM_UP_MS = 12_000;
const REQUESTS_EACH = 40;
const SETTLE_MS = 15_000;
/** The share of the accept rate that stays. */
const BUDGET = 0.95;

/** A request of an open page, and its interval (`useResource` and `usePages` of console/pages). */
type Poll = readonly [path: string, everyMs: number];

const { stack, stop } = await loadStack(BROWSER_SETTINGS);
try {
  const pages = await pagesOf(stack);
  const cookies: string[] = [];
  for (let at = 0; at < CONSOLES; at += 1) cookies.push(await signIn());
  await measureOurAccept(stack, { warmupMs: WARM_UP_MS, measureMs: 100 });
  // A browser keeps its connection between two slices.
  const consoles = await Promise.all(cookies.map(openConsole));
  await pause(SETTLE_MS);
  await printTimes(pages, consoles);
  report("bench-console", [await measure(pages, consoles)]);
  for (const one of consoles) one.close();
} finally {
  await stop();
}

/** Prints how long each request takes while nothing else runs, just after many messages. */
async function printTimes(
  pages: readonly (readonly Poll[])[],
  [one]: readonly OpenConsole[],
): Promise<void> {
  for (const path of new Set(pages.flat().map(([each]) => each))) {
    const times: number[] = [];
    for (let at = 0; at < REQUESTS_EACH; at += 1) {
      const startedMs = performance.now();
      await one?.ask(path);
      times.push(performance.now() - startedMs);
    }
    process.stdout.write(`  ${median(times).toFixed(1)} ms ${path}\n`);
  }
}

async function measure(
  pages: readonly (readonly Poll[])[],
  consoles: readonly OpenConsole[],
): Promise<Row> {
  const rates = { without: [] as number[], with: [] as number[] };
  const polled = { answered: 0, failed: 0, seconds: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The order changes, so that a service that grows slower or faster favours neither.
    const order = round % 2 === 0 ? (["without", "with"] as const) : (["with", "without"] as const);
    for (const kind of order) {
      const open = kind === "with" ? openPages(pages, consoles, polled) : undefined;
      const startedMs = performance.now();
      const shape = { warmupMs: 500, measureMs: SLICE_MS };
      rates[kind].push((await measureOurAccept(stack, shape)).perSecond);
      if (open !== undefined) polled.seconds += (performance.now() - startedMs) / 1000;
      await open?.();
    }
  }
  // The median of pairs: one slice in which the machine was slow says nothing about consoles.
  const ratio = median(rates.with.map((one, at) => one / (rates.without[at] ?? 1)));
  const [withOnes, withoutOnes] = [median(rates.with), median(rates.without)];
  const perSecond = polled.answered / polled.seconds;
  return {
    path: `single sends accepted beside ${CONSOLES} open consoles`,
    budget: `${BUDGET * 100} % of the rate without`,
    aim: "",
    measured:
      `${(ratio * 100).toFixed(1)} % (${Math.round(withOnes)}/s and ${Math.round(withoutOnes)}/s; ` +
      `${perSecond.toFixed(1)} requests of consoles a second, ${polled.failed} failed)`,
    met: ratio >= BUDGET && polled.failed === 0 && polled.answered > 0,
    figures: { ratio, with: withOnes, without: withoutOnes, perSecond },
  };
}

function median(rates: readonly number[]): number {
  return spreadOf(rates).median;
}

/** A console's connection; `ask` sends the session's cookie with each request. */
type OpenConsole = { readonly ask: (path: string) => Promise<LoadAnswer>; close(): void };

/** Signs in; returns the cookie. */
async function signIn(): Promise<string> {
  const browser = openConsoleBrowser(stack.gateway);
  await openWith(browser, (await consoleLink(stack)).split("#")[1] ?? "");
  return browser.cookie;
}

/**
 * Requests of one console wait for each other: its connection carries one at a time. Like a browser it opens another
 * and asks again when the gateway has closed an idle one.
 */
async function openConsole(cookie: string): Promise<OpenConsole> {
  const url = new URL(stack.gateway);
  const headers = { Cookie: cookie, "Sms-Console": "1" };
  let connection = await openConnection(url);
  let last: Promise<unknown> = Promise.resolve();
  const send = async (request: Buffer) => {
    try {
      return await connection.send(request);
    } catch {
      connection.close();
      connection = await openConnection(url);
      return await connection.send(request);
    }
  };
  return {
    ask(path) {
      const next = last.then(() => send(getRequest(url, path, headers)));
      last = next.catch(() => undefined);
      return next;
    },
    close: () => connection.close(),
  };
}

/** Polls as open pages do, one page for each console in turn. Returns a function that closes them. */
function openPages(
  pages: readonly (readonly Poll[])[],
  consoles: readonly OpenConsole[],
  polled: { answered: number; failed: number },
): () => Promise<void> {
  const timers = new Set<NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  let isOpen = true;
  const ask = async (open: OpenConsole, path: string): Promise<string> => {
    const { status, body } = await open.ask(path).catch(() => ({ status: 0, body: "" }));
    if (status === 200) polled.answered += 1;
    else polled.failed += 1;
    return body;
  };
  const poll = (open: OpenConsole, [path, everyMs]: Poll, firstMs: number) => {
    let repeats = 0;
    let before = "";
    const run = async () => {
      const body = await ask(open, path);
      repeats = body === before ? repeats + 1 : 0;
      before = body;
      if (isOpen)
        wait(pollPauseMs(everyMs, { failures: 0, repeats }) * (0.9 + Math.random() * 0.2));
    };
    const wait = (ms: number) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        const one: Promise<void> = run().finally(() => running.delete(one));
        running.add(one);
      }, ms);
      timers.add(timer);
    };
    wait(firstMs);
  };
  for (const [at, browser] of consoles.entries()) {
    // People open their pages at different moments.
    for (const one of pages[at % pages.length] ?? []) poll(browser, one, Math.random() * one[1]);
  }
  return async () => {
    isOpen = false;
    for (const timer of timers) clearTimeout(timer);
    await Promise.all(running);
  };
}

/** The pages that people leave open, with the requests of each. */
async function pagesOf(on: StackFile) {
  const content = { name: "bench", from: on.sender_id, body: "Hello" };
  const body = JSON.stringify(content);
  const draft = await fetchData<{ id: string }>(on, "POST", "/v1/campaigns", { body });
  const campaign = `/v1/campaigns/${draft.id}`;
  const [endpoint] = await fetchData<[{ id: string }]>(on, "GET", "/v1/webhook-endpoints");
  const hook = `/v1/webhook-endpoints/${endpoint.id}`;
  const frame: readonly Poll[] = [["/console/api/session", 30_000]];
  const overview: readonly Poll[] = [
    ["/v1/balance", 15_000],
    ["/v1/messages?limit=10", 15_000],
    [`/v1/messages?status=${NOT_DELIVERED.join("&status=")}&limit=5`, 60_000],
    ["/v1/usage?group_by=hour,status", 60_000],
    ["/v1/usage", 60_000],
    ["/v1/balance", 60_000],
    ["/v1/campaigns?status=paused&limit=50", 60_000],
    ["/v1/sender-ids?limit=100", 60_000],
    ["/v1/webhook-endpoints", 60_000],
    [`${hook}/deliveries?status=failed&limit=50`, 60_000],
    [`${hook}/deliveries?status=pending&limit=50`, 60_000],
  ];
  const messages: readonly Poll[] = [["/v1/messages?limit=50", 10_000]];
  const progress: readonly Poll[] = [
    [campaign, 2000],
    [`${campaign}/recipients?limit=50`, 10_000],
  ];
  const deliveries: readonly Poll[] = [
    [hook, 10_000],
    [`${hook}/deliveries?limit=50`, 3000],
  ];
  return [overview, messages, progress, deliveries].map((page) => [...frame, ...page]);
}
