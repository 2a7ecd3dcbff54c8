/** Connections that retry at once after a 503. */
import { Agent, createServer, get } from "node:http";
import { expect } from "chai";
import { type HttpServer, listen } from "../../../gateway/http/server.ts";
import { eventually } from "../../support/poll.ts";

/** Longer than the timeout of a test: a test that waits for the whole pause fails. */
const FAR_MS = 600_000;

describe("REST: a refused connection", () => {
  let http: HttpServer | undefined;
  let agent: Agent;
  let capacity = 0;
  beforeEach(() => {
    capacity = 0;
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  afterEach(async () => {
    agent.destroy();
    await http?.close();
  });

  async function serve(refusedPauseMs: number): Promise<void> {
    http = await listen(createServer(), {
      ...{ host: "127.0.0.1", port: 0, docsUrl: "", leaveMs: 100, refusedPauseMs },
      fast503(request, response) {
        if (capacity > 0 || request.url !== "/") return false;
        response.writeHead(503).end();
        return true;
      },
      handle: (_request, response) => response.writeHead(capacity > 0 ? 200 : 503).end(),
      remainingCapacity: () => capacity,
      onError: () => undefined,
    });
  }

  function ask(path = "/", through = agent): Promise<number> {
    return new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port: http?.port, path, agent: through }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      }).on("error", reject);
    });
  }

  for (const [what, path] of [
    ["by the fast 503", "/"],
    ["by the application", "/app"],
  ] as const) {
    it(`that retries at once waits for the next 503, ${what}`, async () => {
      await serve(500);
      // The pause began after the previous request was sent.
      let sentMs = performance.now();
      await ask(path);
      for (let round = 0; round < 3; round += 1) {
        const previousMs = sentMs;
        sentMs = performance.now();
        expect(await ask(path)).to.equal(503);
        expect(performance.now() - previousMs).to.be.at.least(499);
      }
    });
  }

  it("is read as soon as there is capacity, and then without delay", async () => {
    await serve(FAR_MS);
    await ask();
    const second = ask();
    capacity = 1;
    expect(await second).to.equal(200);
    for (let round = 0; round < 20; round += 1) expect(await ask()).to.equal(200);
  });

  it("that retries after the pause does not wait", async () => {
    const pauseMs = 1500;
    await serve(pauseMs);
    await ask();
    const overMs = performance.now() + pauseMs + 100;
    await eventually(() => performance.now() > overMs);
    const sentMs = performance.now();
    expect(await ask()).to.equal(503);
    expect(performance.now() - sentMs).to.be.below(pauseMs);
  });

  it("is resumed when the process is leaving", async () => {
    await serve(FAR_MS);
    await ask();
    const second = ask();
    const closed = http?.close();
    expect(await second).to.equal(503);
    await closed;
    http = undefined;
  });

  it("waits while other connections are served", async () => {
    await serve(FAR_MS);
    await ask();
    let isAnswered = false;
    const waiting = ask().finally(() => {
      isAnswered = true;
    });
    for (let round = 0; round < 10; round += 1) expect(await ask("/", new Agent())).to.equal(503);
    expect(isAnswered).to.equal(false);
    capacity = 1;
    expect(await waiting).to.equal(200);
  });
});
