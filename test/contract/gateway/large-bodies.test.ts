/** Bodies above 64 KiB: admitted before they are read, paid by size, and few at once. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect } from "chai";
import type { RateLimiter } from "../../../gateway/rate-limit/limiter.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { eventually } from "../../support/poll.ts";
import {
  API_KEY,
  exchange,
  memoryPorts,
  openRestApp,
  type RestApp,
  type RestAppOptions,
} from "../../support/rest-app.ts";

const MIB = 1_048_576;
const BATCH = "/v1/sms/messages";
const GOOD = JSON.stringify({ to: "08031234567", from: "Acme", body: "Hello" });

describe("REST: bodies above 64 KiB", function () {
  this.timeout(20_000);
  let app: RestApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  const open = async (options?: RestAppOptions) => {
    app = await openRestApp(options);
    return app;
  };

  const head = (key: string, ...lines: readonly string[]) =>
    [
      `POST ${BATCH} HTTP/1.1`,
      "Host: x",
      `Authorization: Bearer ${key}`,
      "Content-Type: application/json",
      ...lines,
      "\r\n",
    ].join("\r\n");
  const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;

  async function post(body: string): Promise<{ status: number; headers: Headers }> {
    const answer = await fetch(`${app?.url}${BATCH}`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
      body,
    });
    await answer.arrayBuffer();
    return { status: answer.status, headers: answer.headers };
  }

  /** A limiter that grants everything up to `tokens`, and the costs that it was asked for. */
  function countingLimiter(tokens = Number.POSITIVE_INFINITY) {
    const costs: number[] = [];
    let left = tokens;
    const rateLimiter: RateLimiter = {
      async take(_tenantId, { cost }) {
        costs.push(cost);
        const isAllowed = left >= cost;
        if (isAllowed) left -= cost;
        return { isAllowed, remaining: 0, resetS: 1, retryAfterMs: isAllowed ? 0 : 1500 };
      },
    };
    return { costs, rateLimiter };
  }

  it("without a valid key get 401 before they are sent", async () => {
    const { port } = await open();
    const { answers } = await exchange(port, (send) => send(head("x", `Content-Length: ${MIB}`)), {
      count: 1,
    });
    expect(answers[0]?.status).to.equal(401);
  });

  it("beyond the rate limit get 429 with Retry-After before they are sent", async () => {
    const { rateLimiter } = countingLimiter(7);
    const { port } = await open({ rateLimiter });
    const request = head(API_KEY, `Content-Length: ${MIB}`);
    const { answers } = await exchange(port, (send) => send(request), { count: 1 });
    expect(answers[0]?.status).to.equal(429);
    expect(answers[0]?.head).to.match(/^retry-after: 2$/im);
  });

  for (const [name, ending, status] of [
    ["of at most 4 MiB get 401 after their end", "0\r\n\r\n", 401],
    ["of more than 4 MiB get 413", chunk(3.5 * MIB), 413],
  ] as const) {
    it(`in chunks, without a valid key, ${name}`, async () => {
      const { port } = await open();
      const { answers } = await exchange(
        port,
        (send) => send(head("x", "Transfer-Encoding: chunked") + chunk(MIB) + ending),
        { count: 1 },
      );
      expect(answers[0]?.status).to.equal(status);
    });
  }

  for (const [bytes, costs] of [
    [GOOD.length, [1]],
    [131_072, [1]],
    [131_073, [2]],
    [4 * MIB, [32]],
  ] as const) {
    it(`of ${bytes} bytes cost ${costs[0]} tokens, once`, async () => {
      const { rateLimiter, costs: taken } = countingLimiter();
      await open({ rateLimiter });
      expect((await post(GOOD.padEnd(bytes))).status).to.equal(202);
      expect(taken).to.deep.equal(costs);
    });
  }

  it("in chunks pay one token first and the rest at their end", async () => {
    const { rateLimiter, costs } = countingLimiter();
    const { port } = await open({ rateLimiter });
    const body = GOOD.padEnd(MIB);
    const { answers } = await exchange(
      port,
      (send) =>
        send(
          `${head(API_KEY, "Transfer-Encoding: chunked")}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        ),
      { count: 1 },
    );
    expect(answers[0]?.status).to.equal(202);
    expect(costs).to.deep.equal([1, 7]);
  });

  it("in chunks beyond 4 MiB get 413 without RateLimit headers, although they have paid", async () => {
    const { rateLimiter, costs } = countingLimiter();
    const { port } = await open({ rateLimiter });
    const { answers } = await exchange(
      port,
      (send) => send(head(API_KEY, "Transfer-Encoding: chunked") + chunk(MIB) + chunk(4 * MIB)),
      { count: 1 },
    );
    expect(answers[0]?.head).to.match(/^HTTP\/1.1 413 /);
    expect(answers[0]?.head).to.not.match(/ratelimit/i);
    expect(costs).to.deep.equal([1]);
  });

  it("never cost more than the burst, so a full bucket admits the largest", async () => {
    const { rateLimiter, costs } = countingLimiter();
    await open({ rateLimiter, caller: { burst: 5 } });
    expect((await post(GOOD.padEnd(4 * MIB))).status).to.equal(202);
    expect(costs).to.deep.equal([5]);
  });

  it("of one account are received and handled a few at a time; all are served", async () => {
    const go = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const { messaging } = memoryPorts();
    await open({
      ports: {
        sendOne: async (_tenantId, request) => {
          running += 1;
          most = Math.max(most, running);
          await go.promise;
          running -= 1;
          return messaging.sendMessages(request);
        },
      },
    });
    const body = GOOD.padEnd(3 * MIB);
    const all = Promise.all(Array.from({ length: 12 }, () => post(body)));
    await eventually(() => running === 2);
    go.resolve();
    const answers = await all;
    expect(answers.map(({ status }) => status)).to.deep.equal(
      Array.from({ length: 12 }, () => 202),
    );
    expect(most).to.equal(2);
  });

  it("that stall hold the account's other large bodies only", async () => {
    const { port } = await open({ bodyTimeoutMs: 1500 });
    const stalled = Array.from({ length: 3 }, () =>
      exchange(port, (send) => send(head(API_KEY, `Content-Length: ${4 * MIB}`)), { count: 1 }),
    );
    await eventually(async () => (await post(GOOD)).status === 202);
    // A fourth waits, and is served when the others have timed out.
    expect((await post(GOOD.padEnd(4 * MIB))).status).to.equal(202);
    for (const { answers } of await Promise.all(stalled)) {
      expect(answers[0]?.status).to.equal(408);
    }
  });

  it("of a client that leaves while it waits give their place back", async () => {
    const { port } = await open({ bodyTimeoutMs: 1000 });
    const request = head(API_KEY, `Content-Length: ${4 * MIB}`);
    await Promise.all(
      Array.from({ length: 20 }, () => exchange(port, (send) => send(request), { timeoutMs: 100 })),
    );
    expect((await post(GOOD.padEnd(4 * MIB))).status).to.equal(202);
  });

  it("that are refused do not keep their place", async () => {
    const { messaging } = memoryPorts();
    const sendOne = async () => {
      throw new AppError("insufficient_balance", "Too little.");
    };
    await open({ ports: { messaging, sendOne } });
    for (let at = 0; at < 10; at += 1) {
      expect((await post(GOOD.padEnd(4 * MIB))).status).to.equal(402);
    }
  });

  it("of requests for pages are not read to their end", async () => {
    const { port } = await open();
    const begun = "GET /docs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const page = await exchange(port, (send) => send(`${begun}${chunk(MIB)}0\r\n\r\n`), {
      count: 1,
    });
    expect(page.answers[0]?.status).to.equal(200);
    const chunks = "1\r\n \r\n".repeat(10_000);
    const { ended } = await exchange(port, async (send) => {
      send(begun);
      for (let at = 0; at < 100; at += 1) {
        send(chunks);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    expect(ended).to.equal(true);
  });

  it("in tiny chunks are read, slowly, and leave the loop to others", async () => {
    const { port } = await open({ bodyTimeoutMs: 15_000 });
    const tiny = "1\r\n \r\n".repeat(100_000);
    const slow = exchange(
      port,
      (send) =>
        send(
          `${head(API_KEY, "Transfer-Encoding: chunked")}${GOOD.length.toString(16)}\r\n${GOOD}\r\n${tiny}0\r\n\r\n`,
        ),
      { count: 1, timeoutMs: 15_000 },
    );
    expect((await post(GOOD)).status).to.equal(202);
    expect((await slow).answers[0]?.status).to.equal(202);
  });

  it("in tiny chunks that do not arrive in time are discarded a few at a time", async () => {
    const { port } = await open({ bodyTimeoutMs: 5000 });
    const body = `${head(API_KEY, "Transfer-Encoding: chunked")}${"1\r\n \r\n".repeat(100_000)}`;
    const all = Array.from({ length: 100 }, () =>
      exchange(port, (send) => send(body), { count: 1, timeoutMs: 15_000 }),
    );
    // The first 64 KiB of each body are read at once, before a later request.
    expect((await post(GOOD)).status).to.equal(202);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const statuses = (await Promise.all(all)).map(({ answers }) => answers[0]?.status);
    delay.disable();
    expect(new Set(statuses)).to.deep.equal(new Set([408]));
    expect(delay.max / 1e6, "longest stall of the event loop, ms").below(250);
  });
});
