/**
 * Clients reach a server although its name has more silent addresses in front of it than fit into one connect timeout,
 * or one that accepts connections and says nothing.
 */
import type dns from "node:dns";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { createHttpPoster } from "../../../services/carrier/adapters/links/http-post.ts";
import { createAddressOrder } from "../../../services/shared/io/address-order.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { openMongo } from "../../../services/shared/io/mongo.ts";
import { openRedis } from "../../../services/shared/io/redis.ts";
import { createSmppClient } from "../../../services/shared/smpp/client.ts";
import { startSimulator } from "../../../services/smsc-simulator/create-simulator.ts";
import { replaceLookup } from "../../support/name-lookup.ts";
import { eventually } from "../../support/poll.ts";
import { createTestAuthority } from "../../support/rpc-certificates.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const NAME = "silent.example";
/** The last one has the server. The others accept connections and say nothing. */
const ADDRESSES = ["127.0.0.4", "127.0.0.3", "127.0.0.2", "127.0.0.1"];

describe("a name whose first addresses are silent", function () {
  this.timeout(60_000);
  const log = createLogger("test", "silent");
  const closings: (() => unknown)[] = [];
  let servers: TestServers;
  let restoreLookup: () => void;

  before(async () => {
    servers = await startServers();
  });
  after(() => servers?.stop());
  beforeEach(() => {
    restoreLookup = replaceLookup(NAME, ADDRESSES);
  });
  afterEach(async () => {
    restoreLookup();
    for (const close of closings.splice(0).toReversed()) await close();
  });

  /** Listens silently on the port of a server, at the other addresses. */
  async function silence(port: number): Promise<void> {
    for (const host of ADDRESSES.slice(0, -1)) {
      const sockets = new Set<Socket>();
      const server: Server = createServer((socket) => {
        sockets.add(socket.on("error", () => undefined));
      });
      server.listen(port, host);
      await once(server, "listening");
      closings.push(() => {
        server.close();
        for (const socket of sockets) socket.destroy();
      });
    }
  }

  for (const isTls of [false, true]) {
    it(`is bound by an SMPP link${isTls ? " over TLS" : ""}`, async () => {
      const account = { systemId: "me", password: "secret" };
      const authority = createTestAuthority();
      const smsc = await startSimulator({
        ...{ host: "127.0.0.1", port: 0, controlPort: 0, ...account },
        ...(isTls ? { tls: authority.server() } : {}),
      });
      closings.push(() => smsc.close());
      await silence(smsc.port);
      const states: string[] = [];
      const client = createSmppClient({
        ...{ host: NAME, port: smsc.port, ...account },
        ...(isTls ? { tls: { ca: authority.ca, servername: "localhost" } } : {}),
        ...{ connectTimeoutMs: 300, bindTimeoutMs: 300, reconnectMinMs: 1, random: () => 0 },
        onDeliver: () => undefined,
        onState: (state) => states.push(state),
      });
      closings.push(() => client.close());
      client.start();
      await eventually(() => states.at(-1) === "bound");
      expect(states.filter((state) => state === "waiting").length).to.equal(3);
    });
  }

  it("is reached by an HTTP connector after its timeouts", async () => {
    const server = createHttpServer((_, response) => response.end("ok")).listen(0, "127.0.0.1");
    await once(server, "listening");
    closings.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    const { port } = server.address() as AddressInfo;
    await silence(port);
    const url = `http://${NAME}:${port}/`;
    const poster = createHttpPoster({ url, method: "POST", headers: {}, timeoutMs: 300 });
    const codes: unknown[] = [];
    for (let count = 0; count < 3; count += 1) {
      codes.push(await poster.post("{}").then(undefined, ({ code }) => code));
    }
    expect(codes).to.deep.equal(["timeout", "timeout", "timeout"]);
    expect(await poster.post("{}")).to.include({ status: 200, body: "ok" });
    expect(await poster.post("{}")).to.include({ status: 200, body: "ok" });
  });

  it("is reached by MongoDB's client", async () => {
    const port = Number(new URL(servers.mongodbUri).port);
    await silence(port);
    const uri = `mongodb://${NAME}:${port}/?directConnection=true`;
    const mongo = await openMongo({ uri, database: "silent", log, selectionMs: 500 });
    closings.push(() => mongo.close());
    expect(await mongo.db.command({ ping: 1 })).to.include({ ok: 1 });
  });

  it("is reached by the Redis client", async () => {
    const port = Number(new URL(servers.redisUrl).port);
    await silence(port);
    const redis = openRedis({ url: `redis://${NAME}:${port}`, log });
    closings.push(() => redis.disconnect());
    await eventually(() => redis.status === "ready", { timeoutMs: 20_000, what: "Redis" });
  });

  it("is tried from the next address after each attempt that reached no server", async () => {
    const order = createAddressOrder();
    const found = () =>
      new Promise((resolve) => {
        order.lookup(NAME, { all: true }, (_, all) =>
          resolve((all as dns.LookupAddress[]).map(({ address }) => address.at(-1)).join("")),
        );
      });
    expect(await found()).to.equal("4321");
    const { turn } = order;
    order.skip(turn);
    order.skip(turn);
    expect(await found(), "two attempts of one turn count once").to.equal("3214");
    order.prefer("127.0.0.1");
    expect(await found()).to.equal("1432");
    order.skip(order.turn);
    expect(await found()).to.equal("2143");
    const socket = connect({ host: "127.0.0.1", port: 1, lookup: order.lookup });
    const [error] = await once(socket, "error");
    expect(error.code, "an address needs no lookup").to.equal("ECONNREFUSED");
  });
});
