import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect } from "chai";
import {
  createResponseBudget,
  type ResponseBudget,
} from "../../../gateway/http/response-budget.ts";
import { eventually } from "../../support/poll.ts";

const MIB = 1_048_576;

describe("unread responses", () => {
  let server: Server;
  let responses: ResponseBudget;
  const sockets: Socket[] = [];

  before(async () => {
    responses = createResponseBudget(60 * MIB);
    server = createServer((_request, response) => {
      responses.add(response);
      response.once("close", () => responses.delete(response));
      response.end("x".repeat(16 * MIB));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    responses.stop();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  /** A client that sends requests and does not read. */
  function ask(times = 1): { isOpen: boolean } {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1" });
    const client = { isOpen: true };
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      client.isOpen = false;
    });
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(times));
    // A paused socket notices its end only when it writes.
    const noticing = setInterval(() => socket.write(""), 50);
    socket.once("close", () => clearInterval(noticing));
    return client;
  }

  const openConnections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });

  it("are kept up to a budget over all connections; beyond it the oldest connections are closed", async () => {
    for (let at = 0; at < 8; at += 1) ask();
    await eventually(async () => (await openConnections()) === 3);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await openConnections()).to.equal(3);
  });

  it("count also when queued behind another response of their connection", async () => {
    ask(6);
    await eventually(async () => (await openConnections()) === 0);
  });

  it("do not affect clients that read", async () => {
    const { port } = server.address() as AddressInfo;
    const answers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/`);
        return (await answer.text()).length;
      }),
    );
    expect(answers).to.deep.equal([16 * MIB, 16 * MIB, 16 * MIB]);
  });
});
