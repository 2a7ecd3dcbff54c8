/** A process with invalid settings reports all faults on standard error, without secrets. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "chai";

const MAIN = join(import.meta.dirname, "../../../services/main.ts");
const TOKEN = "secret-secret-secret";

describe("a process with invalid settings", function () {
  this.timeout(30_000);

  const RIGHT = {
    MONGODB_URI: "mongodb://db.example",
    NATS_URL: "nats://events.example",
    REDIS_URL: "redis://redis.example",
    CURSOR_KEY: "c".repeat(32),
    ENCRYPTION_KEYS: `k1:${"A".repeat(43)}=`,
    RPC_TOKEN: TOKEN,
    MESSAGING_GRPC: "messaging.example:9090",
    WALLET_GRPC: "wallet.example:9090",
    SENDER_ID_GRPC: "sender-id.example:9090",
    TENANT_GRPC: "tenant.example:9090",
  };

  async function start(settings: Record<string, string>) {
    const child = spawn(process.execPath, [MAIN, "gateway", "routing", "webhook"], {
      env: { PATH: process.env.PATH, ...RIGHT, ...settings },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const texts = { out: "", err: "" };
    child.stdout.on("data", (chunk) => {
      texts.out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      texts.err += chunk;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, ...texts };
  }

  it("reports all faults at once, each on a line", async () => {
    const { code, out, err } = await start({
      RPC_TOKENS: `{"gateway": {"token": "${TOKEN}\\n", "methods": ["*"]}}`,
      ENCRYPTION_KEYS: "k1:c2hvcnQ=",
      TRUSTED_PROXIES: "172.16/12",
      WEBHOOK_ALLOWED_NETWORKS: "10/8",
      NATS_URL: `nats://user:${TOKEN}/@host:4222`,
      MONGODB_TLS_CERT_FILE: "/tls/tls.crt",
      RPC_TLS_CA_FILE: "/tls/ca.crt",
      PORT: "http",
    });
    expect(code).to.equal(1);
    const lines = err.split("\n").map((line) => line.trim());
    for (const start of [
      "RPC_TOKENS.gateway: must be printable ASCII",
      "ENCRYPTION_KEYS must be id:base64",
      "TRUSTED_PROXIES: must be networks",
      "WEBHOOK_ALLOWED_NETWORKS: must be networks",
      "NATS_URL is not a URL",
      "MONGODB_TLS_CERT_FILE and MONGODB_TLS_KEY_FILE belong together",
      "RPC_TLS_CERT_FILE, ",
      "PORT: ",
    ]) {
      expect(
        lines.filter((line) => line.startsWith(start)),
        err,
      ).to.have.length(1);
    }
    expect(out + err).not.to.include(TOKEN);
  });

  it("refuses a token that does not fit in a header", async () => {
    const { code, out, err } = await start({ RPC_TOKEN: `${TOKEN}\n` });
    expect(code).to.equal(1);
    expect(err.match(/RPC_TOKEN: must be printable ASCII/g)).to.have.length(1);
    expect(out + err).not.to.include(TOKEN);
  });
});
