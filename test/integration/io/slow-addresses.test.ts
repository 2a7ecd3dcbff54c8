/** Clients reach a server behind a round trip of a second, although its name has a second address without a route. */

import { once } from "node:events";
import { createServer } from "node:http";
import {
  type AddressInfo,
  connect,
  getDefaultAutoSelectFamilyAttemptTimeout,
  setDefaultAutoSelectFamilyAttemptTimeout,
} from "node:net";
import { expect } from "chai";
import { createHttpPoster } from "../../../services/carrier/adapters/links/http-post.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { openMongo } from "../../../services/shared/io/mongo.ts";
import { setProcessDefaults } from "../../../services/shared/io/process-defaults.ts";
import { openRedis } from "../../../services/shared/io/redis.ts";
import { createSmppClient } from "../../../services/shared/smpp/client.ts";
import { startSimulator } from "../../../services/smsc-simulator/create-simulator.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openSlowPath, type SlowPath } from "../../support/slow-path.ts";

describe("a name with a far address and one without a route", () => {
  const log = createLogger("test", "silent");
  const nodeDefaultMs = getDefaultAutoSelectFamilyAttemptTimeout();
  let servers: TestServers;
  let path: SlowPath | undefined;
  const closings: (() => unknown)[] = [];

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
  });
  after(async () => {
    await servers?.stop();
  });
  afterEach(async () => {
    setDefaultAutoSelectFamilyAttemptTimeout(nodeDefaultMs);
    for (const close of closings.splice(0).toReversed()) await close();
    path?.close();
    path = undefined;
  });

  async function stalledPath(targetPort: number): Promise<SlowPath> {
    path = await openSlowPath(targetPort);
    await path.stall();
    return path;
  }

  it("is not reached with the defaults of Node", async () => {
    const { host, port } = await stalledPath(1);
    const [error] = await once(connect({ host, port }), "error");
    expect(error.code).to.equal("ETIMEDOUT");
  });

  it("is reached by an SMPP link at its first attempt", async () => {
    const account = { systemId: "me", password: "secret" };
    const smsc = await startSimulator({ host: "127.0.0.1", port: 0, controlPort: 0, ...account });
    closings.push(() => smsc.close());
    const { host, port } = await stalledPath(smsc.port);
    const states: string[] = [];
    const client = createSmppClient({
      ...{ host, port, ...account },
      onDeliver: () => undefined,
      onState: (state) => states.push(state),
    });
    closings.push(() => client.close());
    client.start();
    await eventually(() => states.includes("bound") || states.includes("waiting"));
    expect(states).to.deep.equal(["connecting", "binding", "bound"]);
  });

  it("is reached by an HTTP connector at its first request", async () => {
    const server = createServer((_, response) => response.end("ok")).listen(0, "127.0.0.1");
    await once(server, "listening");
    closings.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    const { host, port } = await stalledPath((server.address() as AddressInfo).port);
    const url = `http://${host}:${port}/`;
    const poster = createHttpPoster({ url, method: "POST", headers: {}, timeoutMs: 5000 });
    expect(await poster.post("{}")).to.include({ status: 200, body: "ok" });
  });

  it("is reached by MongoDB's client", async () => {
    const { port: serverPort } = new URL(servers.mongodbUri);
    const { host, port } = await stalledPath(Number(serverPort));
    const uri = `mongodb://${host}:${port}/?directConnection=true`;
    const failures: unknown[] = [];
    const noting = { ...log, warn: (fields: unknown) => failures.push(fields) } as never;
    const mongo = await openMongo({ uri, database: "slow_path", log: noting });
    closings.push(() => mongo.close());
    expect(failures).to.deep.equal([]);
  });

  it("is reached by the Redis client", async () => {
    setProcessDefaults({});
    const { host, port } = await stalledPath(Number(new URL(servers.redisUrl).port));
    const redis = openRedis({ url: `redis://${host}:${port}`, log });
    closings.push(() => redis.disconnect());
    const failures: unknown[] = [];
    redis.on("error", (error) => failures.push(error));
    await eventually(() => redis.status === "ready");
    expect(failures).to.deep.equal([]);
  });
});

describe("the environment of a process", () => {
  it("cannot turn the verification of certificates off", () => {
    const env: NodeJS.ProcessEnv = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    const before = getDefaultAutoSelectFamilyAttemptTimeout();
    setProcessDefaults(env);
    setDefaultAutoSelectFamilyAttemptTimeout(before);
    expect(env).to.deep.equal({});
  });
});
