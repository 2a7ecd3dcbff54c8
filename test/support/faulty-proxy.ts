import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy to the gateway that refuses the first request and drops the response to the second. */
export async function openFaultyProxy(gateway: string) {
  const keys: string[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    keys.push(String(request.headers["idempotency-key"]));
    if (keys.length === 1) return answer(response, 503, UNAVAILABLE, { "retry-after": "1" });
    const forwarded = await fetch(`${gateway}${request.url}`, {
      method: request.method ?? "POST",
      headers: {
        authorization: String(request.headers.authorization),
        "content-type": String(request.headers["content-type"]),
        "idempotency-key": String(request.headers["idempotency-key"]),
      },
      body: Buffer.concat(chunks),
    });
    const text = await forwarded.text();
    if (keys.length === 2) return void request.socket.destroy();
    return answer(response, forwarded.status, text, {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    keys,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const UNAVAILABLE = JSON.stringify({ code: "service_unavailable", detail: "Busy.", status: 503 });

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}
