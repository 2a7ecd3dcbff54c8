import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { freePorts } from "../../../deploy/dev/ports.ts";
import { endProcess, runToEnd, startProcess } from "../../../deploy/dev/processes.ts";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { createGrpcJsTransport } from "../../../services/shared/rpc/transport.ts";
import { eventually } from "../../support/poll.ts";
import { startTlsServers, type TlsServers } from "../../support/tls-servers.ts";

const MAIN = join(ROOT, "services/main.ts");
const TOKEN = "tls-test-token-of-enough-length";
const ALL = [
  ...["tenant", "sender-id", "wallet", "routing"],
  ...["messaging", "carrier", "webhook", "gateway", "campaign", "consent"],
];
const CONCERNS = ["MONGODB", "NATS", "REDIS"] as const;
/** OpenSSL's error for a certificate of an unknown authority. */
const UNKNOWN_AUTHORITY = /unable to (verify the first|get local issuer) certificate|self-signed/;

describe("MongoDB, NATS and Redis over mutual TLS, by the settings that the chart gives", function () {
  this.timeout(120_000);
  let servers: TlsServers;

  before(async () => {
    servers = await startTlsServers();
    const code = await runToEnd(planOf("migrate", ["migrate"], {}), 60_000);
    expect(code, textOf("migrate")).to.equal(0);
  });

  after(() => servers?.stop());

  it("every service becomes ready, and serves", async () => {
    const { ops, grpc, stop } = await start("all", ALL, {});
    await eventually(async () => (await fetch(`${ops}/readyz`)).ok, {
      timeoutMs: 30_000,
      what: "a ready process",
    });
    const transport = createGrpcJsTransport({ target: grpc, token: TOKEN });
    const { tenant } = await createClient(TenantService, transport).createTenant({ name: "TLS" });
    expect(tenant?.name).to.equal("TLS");
    transport.close();
    await stop();
    expect(servers.redisCallers()).to.be.greaterThan(0);
  });

  for (const concern of CONCERNS) {
    it(`${concern}: a server certificate of another authority is refused, and the log says why`, async () => {
      const name = `other-ca-${concern}`;
      const { ops, stop } = await start(name, ["carrier", "messaging", "routing"], {
        [`${concern}_TLS_CA_FILE`]: servers.otherCa,
      });
      const words = await eventually(() => complaintIn(name, concern), {
        timeoutMs: 30_000,
        what: `a line about ${concern}`,
      });
      expect(words).to.match(UNKNOWN_AUTHORITY);
      // A service starts without Redis: every use of it has a local fallback.
      if (concern !== "REDIS") expect((await fetch(`${ops}/readyz`)).status).to.equal(503);
      await stop();
    });

    it(`${concern}: a process without a client certificate is refused`, async () => {
      const name = `no-certificate-${concern}`;
      const { ops, stop } = await start(name, ["carrier", "messaging", "routing"], {
        [`${concern}_TLS_CERT_FILE`]: "",
        [`${concern}_TLS_KEY_FILE`]: "",
      });
      await eventually(() => complaintIn(name, concern), {
        timeoutMs: 30_000,
        what: `a line about ${concern}`,
      });
      if (concern !== "REDIS") expect((await fetch(`${ops}/readyz`)).status).to.equal(503);
      await stop();
    });
  }

  it("a certificate without its key, or a missing file, fails the start with its name", async () => {
    const cases = [
      [{ NATS_TLS_KEY_FILE: "" }, "NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE belong together"],
      [{ MONGODB_TLS_CA_FILE: "/nowhere/ca.crt" }, "/nowhere/ca.crt"],
    ] as const;
    for (const [at, [settings, words]] of cases.entries()) {
      const code = await runToEnd(planOf(`fault-${at}`, ["tenant"], settings), 30_000);
      expect(code).to.equal(1);
      expect(textOf(`fault-${at}`)).to.contain(words);
    }
  });

  function planOf(name: string, services: readonly string[], settings: Record<string, string>) {
    const { urls, files, folder } = servers;
    const tls = CONCERNS.flatMap((concern) => [
      [`${concern}_TLS_CA_FILE`, files.ca],
      [`${concern}_TLS_CERT_FILE`, files.cert],
      [`${concern}_TLS_KEY_FILE`, files.key],
    ]);
    const env: Record<string, string | undefined> = {
      PATH: process.env.PATH,
      MONGODB_URI: urls.mongodb,
      NATS_URL: urls.nats,
      REDIS_URL: urls.redis,
      ...Object.fromEntries(tls),
      RPC_TOKEN: TOKEN,
      ENCRYPTION_KEYS: `test:${randomBytes(32).toString("base64")}`,
      CURSOR_KEY: randomBytes(32).toString("base64"),
      CARRIER_JOURNAL_DIR: join(folder, "journal"),
      EVENT_STREAM_MAX_BYTES: String(64 * 1024 * 1024),
      ...settings,
    };
    const logFile = join(folder, `${name}.log`);
    return {
      name,
      program: process.execPath,
      args: [MAIN, ...services],
      cwd: folder,
      env,
      logFile,
    };
  }

  async function start(
    name: string,
    services: readonly string[],
    settings: Record<string, string>,
  ) {
    const [rest = 0, grpc = 0, ops = 0] = await freePorts(3);
    const addresses = ["TENANT", "SENDER_ID", "WALLET", "CONSENT"].map((one) => [
      `${one}_GRPC`,
      `127.0.0.1:${grpc}`,
    ]);
    const record = await startProcess(
      planOf(name, services, {
        PORT: String(rest),
        GRPC_PORT: String(grpc),
        OPS_PORT: String(ops),
        ...Object.fromEntries(addresses),
        ...settings,
      }),
    );
    servers.watch(record);
    return {
      ops: `http://127.0.0.1:${ops}`,
      grpc: `127.0.0.1:${grpc}`,
      stop: async () => void (await endProcess(record, 20_000)),
    };
  }

  function textOf(name: string): string {
    return readFileSync(join(servers.folder, `${name}.log`), "utf8");
  }

  function logOf(name: string): { message: string; error?: unknown }[] {
    const lines = textOf(name).split("\n");
    return lines
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as { message: string; error?: unknown });
  }

  /** The log of a process about a server that it cannot use. */
  function complaintIn(name: string, concern: (typeof CONCERNS)[number]): string | undefined {
    const lead = {
      MONGODB: "MongoDB does not answer",
      NATS: "NATS does not",
      REDIS: "Redis is away",
    };
    const line = logOf(name).find(({ message }) => message.startsWith(lead[concern]));
    return line && JSON.stringify(line.error);
  }
});
