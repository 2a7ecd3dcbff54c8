/** REST calls of the demo, and its output. */
import { pollUntil } from "./poll.ts";
import { StackError } from "./stack-error.ts";
import type { StackFile } from "./stack-file.ts";

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

/** Prints a line. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
