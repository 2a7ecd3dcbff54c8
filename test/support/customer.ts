/**
 * A customer's program as documented: every send has an idempotency key, and every retryable error is retried with
 * the same key after 1 s, 2 s, 4 s and so on.
 */
import type { StackFile } from "../../deploy/dev/stack-file.ts";

/** A message in a REST response. */
export type SeenMessage = {
  readonly id: string;
  readonly status: string;
  readonly to: string;
  readonly amount: string | null;
  readonly held_amount: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly status_history?: readonly { status: string; occurred_at: string }[];
};

/** A REST response. */
export type RestAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data?: unknown; readonly code?: string } & Record<string, unknown>;
};

const RETRYABLE = new Set(["rate_limited", "service_unavailable", "internal_error", "conflict"]);

/** Calls the REST API once. */
export async function callRest(
  stack: Pick<StackFile, "gateway" | "api_key">,
  method: string,
  path: string,
  options: { body?: unknown; key?: string; apiKey?: string; headers?: Record<string, string> } = {},
): Promise<RestAnswer> {
  const response = await fetch(new URL(path, stack.gateway), {
    method,
    headers: {
      authorization: `Bearer ${options.apiKey ?? stack.api_key}`,
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.key === undefined ? {} : { "idempotency-key": options.key }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? {} : (JSON.parse(text) as RestAnswer["body"]),
  };
}

/** Calls with a key until the response is final, by the documented retry rule. */
async function callUntilFinal(
  stack: Pick<StackFile, "gateway" | "api_key">,
  method: string,
  path: string,
  options: { body?: unknown; key?: string },
  limitMs = 120_000,
): Promise<RestAnswer> {
  const deadlineMs = Date.now() + limitMs;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await callRest(stack, method, path, options).catch((error: unknown) => {
      if (Date.now() > deadlineMs) throw error;
      return undefined;
    });
    const isFinal = answer !== undefined && !RETRYABLE.has(answer.body.code ?? "");
    if (isFinal) return answer;
    if (Date.now() > deadlineMs)
      throw new Error(`no final answer: ${JSON.stringify(answer?.body)}`);
    const waitMs = Math.min(60_000, 1000 * 2 ** attempt) / 2;
    await new Promise((resolve) => setTimeout(resolve, waitMs + Math.random() * waitMs));
  }
}

/** The nth ordinary recipient: a distinct valid Nigerian mobile that is not a test number. */
export function recipient(count: number): string {
  const rest = count % 9000;
  const block = Math.floor(count / 9000);
  return `+23480${3 + (block % 7)}${String(Math.floor(block / 7)).padStart(3, "0")}${String(rest).padStart(4, "0")}`;
}

/** Sends `count` messages, `inFlight` at once; returns their ids in order of acceptance. */
export async function sendMany(
  stack: Pick<StackFile, "gateway" | "api_key" | "sender_id">,
  options: {
    readonly count: number;
    readonly inFlight: number;
    readonly firstRecipient?: number;
    readonly keyPrefix: string;
    readonly onAccepted?: (accepted: number) => void;
  },
): Promise<Map<string, string>> {
  const accepted = new Map<string, string>();
  let next = 0;
  await Promise.all(
    Array.from({ length: options.inFlight }, async () => {
      while (next < options.count) {
        const number = next;
        next += 1;
        const to = recipient((options.firstRecipient ?? 0) + number);
        const answer = await callUntilFinal(stack, "POST", "/v1/sms/messages", {
          key: `${options.keyPrefix}-${number}`,
          body: { to, from: stack.sender_id, body: `Message ${number}` },
        });
        if (answer.status !== 202) throw new Error(`refused: ${JSON.stringify(answer.body)}`);
        accepted.set((answer.body.data as SeenMessage).id, to);
        options.onAccepted?.(accepted.size);
      }
    }),
  );
  return accepted;
}

/** Reads messages until each has a status in `wanted`; returns them by id. */
export async function waitForStatuses(
  stack: Pick<StackFile, "gateway" | "api_key">,
  ids: Iterable<string>,
  wanted: ReadonlySet<string>,
  limitMs: number,
): Promise<Map<string, SeenMessage>> {
  const deadlineMs = Date.now() + limitMs;
  const waiting = new Set(ids);
  const seen = new Map<string, SeenMessage>();
  while (waiting.size > 0) {
    for (const chunk of chunks([...waiting], 32)) {
      await Promise.all(
        chunk.map(async (id) => {
          const { status, body } = await callRest(stack, "GET", `/v1/messages/${id}`);
          if (status !== 200) return;
          const message = body.data as SeenMessage;
          seen.set(id, message);
          if (wanted.has(message.status)) waiting.delete(id);
        }),
      );
    }
    if (waiting.size === 0 || Date.now() > deadlineMs) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return seen;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const result: T[][] = [];
  for (let at = 0; at < items.length; at += size) result.push(items.slice(at, at + size));
  return result;
}
