/** Stopping the process drops no request: connections in use close after a response. */
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { expect } from "chai";
import { listen } from "../../../gateway/http/server.ts";
import { createMemoryKeyLocks } from "../../support/memory-key-locks.ts";
import { eventually } from "../../support/poll.ts";
import { API_KEY, exchange, openRestApp, type RestApp } from "../../support/rest-app.ts";

describe("REST: draining", () => {
  let app: RestApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  function send(
    agent: Agent,
    key?: string,
  ): Promise<{ status: number; closesConnection: boolean }> {
    return new Promise((resolve, reject) => {
      const call = request(`${app?.url}/v1/sms/messages`, {
        agent,
        method: "POST",
        headers: {
          authorization: `Bearer ${API_KEY}`,
          "content-type": "application/json",
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
      });
      call.on("error", reject);
      call.on("response", (response) => {
        response.resume();
        const closesConnection = response.headers.connection === "close";
        response.on("end", () => resolve({ status: response.statusCode ?? 0, closesConnection }));
      });
      call.end('{"to":"08031234567","from":"Acme","body":"Hello"}');
    });
  }

  it("busy connections get Connection: close, and each of their requests is answered", async () => {
    app = await openRestApp();
    let answered = 0;
    const callers = Array.from({ length: 20 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        const { status, closesConnection } = await send(agent);
        expect(status).to.equal(202);
        answered += 1;
        if (closesConnection) return agent.destroy();
      }
    });
    await eventually(() => answered >= 100);
    await Promise.all([app.drain(), ...callers]);
  });

  it("connections close after a response as soon as the process is leaving", async () => {
    let isLeaving = false;
    const http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 0 },
      fast503: () => false,
      remainingCapacity: () => 1,
      handle: (_request, response) => response.end("{}"),
      isLeaving: () => isLeaving,
      onError: () => undefined,
    });
    const url = `http://127.0.0.1:${http.port}/`;
    const connectionHeader = async () => (await fetch(url)).headers.get("connection");
    try {
      expect(await connectionHeader()).to.equal("keep-alive");
      isLeaving = true;
      expect(await connectionHeader()).to.equal("close");
    } finally {
      await http.close();
    }
  });

  it("requests pipelined behind the last response are not executed", async () => {
    const handled: string[] = [];
    const http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 0 },
      fast503: () => false,
      remainingCapacity: () => 1,
      handle(request, response) {
        handled.push(request.url ?? "");
        setImmediate(() => response.end("{}"));
      },
      isLeaving: () => true,
      onError: () => undefined,
    });
    try {
      const bytes = ["/1", "/2"].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      const { answers, ended } = await exchange(http.port, (send) => send(bytes.join("")));
      expect([answers.length, ended]).to.deep.equal([1, true]);
      expect(handled).to.deep.equal(["/1"]);
    } finally {
      await http.close();
    }
  });

  it("all requests in progress on one connection are answered when closing begins", async () => {
    const answers: (() => void)[] = [];
    const http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 0 },
      fast503: () => false,
      remainingCapacity: () => 1,
      handle: (_request, response) => void answers.push(() => response.end("{}")),
      onError: () => undefined,
    });
    const bytes = ["/1", "/2"].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const exchanged = exchange(http.port, (send) => send(bytes.join("")));
    await eventually(() => answers.length === 2);
    const closed = http.close();
    for (const answer of answers) answer();
    expect((await exchanged).answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    await closed;
  });

  it("no connection is accepted while a response is still being read", async () => {
    const http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 0 },
      fast503: () => false,
      remainingCapacity: () => 1,
      handle: (_request, response) => response.end(Buffer.alloc(16_777_216)),
      onError: () => undefined,
    });
    const url = `http://127.0.0.1:${http.port}/`;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, resolve).on("error", reject).end();
    });
    const closed = http.close();
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    await eventually(async () => {
      const refused = await fetch(url).catch((error: Error) => error.cause);
      return (refused as { code?: string }).code === "ECONNREFUSED";
    });
    expect(isClosed, "before the response was read").to.equal(false);
    answer.resume();
    await closed;
  });

  it("a response that is still being read is sent to its end", async () => {
    const sent = Buffer.alloc(16_777_216, "x");
    const http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 0 },
      fast503: () => false,
      remainingCapacity: () => 1,
      handle: (_request, response) => response.end(sent),
      onError: () => undefined,
    });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`http://127.0.0.1:${http.port}/`, resolve).on("error", reject).end();
    });
    const closed = http.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    let bytes = 0;
    for await (const chunk of answer) bytes += (chunk as Buffer).length;
    expect(bytes).to.equal(sent.length);
    await closed;
  });

  it("closing waits for a request in progress", async () => {
    const events = new EventTarget();
    app = await openRestApp({
      ports: {
        keyLocks: {
          async acquire(scope, fingerprint) {
            const go = once(events, "go");
            events.dispatchEvent(new Event("begun"));
            await go;
            return createMemoryKeyLocks().acquire(scope, fingerprint);
          },
        },
      },
    });
    const agent = new Agent({ keepAlive: true });
    const begun = once(events, "begun");
    const slow = send(agent, "slow");
    await begun;
    const drained = app.drain();
    let isDrained = false;
    void drained.then(() => {
      isDrained = true;
    });
    const endMs = performance.now() + 500;
    while (performance.now() < endMs) await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).to.equal(false);
    events.dispatchEvent(new Event("go"));
    // The connection closes with the response, although the request arrived before the drain began.
    expect(await slow).to.deep.equal({ status: 202, closesConnection: true });
    await drained;
  });
});
