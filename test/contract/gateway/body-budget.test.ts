/** Clients that stall, and clients that send or request too much at once. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { API_KEY, exchange, openRestApp, type RestApp } from "../../support/rest-app.ts";

const RESPONSE_BOUNDS = {
  bytesMax: 1e9,
  ownerBytesMax: 1e9,
  connectionBytesMax: 1e9,
  unreadMaxMs: 60_000,
};
const SEND = "/v1/sms/messages";
const GOOD = JSON.stringify({ to: "08031234567", from: "Acme", body: "Hello" });

describe("REST: memory budgets", () => {
  let app: RestApp | undefined;
  let sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await app?.close();
  });

  const lines = (...more: string[]) =>
    [`Host: x`, `Authorization: Bearer ${API_KEY}`, ...more, "", ""].join("\r\n");
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${lines()}`;
  const begun = (length: number) =>
    `POST ${SEND} HTTP/1.1\r\n${lines("Content-Type: application/json", `Content-Length: ${length}`)}`;

  /** Opens a connection that sends these bytes and no more; collects the response. */
  async function stall(
    port: number,
    bytes: string,
  ): Promise<{ socket: Socket; text: () => string }> {
    const socket = connect({ host: "127.0.0.1", port });
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(bytes);
    return { socket, text: () => text };
  }

  async function send(): Promise<number> {
    const answer = await fetch(`${app?.url}${SEND}`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
      body: GOOD,
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  it("stalled bodies do not count toward the load limit", async () => {
    app = await openRestApp({ requestsMax: 3 });
    const { port } = app;
    await Promise.all(Array.from({ length: 20 }, () => stall(port, begun(9))));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await send()).to.equal(202);
    const balance = await exchange(port, (write) => write(get("/v1/messages/x")), { count: 1 });
    expect(balance.answers[0]?.status).to.equal(404);
  });

  it("with too many bodies in transit the oldest gets 503", async () => {
    app = await openRestApp({ bodyBounds: { receivedMax: 5, bytesMax: 1e9 } });
    const stalled: Awaited<ReturnType<typeof stall>>[] = [];
    for (let at = 0; at < 6; at += 1) stalled.push(await stall(app.port, begun(9)));
    await eventually(() => stalled[0]?.text().startsWith("HTTP/1.1 503 "));
    expect(stalled.slice(1).map(({ text }) => text())).to.deep.equal(["", "", "", "", ""]);
    expect(await send()).to.equal(202);
  });

  it("when all bodies together are too large, the oldest in transit is evicted", async () => {
    app = await openRestApp({ bodyBounds: { receivedMax: 100, bytesMax: 250_000 } });
    const first = await stall(app.port, `${begun(200_000)}${"x".repeat(100_000)}`);
    const second = await stall(app.port, `${begun(200_000)}${"x".repeat(100_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await stall(app.port, `${begun(200_000)}${"x".repeat(100_000)}`);
    await eventually(() => first.text().startsWith("HTTP/1.1 503 "));
    expect(second.text()).to.equal("");
    expect(await send()).to.equal(202);
  });

  it("a body in chunks of one byte takes little more memory than its bytes", async function () {
    this.timeout(120_000);
    // Tiny chunks have a fifth of the event loop.
    app = await openRestApp({ bodyTimeoutMs: 60_000 });
    const start = `POST ${SEND} HTTP/1.1\r\n${lines(
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    )}`;
    const before = process.memoryUsage().rss;
    const { socket, text } = await stall(app.port, start);
    for (let at = 0; at < 40; at += 1) {
      if (!socket.write("1\r\n1\r\n".repeat(10_000))) await once(socket, "drain");
    }
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(process.memoryUsage().rss - before).to.be.below(100e6);
    socket.write("0\r\n\r\n");
    await eventually(() => text().startsWith("HTTP/1.1 422 "), { timeoutMs: 60_000 });
  });

  it("an evicted body closes its connection and gets one response", async () => {
    app = await openRestApp({ bodyBounds: { receivedMax: 1, bytesMax: 1e9 } });
    const { socket, text } = await stall(app.port, begun(9));
    await stall(app.port, begun(9));
    await once(socket, "close");
    expect(text().match(/HTTP\/1\.1/g)).to.have.length(1);
    expect(text()).to.match(/^HTTP\/1\.1 503 [\s\S]*connection: close/i);
  });

  it("nothing is read behind garbage while the response before it is unread", async function () {
    this.timeout(20_000);
    app = await openRestApp();
    const { socket } = await stall(app.port, "");
    socket.pause();
    socket.write(`${get("/openapi.json").repeat(60)}garbage\r\n\r\n`);
    const offered = 64_000_000;
    socket.write(Buffer.alloc(offered, "x"));
    let left = socket.writableLength;
    for (let at = 0; at < 10; at += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      left = socket.writableLength;
    }
    expect(left, "bytes that the gateway did not read").to.be.above(offered / 2);
    expect(await send()).to.equal(202);
  });

  it("unread answers are bounded for one account, from the moment they are made", async () => {
    const page = "x".repeat(16_000_000);
    const { promise: made, resolve } = Promise.withResolvers<void>();
    let answers = 0;
    app = await openRestApp({
      responseBounds: { ...RESPONSE_BOUNDS, ownerBytesMax: 50_000_000 },
      ports: {
        wallets: {
          async getWallet() {
            answers += 1;
            if (answers === 10) resolve();
            return { wallet: { currency: page } };
          },
        } as never,
      },
    });
    const clients = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const client = await stall(app?.port ?? 0, "");
        client.socket.pause();
        client.socket.write(get("/v1/balance"));
        return client;
      }),
    );
    await made;
    await eventually(() => app?.finished.length === 10);
    for (const { socket } of clients) socket.resume();
    await eventually(() => clients.filter(({ socket }) => socket.destroyed).length === 7);
    expect(await send()).to.equal(202);
  });

  it("a client that pipelines too many requests is disconnected", async () => {
    app = await openRestApp();
    const { socket } = await stall(app.port, "");
    socket.pause();
    const closed = once(socket, "close");
    socket.write(get("/docs").repeat(400));
    socket.resume();
    await closed;
    expect(await send()).to.equal(202);
  });

  it("malformed bytes after two valid requests do not prevent their responses", async () => {
    let go: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    app = await openRestApp({
      ports: {
        keyLocks: {
          acquire: () =>
            slow.then(() => ({ state: "acquired" as const, release: async () => undefined })),
        },
      },
    });
    const keyed = `POST ${SEND} HTTP/1.1\r\n${lines(
      "Content-Type: application/json",
      "Idempotency-Key: one",
      `Content-Length: ${GOOD.length}`,
    )}${GOOD}`;
    const { answers } = await exchange(app.port, (write) => {
      write(`${get("/v1/messages/x")}${keyed}garbage\r\n\r\n`);
      setTimeout(go, 100);
    });
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 202, 400]);
  });

  it("a list of a million invalid event types gets one fault, in bounded time and memory", async function () {
    this.timeout(20_000);
    app = await openRestApp();
    const before = process.memoryUsage().rss;
    const answer = await fetch(`${app.url}/v1/webhook-endpoints`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
      body: `{"url":"https://example.com/","event_types":[${"1,".repeat(1_000_000)}1]}`,
    });
    expect(answer.status).to.equal(422);
    const problem = (await answer.json()) as { errors: unknown[] };
    expect(problem.errors.length).to.equal(1);
    expect(process.memoryUsage().rss - before).to.be.below(200e6);
  });
});
