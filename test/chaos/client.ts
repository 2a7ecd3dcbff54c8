/**
 * A customer's client by the documented rules: it retries with the same key after Retry-After, or after
 * 1 s, 2 s, 4 s, 8 s. It records every request and response.
 */
import { createWriteStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { callRest, type RestAnswer } from "../support/customer.ts";
import { MARKER } from "./orders.ts";
import type { Tenant } from "./tenants.ts";

/** A request; with several paths, retries alternate between them. */
export type Ask = {
  readonly tenant: Tenant;
  readonly apiKey: string;
  readonly reference: string;
  readonly method: "GET" | "POST";
  readonly paths: readonly string[];
  readonly key?: string;
  readonly body?: unknown;
};

/** Counts by response: a status with its code, or the error of the connection. */
export type Tally = Map<string, number>;

/** A finding in a response, with its request id. */
type Noted = { readonly what: string; readonly ids: readonly string[] };

/** The client of all customers. */
export type Client = {
  /** The final response; undefined when none came before the deadline. */
  ask(ask: Ask): Promise<RestAnswer | undefined>;
  readonly tally: Tally;
  /** Responses with forbidden content. */
  readonly leaks: readonly Noted[];
  /** Responses with 500: the service must handle every fault of the storm. */
  readonly faults: readonly Noted[];
  /** Ends all waits. */
  giveUp(): void;
  close(): Promise<void>;
};

const RETRYABLE = new Set(["rate_limited", "service_unavailable", "internal_error", "conflict"]);
const BACKOFF_MS_MAX = 8000;

/** Writes one JSON line to `file` for each request and its response. */
export function createClient(gateway: string, file: string): Client {
  const records = createWriteStream(file);
  const tally: Tally = new Map();
  const leaks: Noted[] = [];
  const faults: Noted[] = [];
  const patience = new AbortController();

  function note(
    ask: Ask,
    path: string,
    attempt: number,
    atMs: number,
    received: RestAnswer | Error,
  ) {
    const isAnswer = !(received instanceof Error);
    const status = isAnswer ? received.status : 0;
    const what = isAnswer ? `${status} ${received.body.code ?? ""}`.trim() : reasonOf(received);
    tally.set(what, (tally.get(what) ?? 0) + 1);
    const { reference, method, key, body, tenant } = ask;
    const request = { reference, tenant: tenant.id, method, path, key, attempt, body };
    const tookMs = Date.now() - atMs;
    const answer = isAnswer ? received.body : undefined;
    records.write(`${JSON.stringify({ ...request, atMs, tookMs, what, answer })}\n`);
    if (!isAnswer || status < 400) return;
    const text = JSON.stringify(received.body);
    const id = String(received.body.request_id);
    if (status === 500) faults.push({ what: `${method} ${path} was answered ${what}`, ids: [id] });
    if (text.includes(MARKER) || text.includes(ask.apiKey)) {
      leaks.push({ what: `an error answer repeats the body or the key (${what})`, ids: [id] });
    }
  }

  return {
    tally,
    leaks,
    faults,
    async ask(ask) {
      for (let attempt = 0; ; attempt += 1) {
        const path = ask.paths[attempt % ask.paths.length] ?? "";
        const atMs = Date.now();
        const { apiKey, key, body } = ask;
        const options = {
          apiKey,
          ...(key === undefined ? {} : { key }),
          ...(body === undefined ? {} : { body }),
        };
        const received = await callRest(
          { gateway, api_key: apiKey },
          ask.method,
          path,
          options,
        ).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
        note(ask, path, attempt, atMs, received);
        if (!(received instanceof Error) && !RETRYABLE.has(received.body.code ?? ""))
          return received;
        if (patience.signal.aborted) return undefined;
        const hintMs =
          received instanceof Error ? 0 : Number(received.headers.get("retry-after")) * 1000;
        const waitMs = hintMs > 0 ? hintMs : Math.min(BACKOFF_MS_MAX, 1000 * 2 ** attempt);
        await sleep(waitMs * (1 + Math.random() / 4));
      }
    },
    giveUp: () => patience.abort(),
    close: () => new Promise((resolve) => void records.end(resolve)),
  };
}

function reasonOf(error: Error): string {
  const cause = error.cause as { code?: string } | undefined;
  return `no answer: ${cause?.code ?? error.name}`;
}
