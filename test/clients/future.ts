/** A later release of the gateway: a proxy on loopback that puts words into responses which today has not. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Words of today, and others in their place. Each belongs to an enumeration that may grow within v1. */
const NEW_WORDS: Readonly<Record<string, string>> = {
  '"source":"api"': '"source":"carrier_pigeon"',
  '"channel":"sms"': '"channel":"rcs"',
  '"encoding":"gsm7"': '"encoding":"gsm8"',
  '"code":"unauthenticated"': '"code":"key_expired"',
};

/** Starts the proxy of a gateway. */
export async function startFuture(
  gateway: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${gateway}${request.url}`, { headers: { authorization } });
    let text = await answer.text();
    for (const [today, later] of Object.entries(NEW_WORDS)) text = text.replaceAll(today, later);
    const type = answer.headers.get("content-type") ?? "";
    response.writeHead(answer.status, { "content-type": type }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
