/** Dials that a frozen server did not answer in time. */
import { expect } from "chai";
import { createLogger } from "../../../services/shared/io/log.ts";
import { type Nats, openNats } from "../../../services/shared/io/nats.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";

/** A dial times out after 5 s. */
const TWO_DIALS_MS = 30_000;
/** Two pings, 5 s apart, stay unanswered. */
const STALE_MS = 30_000;
/** Together more than all buffers to the server can hold. */
const LARGE = new Uint8Array(512 * 1024);

describe("a connection to NATS", function () {
  this.timeout(60_000);
  let servers: TestServers;
  let proxy: TcpProxy;
  let nats: Nats;

  before(async () => {
    servers = await startServers();
    proxy = await openTcpProxy();
    proxy.aimAt(Number(new URL(servers.natsUrl).port));
    const url = `nats://127.0.0.1:${proxy.port}`;
    nats = await openNats({ url, name: "test", log: createLogger("test", "silent") });
  });
  after(async () => {
    await nats?.close();
    await proxy?.close();
    await servers?.stop();
  });

  it("is a single one after the server was frozen, and delivers each message once", async () => {
    const received: string[] = [];
    nats.connection.subscribe("note", {
      callback: (_error, message) => void received.push(message.string()),
    });
    const before = proxy.connections;
    proxy.setMode({ kind: "cut" });
    proxy.setMode({ kind: "black_hole" });
    await eventually(() => proxy.connections >= before + 2, { timeoutMs: TWO_DIALS_MS });
    proxy.setMode({ kind: "open" });
    await eventually(async () => {
      await nats.ping();
      return true;
    });
    await eventually(() => proxy.open === 1);
    nats.connection.publish("note", "one");
    await nats.ping();
    expect(received).to.deep.equal(["one"]);
  });

  it("is replaced when the server accepts no more data, with any amount waiting to be written", async () => {
    const before = proxy.connections;
    proxy.setMode({ kind: "black_hole" });
    for (let at = 0; at < 32; at += 1) nats.connection.publish("note.large", LARGE);
    await eventually(() => proxy.connections > before, { timeoutMs: STALE_MS });
    proxy.setMode({ kind: "open" });
    await eventually(async () => {
      await nats.ping();
      return true;
    });
    await eventually(() => proxy.open === 1);
  });
});
