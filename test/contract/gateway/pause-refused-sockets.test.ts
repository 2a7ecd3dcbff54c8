/** Connections that retry at once after a 503. */
import { Agent, createServer, get } from "node:http";
import { expect } from "chai";
import { type HttpServer, listen } from "../../../gateway/http/server.ts";

describe("REST: a refused connection", () => {
  let http: HttpServer;
  let agent: Agent;
  let capacity = 0;
  beforeEach(async () => {
    capacity = 0;
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
    http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 100 },
      fast503(request, response) {
        if (capacity > 0 || request.url !== "/") return false;
        response.writeHead(503).end();
        return true;
      },
      handle: (_request, response) => response.writeHead(capacity > 0 ? 200 : 503).end(),
      remainingCapacity: () => capacity,
      onError: () => undefined,
    });
  });
  afterEach(async () => {
    agent.destroy();
    await http.close();
  });

  function ask(path = "/"): Promise<{ status: number; ms: number }> {
    const sentMs = performance.now();
    return new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port: http.port, path, agent }, (answer) => {
        answer.resume().on("end", () => {
          resolve({ status: answer.statusCode ?? 0, ms: performance.now() - sentMs });
        });
      }).on("error", reject);
    });
  }

  for (const [what, path] of [
    ["by the fast 503", "/"],
    ["by the application", "/app"],
  ] as const) {
    it(`that retries at once waits half a second for the next 503, ${what}`, async () => {
      expect((await ask(path)).ms).to.be.below(300);
      for (let round = 0; round < 3; round += 1) {
        const { status, ms } = await ask(path);
        expect(status).to.equal(503);
        expect(ms).to.be.within(400, 1500);
      }
    });
  }

  it("is read as soon as there is capacity, and then without delay", async () => {
    await ask();
    const second = ask();
    setTimeout(() => {
      capacity = 1;
    }, 100);
    const { status, ms } = await second;
    expect(status).to.equal(200);
    // Without capacity the pause would last 500 ms.
    expect(ms).to.be.within(90, 450);
    const times: number[] = [];
    for (let round = 0; round < 20; round += 1) times.push((await ask()).ms);
    expect(times.sort((a, b) => a - b)[10], "the median of those after it").to.be.below(90);
  });

  it("that retries after Retry-After does not wait", async () => {
    await ask();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await ask()).ms).to.be.below(300);
  });

  it("is resumed when the process is leaving", async () => {
    await ask();
    const second = ask();
    await new Promise((resolve) => setTimeout(resolve, 50));
    void http.close();
    const { status, ms } = await second;
    expect([status, ms < 400]).to.deep.equal([503, true]);
  });

  it("waits while other connections are served", async () => {
    await ask();
    const waiting = ask();
    const others = new Agent();
    const { status } = await new Promise<{ status: number }>((resolve, reject) => {
      get({ host: "127.0.0.1", port: http.port, path: "/", agent: others }, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode ?? 0 });
      }).on("error", reject);
    });
    expect(status).to.equal(503);
    expect((await waiting).ms).to.be.above(400);
  });
});
