import { once } from "node:events";
import { connect } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { Code, ConnectError, createClient, type ServiceImpl } from "@connectrpc/connect";
import { Client, credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../proto/gen/grpc/health/v1/health_pb.js";
import { retryDelayMs, toAppError } from "../../../services/shared/rpc/error-status.ts";
import type { Routes } from "../../../services/shared/rpc/routes.ts";
import { createRpcServer } from "../../../services/shared/rpc/server.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks } from "../../support/rpc-links.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";

type Echo = Partial<ServiceImpl<typeof EchoService>>;
const echo =
  (implementation: Echo): Routes =>
  (router) =>
    router.service(EchoService, implementation);

describe("RPC server lifecycle", () => {
  const links = createRpcLinks();
  afterEach(() => links.close());

  /** Calls that wait inside the handler until the test releases them. */
  function createGate() {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const routes = echo({
      async say(request) {
        waiting += 1;
        await gate.promise;
        return request;
      },
    });
    return { routes, open: gate.resolve, waiting: () => waiting };
  }

  it("a drain lets calls in progress finish, refuses new connections and cuts no call", async () => {
    const gate = createGate();
    const { server, target } = await links.serve({ routes: gate.routes });
    const client = createClient(EchoService, links.connect({ target }));
    const calls = Array.from({ length: 20 }, (_, n) => client.say({ value: String(n) }));
    await until(() => gate.waiting() === 20);
    const drained = server.drain(5000);
    const late = failureOf(
      createClient(EchoService, links.connect({ target, defaultTimeoutMs: 500 })).say({}),
    );
    expect((await late).code).to.be.oneOf([Code.Unavailable, Code.DeadlineExceeded]);
    expect(server.inFlight).to.equal(20);
    gate.open();
    const values = (await Promise.all(calls)).map(({ value }) => Number(value));
    expect(values).to.deep.equal(Array.from({ length: 20 }, (_, n) => n));
    expect(await drained).to.deep.equal({ forced: false });
    expect(server.inFlight).to.equal(0);
  });

  it("a drain under load loses no call when another replica exists", async () => {
    const handled = new Map<string, number>();
    const routes = echo({
      async say({ value }) {
        await turn();
        handled.set(value, (handled.get(value) ?? 0) + 1);
        return { value };
      },
    });
    const first = await links.serve({ routes });
    const second = await links.serve({ routes });
    const client = createClient(
      EchoService,
      links.connect({ target: [first.target, second.target] }),
    );
    let sent = 0;
    let isOver = false;
    const caller = async (): Promise<void> => {
      while (!isOver) {
        sent += 1;
        const value = String(sent);
        expect((await client.say({ value })).value).to.equal(value);
      }
    };
    const callers = Array.from({ length: 32 }, caller);
    await until(() => sent > 500);
    const { forced } = await first.server.drain(5000);
    const atDrain = sent;
    await until(() => sent > atDrain + 500);
    isOver = true;
    await Promise.all(callers);
    expect(forced).to.equal(false);
    expect(handled.size).to.equal(sent);
    expect(
      [...handled.values()].every((times) => times === 1),
      "each once",
    ).to.equal(true);
  });

  it("a drain still answers a call that was in transit when it began", async () => {
    const { server, target } = await links.serve({ routes: echo({ say: (request) => request }) });
    const session = connect(`http://${target}`);
    try {
      await once(session, "remoteSettings");
      const drained = server.drain(5000);
      // Sent before the client can have read the GOAWAY.
      const call = session.request({
        ":method": "POST",
        ":path": `/${EchoService.typeName}/Say`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      call.end(Buffer.alloc(5));
      call.resume();
      const [trailers] = await once(call, "trailers");
      expect(trailers["grpc-status"]).to.equal("0");
      expect(await drained).to.deep.equal({ forced: false });
    } finally {
      session.destroy();
    }
  });

  it("a drain ends the remaining calls at its limit with UNAVAILABLE, and aborts their handlers", async () => {
    const ended = Promise.withResolvers<void>();
    const { server, target } = await links.serve({
      routes: echo({
        say: (_request, { signal }) =>
          new Promise(() => signal.addEventListener("abort", () => ended.resolve())),
      }),
    });
    const client = createClient(EchoService, links.connect({ target }));
    const call = failureOf(client.say({}));
    await until(() => server.inFlight === 1);
    expect(await server.drain(50)).to.deep.equal({ forced: true });
    const error = await call;
    expect(error.code).to.equal(Code.Unavailable);
    expect(toAppError(error).code).to.equal("service_unavailable");
    await ended.promise;
  });

  it("a client reconnects after a restart of its server on the same port", async () => {
    const routes = echo({ say: (request) => request });
    const before = await links.serve({ routes });
    const transport = links.connect({ target: before.target });
    const client = createClient(EchoService, transport);
    await client.say({});
    await before.server.drain(1000);
    expect((await failureOf(client.say({}))).code).to.equal(Code.Unavailable);

    const patient = createClient(
      EchoService,
      links.connect({ target: before.target, waitForReady: true }),
    );
    const waiting = patient.say({ value: "waited" }, { timeoutMs: 10_000 });
    const again = createRpcServer({ routes });
    await again.listen("127.0.0.1", before.port);
    try {
      expect((await waiting).value).to.equal("waited");
      await transport.ready(10_000);
      expect((await client.say({ value: "back" })).value).to.equal("back");
    } finally {
      await again.drain(0);
    }
  });

  it("calls are balanced over all replicas, by address and by name", async () => {
    for (const host of ["127.0.0.1", "localhost"]) {
      const counts = [0, 0];
      const count = (index: number) =>
        echo({
          say() {
            counts[index] = (counts[index] ?? 0) + 1;
            return {};
          },
        });
      const one = await links.serve({ routes: count(0) });
      const two = await links.serve({ routes: count(1) });
      const transport = links.connect({ target: [`${host}:${one.port}`, `${host}:${two.port}`] });
      const client = createClient(EchoService, transport);
      await until(async () => {
        await client.say({});
        return counts.every((calls) => calls > 0);
      });
      counts.fill(0);
      for (let call = 0; call < 40; call += 1) await client.say({});
      expect(counts, host).to.deep.equal([20, 20]);
    }
  });

  it("connections past their age are replaced without losing a call", async () => {
    const { port } = await links.serve({
      routes: echo({ say: (request) => request }),
      maxConnectionAgeMs: 60,
      maxConnectionAgeGraceMs: 1000,
    });
    const proxy = await openTcpProxy();
    proxy.aimAt(port);
    const target = `127.0.0.1:${proxy.port}`;
    const client = createClient(EchoService, links.connect({ target }));
    const endMs = performance.now() + 600;
    const caller = async (): Promise<void> => {
      while (performance.now() < endMs) await client.say({});
    };
    await Promise.all(Array.from({ length: 16 }, caller));
    expect(proxy.connections, "one after the other").to.be.at.least(3);
    await proxy.close();
  });

  it("thousands of cancelled calls do not end the other calls of their connection", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const { server, target } = await links.serve({
      routes: echo({
        async say({ value }, { signal }) {
          begun += 1;
          if (value === "patient") await gate.promise;
          else await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return { value };
        },
      }),
    });
    const client = createClient(EchoService, links.connect({ target }));
    const patient = client.say({ value: "patient" });
    await until(() => begun === 1);
    for (let round = 0; round < 30; round += 1) {
      const abort = new AbortController();
      const calls = Array.from({ length: 100 }, () =>
        failureOf(client.say({}, { signal: abort.signal })),
      );
      await until(() => server.inFlight === 101);
      abort.abort();
      const codes = new Set((await Promise.all(calls)).map(({ code }) => code));
      expect([...codes]).to.deep.equal([Code.Canceled]);
      await until(() => server.inFlight === 1);
    }
    expect(begun).to.equal(3001);
    gate.resolve();
    expect((await patient).value).to.equal("patient");
  });

  it("above its limit a server refuses at once with UNAVAILABLE and RetryInfo", async () => {
    const gate = createGate();
    const { server, target } = await links.serve({ routes: gate.routes, maxInFlight: 5 });
    const transport = links.connect({ target });
    const client = createClient(EchoService, transport);
    const calls = Array.from({ length: 5 }, () => client.say({}));
    await until(() => gate.waiting() === 5);
    const refused = await failureOf(client.say({}));
    expect(refused.code).to.equal(Code.Unavailable);
    expect(retryDelayMs(refused)).to.be.greaterThan(0);
    expect(toAppError(refused)).to.include({ code: "service_unavailable" });
    const health = await createClient(Health, transport).check({});
    expect(health.status, "health is answered under load").to.equal(Status.SERVING);
    gate.open();
    await Promise.all(calls);
    await client.say({});
    expect(server.inFlight).to.equal(0);
  });

  it("a call without a deadline ends at the server's limit", async () => {
    const { target } = await links.serve({
      routes: echo({ say: () => new Promise(() => {}) }),
      unaryTimeoutMs: 50,
    });
    const stock = new Client(target, credentials.createInsecure());
    try {
      const code = await new Promise((resolve) => {
        const asIs = (bytes: Buffer): Buffer => bytes;
        stock.makeUnaryRequest("/test.EchoService/Say", asIs, asIs, Buffer.alloc(0), (error) =>
          resolve(error?.code),
        );
      });
      expect(code).to.equal(Code.DeadlineExceeded);
    } finally {
      stock.close();
    }
  });

  it("a deadline a month away has not expired", async () => {
    const { target } = await links.serve({ routes: echo({ say: () => ({}) }) });
    const stock = new Client(target, credentials.createInsecure());
    const deadline = Date.now() + 30 * 86_400_000;
    try {
      const error = await new Promise((resolve) => {
        const asIs = (bytes: Buffer): Buffer => bytes;
        const path = "/test.EchoService/Say";
        stock.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(0), { deadline }, resolve);
      });
      expect(error).to.equal(null);
    } finally {
      stock.close();
    }
  });

  it("health is reported per service, can be watched, and is NOT_SERVING once a drain begins", async () => {
    const gate = createGate();
    const { server, target } = await links.serve({ routes: gate.routes });
    const transport = links.connect({ target });
    const health = createClient(Health, transport);
    const statusOf = async (service: string) => (await health.check({ service })).status;
    expect(await statusOf("")).to.equal(Status.SERVING);
    expect(await statusOf("test.EchoService")).to.equal(Status.SERVING);
    expect((await failureOf(statusOf("no.Service"))).code).to.equal(Code.NotFound);

    const seen: Status[] = [];
    const watching = (async () => {
      for await (const { status } of health.watch({ service: "test.EchoService" })) {
        seen.push(status);
      }
    })();
    await until(() => seen.length === 1);
    server.health.set("test.EchoService", false);
    await until(() => seen.length === 2);
    expect(await statusOf("")).to.equal(Status.NOT_SERVING);
    server.health.set("test.EchoService", true);
    await until(() => seen.length === 3);

    const call = createClient(EchoService, transport).say({});
    await until(() => gate.waiting() === 1);
    const drained = server.drain(5000);
    await watching;
    gate.open();
    await call;
    expect((await drained).forced, "a watch does not hold a drain up").to.equal(false);
    const { SERVING, NOT_SERVING } = Status;
    expect(seen).to.deep.equal([SERVING, NOT_SERVING, SERVING, NOT_SERVING]);
  });
});

async function until(isTrue: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`not true after ${timeoutMs} ms`);
    await turn();
  }
}

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(ConnectError);
  return outcome as ConnectError;
}
