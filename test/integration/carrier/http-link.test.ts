/** The link to a carrier's HTTP interface, over real sockets. */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { expect } from "chai";
import { freePorts } from "../../../deploy/dev/ports.ts";
import { createHttpLink } from "../../../services/carrier/adapters/links/http-link.ts";
import type { Link } from "../../../services/carrier/app/link.ts";
import { HTTP_DEFAULTS } from "../../../services/routing/domain/http-settings.ts";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { eventually } from "../../support/poll.ts";

const PART = { messageId: "msg_1", index: 0, payload: "{}" };

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

  function open(
    url: string,
    { timeoutMs = 500, onChange }: { timeoutMs?: number; onChange?: (status: string) => void } = {},
  ): Link {
    const link = createHttpLink({
      connectorId: "web",
      settings: {
        ...HTTP_DEFAULTS,
        url,
        timeoutMs,
        receiptSecret: "sixteen-characters",
      } as never,
      events: {
        beforeWrite: () => undefined,
        onReceipt: async () => undefined,
        onLateAnswer: () => undefined,
        onChange: () => onChange?.(link.status),
        onInbound: async () => undefined,
      },
      receiptBase: "http://127.0.0.1:1",
      clock: systemClock,
    });
    link.start();
    return link;
  }

  it("a request that was written and not answered leaves the message in doubt", async () => {
    server = createServer(() => undefined);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const link = open(`http://127.0.0.1:${port}/send`);
    expect(await link.submit(PART)).to.include({ kind: "unknown", code: "timeout" });
    await link.close(0);
  });

  it("is in doubt about a request that is answered with another protocol", async () => {
    const port = await listen();
    server?.removeAllListeners("request");
    server?.on("request", (request) => {
      request.socket.write("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
    });
    const link = open(`http://127.0.0.1:${port}/send`);
    expect(await link.submit(PART)).to.include({ kind: "unknown", code: "http_101" });
    expect(link.inFlight).to.equal(0);
    await link.close(0);
  });

  it("lets a request in flight end when the link closes", async () => {
    const port = await listen();
    server?.removeAllListeners("request");
    const received = new Promise<ServerResponse>((resolve) => {
      server?.on("request", (_request, response) => resolve(response));
    });
    const link = open(`http://127.0.0.1:${port}/send`, { timeoutMs: 20_000 });
    const outcome = link.submit(PART);
    const response = await received;
    await link.close(0);
    response.end('{"id":"c-2"}');
    expect(await outcome).to.include({ kind: "accepted", carrierMessageId: "c-2" });
  });

  it("sends nothing to a server that never ends its TLS handshake, and knows it", async () => {
    const silent = createTcpServer(() => undefined);
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const link = open(`https://127.0.0.1:${port}/send`);
    expect(await link.submit(PART)).to.include({ kind: "not_sent", code: "timeout" });
    expect(link.status).to.equal("down");
    await link.close(0);
    silent.close();
  });

  it("sends nothing to a server that speaks no TLS, or breaks off", async () => {
    const port = await listen();
    const link = open(`https://127.0.0.1:${port}/send`);
    expect((await link.submit(PART)).kind).to.equal("not_sent");
    await link.close(0);
  });

  it("knows a kept connection: a request over it that is cut is in doubt", async () => {
    const port = await listen();
    const link = open(`http://127.0.0.1:${port}/send`);
    expect((await link.submit(PART)).kind).to.equal("accepted");
    server?.removeAllListeners("request");
    server?.on("request", (request) => request.socket.destroy());
    expect((await link.submit(PART)).kind).to.equal("unknown");
    await link.close(0);
  });

  it("is down for a while when the carrier cannot be reached, and up again when it can", async () => {
    const [port = 0] = await freePorts(1);
    const changes: string[] = [];
    const link = open(`http://127.0.0.1:${port}/send`, {
      onChange: (status) => void changes.push(status),
    });
    expect(link.status).to.equal("bound");
    expect(await link.submit(PART)).to.include({ kind: "not_sent", code: "ECONNREFUSED" });
    expect(link.status).to.equal("down");
    await listen(port);
    await eventually(() => link.status === "bound");
    expect(changes).to.deep.equal(["bound", "down", "bound"]);
    expect(await link.submit(PART)).to.include({ kind: "accepted" });
    expect(link.status).to.equal("bound");
    await link.close(0);
    expect(link.status).to.equal("down");
  });
});
