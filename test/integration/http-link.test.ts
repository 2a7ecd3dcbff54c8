/** The link to a carrier's HTTP interface, over real sockets. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { createHttpLink } from "../../services/carrier/links/http-link.ts";
import { HTTP_DEFAULTS } from "../../services/routing/domain/http-settings.ts";
import { eventually } from "../support/poll.ts";

describe("a link to an HTTP carrier", () => {
  let server: Server | undefined;

  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
    server = undefined;
  });

  async function listen(port = 0): Promise<number> {
    server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"id":"c-1"}');
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  it("is down for a while when the carrier cannot be reached, and up again when it can", async () => {
    const port = await listen();
    server?.close();
    const changes: string[] = [];
    const link = createHttpLink({
      connectorId: "web",
      settings: {
        ...HTTP_DEFAULTS,
        url: `http://127.0.0.1:${port}/send`,
        receiptSecret: "sixteen-characters",
      } as never,
      events: {
        beforeWrite: () => undefined,
        onReceipt: async () => undefined,
        onLateAnswer: () => undefined,
        onChange: () => void changes.push(link.status),
        onMobileOriginated: () => undefined,
      },
      receiptBase: "http://127.0.0.1:1",
    });
    link.start();
    expect(link.status).to.equal("bound");
    const part = { messageId: "msg_1", index: 0, payload: "{}" };
    expect(await link.submit(part)).to.include({ kind: "not_sent", code: "ECONNREFUSED" });
    expect(link.status).to.equal("down");
    await listen(port);
    await eventually(() => link.status === "bound");
    expect(changes).to.deep.equal(["bound", "down", "bound"]);
    expect(await link.submit(part)).to.include({ kind: "accepted" });
    expect(link.status).to.equal("bound");
    await link.close(0);
    expect(link.status).to.equal("down");
  });
});
