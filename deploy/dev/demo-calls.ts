/** REST calls of the demo, the webhooks that it waits for, and its output. */
import { randomUUID } from "node:crypto";
import { pollUntil } from "./poll.ts";
import { StackError } from "./stack-error.ts";
import type { StackFile } from "./stack-file.ts";

/** A webhook that the receiver got. */
type Received = {
  readonly body: string;
  readonly verified: boolean;
  readonly received_at: string;
};

const WAIT_MS = 20_000;

/** Reads a resource. */
export function get<T>(stack: StackFile, path: string): Promise<T> {
  return call<T>(stack, path, {});
}

/** Calls once and retries on 503: docs/contract.md#errors. */
export async function call<T>(stack: StackFile, path: string, init: RequestInit): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${stack.api_key}` };
  let answer = "";
  const done = await pollUntil<{ data: T }>(
    async () => {
      const signal = AbortSignal.timeout(10_000);
      const response = await fetch(stack.gateway + path, { ...init, headers, signal }).catch(
        (error: unknown) => {
          throw new StackError(`the gateway at ${stack.gateway} does not answer: ${String(error)}`);
        },
      );
      const text = await response.text();
      answer = `${response.status}: ${text}`;
      if (response.ok) return JSON.parse(text) as { data: T };
      if (response.status !== 503) throw refused();
      return undefined;
    },
    WAIT_MS,
    250,
  );
  if (done === undefined) throw refused();
  return done.data;

  function refused(): StackError {
    return new StackError(`${init.method ?? "GET"} ${path} was answered ${answer}`);
  }
}

/** Calls a process of the stack; throws one line when it does not answer. */
export function fetchFrom(name: string, url: string | URL, init?: RequestInit): Promise<Response> {
  return fetch(url, init).catch((error: unknown) => {
    throw new StackError(`${name} does not answer (${String(error)}): make restart S=${name}`);
  });
}

/** A POST of JSON under an idempotency key of its own. */
export function post(body: object): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": randomUUID() },
    body: JSON.stringify(body),
  };
}

/** Waits for the webhook that reports an object, with a status if one is given. */
export async function awaitWebhook(
  stack: StackFile,
  id: string,
  status?: string,
): Promise<Received> {
  const found = await pollUntil(
    async () => {
      const response = await fetchFrom("receiver", `${stack.receiver.events}?contains=${id}`);
      const events = (await response.json()) as Received[];
      return events.find(({ body }) => {
        const object = JSON.parse(body)?.data?.object;
        return object?.id === id && (status === undefined || object.status === status);
      });
    },
    WAIT_MS,
    100,
  );
  if (found !== undefined) return found;
  const what = status === undefined ? id : `${id} as ${status}`;
  throw new StackError(
    `no webhook reported ${what} within ${WAIT_MS / 1000} s: see make logs S=webhook`,
  );
}

/** Prints a line. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
