/** Checks after a rolling restart: every message's status, its webhooks, its single submit. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { layoutOf } from "../../deploy/dev/paths.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { waitForStatuses } from "../support/customer.ts";
import { readCounters } from "../support/simulator-control.ts";
import { overlooked, smsctl } from "../support/smsctl.ts";
import type { LoadRecord } from "./rolling-load.ts";

/** The faults found, one line each. */
export type Breaches = string[];

type Messages = LoadRecord["messages"];
type Webhook = {
  readonly body: string;
  readonly verified: boolean;
  readonly received_at: string;
};

const SETTLE_MS = 120_000;
const ENDED: ReadonlySet<string> = new Set([
  ...["delivered", "undelivered", "expired", "rejected", "failed", "cancelled"],
]);

/** Every message has its expected status and exactly one submit. */
export async function checkMessages(
  stack: Pick<StackFile, "gateway" | "api_key" | "smsc">,
  messages: Messages,
): Promise<Breaches> {
  const breaches: Breaches = [];
  const seen = await waitForStatuses(stack, messages.keys(), ENDED, SETTLE_MS);
  const wrong = new Map<string, number>();
  for (const [id, { end }] of messages) {
    const message = seen.get(id);
    if (message?.status === end) continue;
    const found = message === undefined ? "lost" : `${message.status} ${message.error?.code ?? ""}`;
    const what = `${end} wanted, ${found.trim()}`;
    wrong.set(what, (wrong.get(what) ?? 0) + 1);
  }
  for (const [what, count] of wrong) breaches.push(`${count} messages: ${what}`);
  const { submits } = await readCounters(stack.smsc.control);
  for (const [id, { to, end }] of messages) {
    const total = submits[to.slice(1)]?.total ?? 0;
    const wanted = end === "delivered" ? 1 : 0;
    if (total !== wanted) breaches.push(`${id}: submitted ${total} times, ${wanted} wanted`);
  }
  return breaches;
}

/** Polls the receiver for its webhooks, because it keeps only the newest. */
export function collectWebhooks(stack: Pick<StackFile, "receiver">) {
  const byMessage = new Map<string, Set<string>>();
  /** By arrival time and body: the receiver drops the oldest. */
  const unverified = new Set<string>();
  let isOver = false;

  async function collect(): Promise<void> {
    const list = (await (await fetch(stack.receiver.events)).json()) as Webhook[];
    for (const { body, verified, received_at: at } of list) {
      if (!verified) {
        unverified.add(`${at} ${body}`);
        continue;
      }
      const { object } = (JSON.parse(body) as { data: { object: Record<string, string> } }).data;
      const { id = "", status = "" } = object;
      const statuses = byMessage.get(id) ?? new Set();
      byMessage.set(id, statuses.add(status));
    }
  }

  function missing(messages: Messages): string[] {
    return [...messages].flatMap(([id, { end }]) => {
      const wanted = end === "delivered" ? ["sent", "delivered"] : ["cancelled"];
      const got = byMessage.get(id);
      return wanted.filter((status) => got?.has(status) !== true).map((one) => `${id} ${one}`);
    });
  }

  async function keepCollecting(): Promise<void> {
    while (!isOver) {
      await collect();
      for (let wait = 0; wait < 50 && !isOver; wait += 1) await pause(100);
    }
  }

  const finished = keepCollecting();
  return {
    /** Waits for a webhook of each change of each message; returns the missing ones. */
    async check(messages: Messages): Promise<Breaches> {
      isOver = true;
      await finished;
      const untilMs = Date.now() + SETTLE_MS;
      await collect();
      while (missing(messages).length > 0 && Date.now() < untilMs) {
        await pause(1000);
        await collect();
      }
      const lost = missing(messages);
      const breaches = lost.slice(0, 5).map((one) => `no webhook for ${one}`);
      if (lost.length > 5) breaches.push(`and for ${lost.length - 5} more`);
      if (unverified.size > 0) breaches.push(`${unverified.size} webhooks with a wrong signature`);
      return breaches;
    },
  };
}

/** `smsctl check` is clean after settlement, and compared at least this many messages. */
export async function checkBooks(
  stack: Pick<StackFile, "grpc" | "grpc_token">,
  messages: number,
): Promise<Breaches> {
  for (let attempt = 1; ; attempt += 1) {
    const { code, value, error } = await smsctl(stack, "check");
    // A pending settlement is no breach: check again.
    const unseen = overlooked(value, { messages, settlements: messages, wallets: 1 });
    if (code === 0 && unseen.length === 0) return [];
    if (attempt === 15) {
      return code === 0
        ? unseen.map((what) => `smsctl check ${what}`)
        : [`smsctl check: ${JSON.stringify(value) ?? error}`];
    }
    await pause(2000);
  }
}

/** No process logged an error, and each restarted one logged a clean close. */
export function checkLogs(dir: string, restarted: readonly string[]): Breaches {
  const { logDir } = layoutOf(dir);
  const silent = restarted.filter(
    (name) => !readFileSync(join(logDir, `${name}.log`), "utf8").includes('"clean":true'),
  );
  const lines = readdirSync(logDir).flatMap((file) =>
    readFileSync(join(logDir, file), "utf8")
      .split("\n")
      .filter((line) => /"level":"(error|fatal)"|"clean":false/.test(line))
      .map((line) => `${file}: ${line.slice(0, 600)}`),
  );
  const more = lines.length > 10 ? [`and ${lines.length - 10} more`] : [];
  return [
    ...silent.map((name) => `${name} never said that it closed`),
    ...lines.slice(0, 10),
    ...more,
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
