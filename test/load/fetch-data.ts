import type { StackFile } from "../../deploy/dev/stack-file.ts";

/** Calls the REST API once as the demo tenant and returns the data of the answer; throws unless it is a success. */
export async function fetchData<T>(
  { gateway, api_key }: StackFile,
  method: string,
  path: string,
  { body, headers }: { body?: string; headers?: Record<string, string> } = {},
): Promise<T> {
  const response = await fetch(new URL(path, gateway), {
    method,
    headers: {
      authorization: `Bearer ${api_key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return (JSON.parse(text) as { data: T }).data;
}
