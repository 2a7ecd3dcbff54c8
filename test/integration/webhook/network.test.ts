import { createSocket } from "node:dgram";
import { createServer, type Server } from "node:net";
import { expect } from "chai";
import { freePorts } from "../../../deploy/dev/ports.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { createConnectionPool } from "../../../services/webhook/adapters/http-client/connection-pool.ts";
import { createHttpClient } from "../../../services/webhook/adapters/http-client/http-client.ts";
import { createResolver } from "../../../services/webhook/adapters/http-client/resolver.ts";
import { createSsrfGuard } from "../../../services/webhook/adapters/http-client/ssrf-guard.ts";
import { createTlsContext } from "../../../services/webhook/adapters/http-client/tls-context.ts";
import { parseNetwork } from "../../../services/webhook/domain/address-rules.ts";
import { useClosers } from "../../support/closers.ts";
import { type DnsServer, startDnsServer } from "../../support/dns-server.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  openWebhooks,
  testCertificates,
  type WebhookHarness,
} from "../../support/webhook-harness.ts";
import { type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

/** Names whose addresses are not allowed. */
const HOSTILE_NAMES: Readonly<Record<string, readonly string[]>> = {
  "loopback.example": ["127.0.0.2"],
  "unspecified.example": ["0.0.0.0"],
  "private.example": ["10.1.2.3"],
  "cgnat.example": ["100.64.0.1"],
  "metadata.example": ["169.254.169.254"],
  "multicast.example": ["224.0.0.1"],
  "broadcast.example": ["255.255.255.255"],
  "loopback6.example": ["::1"],
  "mapped.example": ["0:0:0:0:0:ffff:7f00:1"],
  "nat64.example": ["64:ff9b::7f00:1"],
  "6to4.example": ["2002:7f00:1::"],
  "ula.example": ["fd00:ec2::254"],
  "linklocal.example": ["fe80::1"],
  "mixed.example": ["8.8.8.8", "10.0.0.1"],
  "mixed6.example": ["8.8.8.8", "::1"],
  "nowhere.example": [],
};

describe("the network rules of webhooks", () => {
  const certificates = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let receiver: Receiver;
  let dns: DnsServer;
  let webhooks: WebhookHarness;
  const closing: (() => unknown)[] = [];

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    // A port that no client uses: the traps take the same number on another address.
    receiver = keep(await startReceiver(certificates, (await freePorts(1))[0]), (opened) =>
      opened.close(),
    );
    dns = keep(await startDnsServer((name) => HOSTILE_NAMES[name] ?? []), (opened) =>
      opened.close(),
    );
    webhooks = await openWebhooks(servers, {
      ports: [receiver.port],
      caFile: certificates.caFile,
      settings: { WEBHOOK_DNS_SERVERS: dns.address, WEBHOOK_ALLOWED_NETWORKS: "127.0.0.1/32" },
    });
    keep(webhooks, (opened) => opened.close());
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  for (const name of Object.keys(HOSTILE_NAMES)) {
    it(`refuses to save a URL at ${name}, without the reason`, async () => {
      const wanted = { tenantId: newId("tenant"), url: `https://${name}/hook` };
      const error = await webhooks.client.createEndpoint(wanted).then(
        () => undefined,
        (thrown) => toAppError(thrown),
      );
      expect(error).to.include({ code: "validation_error" });
      expect(error?.fields.map(({ field, code }) => [field, code])).to.deep.equal([
        ["url", "invalid_value"],
      ]);
      const text = `${error?.message} ${JSON.stringify(error?.fields)}`;
      for (const address of HOSTILE_NAMES[name] ?? []) expect(text).not.to.include(address);
    });
  }

  /** A client without a cache: every lookup queries the name server. */
  function openUncachedClient(server: DnsServer) {
    const guard = createSsrfGuard({
      resolve: createResolver({ servers: [server.address], timeoutMs: 1000 }),
      allowedNetworks: [parseNetwork("127.0.0.1/32")],
      cacheMs: 0,
    });
    const secureContext = createTlsContext(certificates.caFile);
    const connections = createConnectionPool({
      secureContext,
      lookup: guard.lookup,
      addressTimeoutMs: 1000,
      socketsMax: 4,
      poolsMax: 10,
      idleMs: 30_000,
    });
    const metrics = { onConnection: () => undefined };
    const client = createHttpClient({ connections, guard, metrics });
    closing.push(() => client.close());
    return client;
  }

  /** Counts connections to an address that must receive none. */
  async function startTrap(host: string, port: number): Promise<{ readonly connections: number }> {
    const trap = { connections: 0 };
    const server: Server = createServer((socket) => {
      trap.connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return trap;
  }

  it("a name server that responds differently to check and connection reaches nothing", async () => {
    const trap = await startTrap("127.0.0.2", receiver.port);
    for (const flipAt of [1, 2, 3]) {
      const rebinding = await startDnsServer((_, asked) =>
        asked >= flipAt ? ["127.0.0.2"] : ["127.0.0.1"],
      );
      closing.push(rebinding.close);
      const client = openUncachedClient(rebinding);
      const errors: string[] = [];
      for (let attempt = 0; attempt < 4; attempt += 1) {
        const result = await client.send({
          endpointId: `whe_${flipAt}`,
          target: { host: "rebinding.example", port: receiver.port, path: "/" },
          headers: {},
          body: "{}",
          timeoutMs: 2000,
        });
        errors.push(result?.error ?? "stopped");
      }
      expect(errors.at(-1), `flipped at question ${flipAt}`).to.equal("address_not_allowed");
      expect(rebinding.asked("rebinding.example")).to.be.at.least(flipAt + 1);
    }
    expect(trap.connections).to.equal(0);
  });

  it("a name server that drops IPv6 queries delays no name with an IPv4 address", async () => {
    const deaf = await startDnsServer(() => ["203.0.113.7"], true);
    closing.push(deaf.close);
    const resolve = createResolver({ servers: [deaf.address], timeoutMs: 20_000 });
    const startedMs = performance.now();
    expect(await resolve("old.example")).to.deep.equal(["203.0.113.7"]);
    expect(performance.now() - startedMs).to.be.within(400, 10_000);
  });

  it("a name is refused at the next attempt when its address becomes private", async () => {
    const trap = await startTrap("127.0.0.2", receiver.port);
    let inside = false;
    const moving = await startDnsServer(() => (inside ? ["127.0.0.2"] : ["127.0.0.1"]));
    closing.push(moving.close);
    const client = openUncachedClient(moving);
    const send = () =>
      client.send({
        endpointId: "whe_moving",
        target: { host: "moving.example", port: receiver.port, path: "/" },
        headers: {},
        body: "{}",
        timeoutMs: 2000,
      });
    // The certificate has another name: reaching the handshake proves the connection.
    expect((await send())?.error).to.equal("tls");
    inside = true;
    expect((await send())?.error).to.equal("address_not_allowed");
    expect(trap.connections).to.equal(0);
  });

  it("a silent name server delays its own attempt only", async () => {
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const server = `127.0.0.1:${silent.address().port}`;
    const guard = createSsrfGuard({
      resolve: createResolver({ servers: [server], timeoutMs: 300 }),
      allowedNetworks: [],
      cacheMs: 0,
    });
    const waits = Array.from({ length: 50 }, (_, at) =>
      guard.checkHost(`slow${at}.example`).then(
        () => "found",
        () => "failed",
      ),
    );
    // One after another they would take 15 s.
    const startedMs = performance.now();
    expect(new Set(await Promise.all(waits))).to.deep.equal(new Set(["failed"]));
    expect(performance.now() - startedMs).to.be.within(250, 10_000);
    silent.close();
  });
});
