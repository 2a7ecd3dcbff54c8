import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect } from "chai";
import {
  createResponseBudget,
  type ResponseBounds,
  type ResponseBudget,
} from "../../../gateway/http/response-budget.ts";
import { eventually } from "../../support/poll.ts";

const MIB = 1_048_576;
const BODY = "x".repeat(16 * MIB);
const BOUNDS = {
  bytesMax: 1000 * MIB,
  ownerBytesMax: 1000 * MIB,
  connectionBytesMax: 1000 * MIB,
  unreadMaxMs: 60_000,
};

describe("unread responses", () => {
  let server: Server;
  let responses: ResponseBudget;
  let sockets: Socket[] = [];
  afterEach(() => {
    responses.stop();
    for (const socket of sockets) socket.destroy();
    sockets = [];
    server.close();
  });

  /** A server whose path names the owner of the response. */
  async function open(bounds: Partial<ResponseBounds>): Promise<void> {
    responses = createResponseBudget({ ...BOUNDS, ...bounds });
    server = createServer((request, response) => {
      responses.add(response);
      response.once("close", () => responses.delete(response));
      responses.hold(response, BODY.length, request.url ?? "");
      response.end(BODY);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  }

  /** A client that sends requests and does not read; resolves when the server has its first one. */
  async function ask(owner = "/", times = 1): Promise<{ isOpen: boolean }> {
    const { port } = server.address() as AddressInfo;
    const client = { isOpen: true };
    const asked = Promise.withResolvers<void>();
    server.once("request", ({ socket }: IncomingMessage) => {
      socket.once("close", () => {
        client.isOpen = false;
      });
      asked.resolve();
    });
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(`GET ${owner} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(times));
    await asked.promise;
    return client;
  }

  async function askEach(owners: readonly string[]): Promise<{ isOpen: boolean }[]> {
    const clients: { isOpen: boolean }[] = [];
    for (const owner of owners) clients.push(await ask(owner));
    return clients;
  }

  const openOf = (clients: readonly { isOpen: boolean }[]) => clients.map(({ isOpen }) => isOpen);

  it("are kept up to a budget over all connections; beyond it the oldest connections are closed", async () => {
    await open({ bytesMax: 60 * MIB });
    const clients = await askEach(["/a", "/b", "/c", "/d", "/e"]);
    await eventually(() => clients[1]?.isOpen === false);
    expect(openOf(clients)).to.deep.equal([false, false, true, true, true]);
  });

  it("of one owner beyond its budget close the owner's connections, and no others", async () => {
    await open({ ownerBytesMax: 20 * MIB });
    const clients = await askEach(["/a", "/b", "/c", "/c"]);
    await eventually(() => clients[2]?.isOpen === false);
    expect(openOf(clients)).to.deep.equal([true, true, false, true]);
  });

  it("of one connection are bounded, also when queued behind each other", async () => {
    await open({ connectionBytesMax: 40 * MIB });
    const few = await ask("/", 2);
    const many = await ask("/", 3);
    await eventually(() => !many.isOpen);
    expect(few.isOpen).to.equal(true);
  });

  it("close their connection after the longest time, although the client reads a little", async function () {
    this.timeout(10_000);
    await open({ unreadMaxMs: 500 });
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1" });
    sockets.push(socket);
    socket.pause();
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const reading = setInterval(() => socket.read(1), 20);
    await eventually(() => openConnections(server).then((count) => count === 1));
    await eventually(() => openConnections(server).then((count) => count === 0));
    clearInterval(reading);
  });

  it("do not affect clients that read", async () => {
    await open({ bytesMax: 60 * MIB, ownerBytesMax: 40 * MIB });
    const { port } = server.address() as AddressInfo;
    for (let at = 0; at < 5; at += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      expect((await answer.text()).length).to.equal(16 * MIB);
    }
  });
});

function openConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
