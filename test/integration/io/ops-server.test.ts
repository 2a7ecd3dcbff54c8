/** The ops port among many connections. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { createLifecycle } from "../../../services/shared/io/lifecycle.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createMetrics } from "../../../services/shared/io/metrics.ts";
import { type OpsServer, startOpsServer } from "../../../services/shared/io/ops-server.ts";
import { eventually } from "../../support/poll.ts";

describe("the ops port", function () {
  this.timeout(20_000);
  let ops: OpsServer;

  before(async () => {
    const log = createLogger("test", "silent");
    const lifecycle = createLifecycle({ log, drainDelayMs: 0, closeTimeoutMs: 1000 });
    const metrics = createMetrics();
    ops = await startOpsServer({ host: "127.0.0.1", port: 0, lifecycle, metrics, handlers: [] });
  });
  after(() => ops?.close());

  it("keeps at most 512 idle connections, and answers probes among 1,000", async () => {
    const sockets: Socket[] = [];
    for (let at = 0; at < 1000; at += 1) {
      const socket = connect(ops.port, "127.0.0.1");
      socket.on("error", () => {}).resume();
      sockets.push(socket);
      await once(socket, "connect");
    }
    const answer = await fetch(`http://127.0.0.1:${ops.port}/livez`);
    expect(answer.status).to.equal(200);
    await eventually(() => sockets.filter(({ destroyed }) => destroyed).length >= 1000 - 512);
    for (const socket of sockets) socket.destroy();
  });
});
