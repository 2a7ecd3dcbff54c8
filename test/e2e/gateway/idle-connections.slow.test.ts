/** Idle connections cost little, do not affect other clients, and are closed in time. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { type RestStack, sharedRestStack } from "../../support/rest.ts";

const CONNECTIONS = 10_000;

describe("REST: 10,000 idle connections", function () {
  this.timeout(120_000);
  let rest: RestStack;
  const sockets: Socket[] = [];

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
  });

  const residentBytes = () => {
    const status = readFileSync(`/proc/${rest.stack.pids.gateway}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  };

  it("other clients are served, memory stays low, and the idle connections are closed", async () => {
    const { hostname, port } = new URL(rest.stack.gateway);
    const before = residentBytes();
    let open = 0;
    let ended = 0;
    for (let at = 0; at < CONNECTIONS; at += 500) {
      await Promise.all(
        Array.from(
          { length: 500 },
          () =>
            new Promise<void>((resolve, reject) => {
              const socket = connect({ host: hostname, port: Number(port) }, () => {
                open += 1;
                resolve();
              });
              socket.once("error", reject);
              socket.once("close", () => {
                ended += 1;
              });
              socket.on("error", () => undefined);
              socket.resume();
              sockets.push(socket);
            }),
        ),
      );
    }
    expect(open).to.equal(CONNECTIONS);
    const grown = residentBytes() - before;
    expect(grown / CONNECTIONS, "bytes per idle connection").to.be.below(30_000);

    const slowest = { ms: 0 };
    for (let at = 0; at < 50; at += 1) {
      const startMs = performance.now();
      const { status } = await rest.call("GET", "/v1/balance", { apiKey: rest.stack.api_key });
      expect(status).to.equal(200);
      slowest.ms = Math.max(slowest.ms, performance.now() - startMs);
    }
    expect(slowest.ms).to.be.below(2000);
    await eventually(() => ended === CONNECTIONS, {
      timeoutMs: 60_000,
      everyMs: 200,
      what: "the end of the idle connections",
    });
    expect(residentBytes() - before, "memory after them").to.be.below(400e6);
  });
});
