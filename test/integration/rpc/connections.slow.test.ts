/** Faults of grpc-js's connections that `shared/vendor/grpc-connections.ts` patches. */
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { pause } from "../../../services/shared/flow/backoff.ts";
import { KEEP_ALIVE_MS } from "../../../services/shared/rpc/limits.ts";
import type { Routes } from "../../../services/shared/rpc/routes.ts";
import { eventually } from "../../support/poll.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks } from "../../support/rpc-links.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";

describe("RPC connections", function () {
  this.timeout(2 * KEEP_ALIVE_MS);
  const links = createRpcLinks();
  afterEach(() => links.close());

  const answerAfter =
    (waitMs: number): Routes =>
    (router) =>
      router.service(EchoService, {
        async say(request) {
          await pause(waitMs);
          return request;
        },
      });

  it("a dial without an answer times out, and the next one starts", async () => {
    const { port } = await links.serve({ routes: answerAfter(0) });
    const proxy = await openTcpProxy();
    proxy.aimAt(port);
    proxy.setMode({ kind: "black_hole" });
    const transport = links.connect({ target: `127.0.0.1:${proxy.port}` });
    const client = createClient(EchoService, transport);
    const isUp = transport.ready(KEEP_ALIVE_MS);
    await eventually(() => proxy.connections >= 3, { timeoutMs: KEEP_ALIVE_MS });
    proxy.setMode({ kind: "open" });
    await isUp;
    expect((await client.say({ value: "received" })).value).to.equal("received");
    // Connections of dials that timed out are closed.
    await eventually(() => proxy.open === 1);
    await proxy.close();
  });

  it("a call of any length outlives its connection's age", async () => {
    const takesMs = KEEP_ALIVE_MS + 5000;
    const routes = answerAfter(takesMs);
    const { target } = await links.serve({ routes, maxConnectionAgeMs: 500 });
    const client = createClient(EchoService, links.connect({ target }));
    const said = await client.say({ value: "patient" }, { timeoutMs: takesMs + 10_000 });
    expect(said.value).to.equal("patient");
  });
});
