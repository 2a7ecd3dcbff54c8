/**
 * Customers at work while processes are restarted: single sends with and without a key, reads,
 * lists, balances, and scheduled sends that are cancelled. No request is retried: an unexpected response to
 * the first attempt counts as failed.
 */
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { recipient } from "../support/customer.ts";
import type { Answer, Caller, Entry } from "./rolling-entry.ts";

/** The result of a load run, filled while it runs. */
export type LoadRecord = {
  requests: number;
  /** Counts of failures by kind. */
  readonly failures: Map<string, number>;
  /** Message id to its recipient and to the status that it must end in. */
  readonly messages: Map<string, { readonly to: string; readonly end: "delivered" | "cancelled" }>;
};

/** A running load. */
export type Load = {
  readonly record: LoadRecord;
  /** Waits for the requests in flight. */
  stop(): Promise<void>;
};

/** Enough for the rate below at 100 ms per request; more would only queue on a slow machine. */
const CALLERS = 32;
/** Low enough for two replicas of every process on a small machine, with one of them down. */
const PER_SECOND = 250;
const HOUR_MS = 3_600_000;

/** Starts the load, until stopped. */
export function startLoad(stack: StackFile, entry: Entry): Load {
  const record: LoadRecord = { requests: 0, failures: new Map(), messages: new Map() };
  const startedMs = performance.now();
  const authorization = `Bearer ${stack.api_key}`;
  const json = { authorization, "content-type": "application/json" };
  const run = `${process.pid}-${Date.now()}`;
  const recentIds: string[] = [];
  let recipients = 0;
  let isOver = false;

  /** Counts a request; returns undefined when it failed. */
  async function count(
    what: string,
    expected: number,
    call: () => Promise<Answer>,
  ): Promise<Record<string, string> | undefined> {
    record.requests += 1;
    let failure: string;
    try {
      const { status, body } = await call();
      if (status === expected) {
        return (JSON.parse(body) as { data: Record<string, string> }).data;
      }
      const problem = JSON.parse(body) as { code?: string; detail?: string };
      failure = `${what}: ${status} ${problem.code}: ${problem.detail}`;
    } catch (error) {
      failure = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    }
    record.failures.set(failure, (record.failures.get(failure) ?? 0) + 1);
    return undefined;
  }

  async function send(caller: Caller, number: number, sendAt?: string): Promise<string> {
    const to = recipient(recipients);
    recipients += 1;
    const isKeyed = number % 2 === 0;
    const headers = isKeyed ? { ...json, "idempotency-key": `${run}-${number}` } : json;
    const body = { to, from: stack.sender_id, body: `Message ${number}`, send_at: sendAt };
    const message = await count("send", 202, () =>
      caller.call("POST", "/v1/sms/messages", headers, JSON.stringify(body)),
    );
    const id = message?.id ?? "";
    if (id === "") return id;
    record.messages.set(id, { to, end: sendAt === undefined ? "delivered" : "cancelled" });
    if (sendAt === undefined) recentIds.push(id);
    if (recentIds.length > 500) recentIds.shift();
    return id;
  }

  async function sendAndCancel(caller: Caller, number: number): Promise<void> {
    const id = await send(caller, number, new Date(Date.now() + HOUR_MS).toISOString());
    if (id === "") return;
    await count("cancel", 200, () => caller.call("POST", `/v1/messages/${id}/cancel`, json));
  }

  async function get(caller: Caller, what: string, path: string): Promise<void> {
    await count(what, 200, () => caller.call("GET", path, { authorization }));
  }

  async function work(caller: Caller, number: number): Promise<void> {
    const kind = number % 20;
    const id = recentIds[number % Math.max(1, recentIds.length)];
    if (kind < 8 || id === undefined) await send(caller, number);
    else if (kind < 15) await get(caller, "read", `/v1/messages/${id}`);
    else if (kind < 17) await get(caller, "balance", "/v1/balance");
    else if (kind < 19) await get(caller, "list", "/v1/messages?limit=5");
    else await sendAndCancel(caller, number);
  }

  let number = 0;
  async function callAgain(): Promise<void> {
    const caller = entry.openCaller();
    while (!isOver) {
      const dueMs = startedMs + (number * 1000) / PER_SECOND;
      const mine = number;
      number += 1;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      await work(caller, mine);
    }
    caller.close();
  }

  const finished = Promise.all(Array.from({ length: CALLERS }, callAgain));
  return {
    record,
    async stop() {
      isOver = true;
      await finished;
    },
  };
}
