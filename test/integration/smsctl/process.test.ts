/** The smsctl process: exit codes, signals, and errors of unreachable services. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { createRpcServer } from "../../../services/shared/rpc/server.ts";

const MAIN = join(import.meta.dirname, "../../../services/smsctl/main.ts");
const TOKEN = "0123456789abcdef0123456789abcdef";

describe("smsctl as a process", function () {
  this.timeout(30_000);
  const server = createRpcServer({
    routes: (router) => {
      router.service(MessagingService, {
        async *checkMessages() {
          yield { breaches: [], messages: 1n };
          await new Promise(() => undefined);
        },
      });
      router.service(WalletService, {
        async *checkWallets() {
          yield { breaches: [{ invariant: 1, what: "wrong", ids: ["ten_1"] }], done: true };
        },
        replayDeadLetters(_request, context) {
          patienceMs = context.timeoutMs() ?? Number.POSITIVE_INFINITY;
          return { replayed: 7 };
        },
      });
      router.service(WebhookService, {
        replayDeadLetters: () => ({ replayed: 0 }),
      });
      router.service(TenantService, { getTenant: () => ({ tenant: { id: "ten_1" } }) });
      router.service(CampaignService, {
        replayDeadLetters: () => ({ replayed: 0 }),
        getCampaign: ({ tenantId, campaignId }) => ({ campaign: { tenantId, id: campaignId } }),
      });
      router.service(RoutingService, {
        listConnectors: () => ({
          connectors: Array.from({ length: 5000 }, (_, at) => ({ id: `connector-${at}` })),
          health: [],
        }),
      });
    },
  });
  let address: string;
  let patienceMs = 0;

  before(async () => {
    address = `127.0.0.1:${await server.listen("127.0.0.1", 0)}`;
  });
  after(async () => {
    await server.drain(500);
  });

  const settings = () => ({
    RPC_TOKEN: TOKEN,
    MESSAGING_GRPC: address,
    WALLET_GRPC: address,
    ROUTING_GRPC: address,
    WEBHOOK_GRPC: address,
    CAMPAIGN_GRPC: address,
    TENANT_GRPC: address,
  });

  function start(env: Record<string, string>, ...words: string[]): ChildProcess {
    return spawn(process.execPath, [MAIN, ...words], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async function finish(child: ChildProcess) {
    const texts = { out: "", err: "" };
    child.stdout?.on("data", (chunk) => {
      texts.out += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      texts.err += chunk;
    });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, ...texts };
  }

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`${signal} ends a check that waits, with 130 and no more words`, async () => {
      const child = start(settings(), "check");
      const finished = finish(child);
      child.stdout?.once("data", () => child.kill(signal));
      expect(await finished).to.include({ code: 130, err: "" });
    });
  }

  it("ends when a check found something, though the other service still talks", async () => {
    const { code, out } = await finish(start(settings(), "wallet", "check"));
    expect(code).to.equal(1);
    expect(out).to.include("wrong");
  });

  it("prints its usage on standard error when no command is given", async () => {
    const told = await finish(start(settings()));
    expect([told.code, told.out]).to.deep.equal([1, ""]);
    expect(told.err).to.match(/^usage /);
    const json = await finish(start(settings(), "--json"));
    expect([json.code, json.out]).to.deep.equal([1, ""]);
    expect(JSON.parse(json.err).error).to.include({ code: "validation_error" });
  });

  it("says on standard error, as JSON, that fewer were replayed than were named", async () => {
    const ids = Array.from({ length: 8 }, (_, at) => `id_${at}`);
    const { code, out, err } = await finish(start(settings(), "--json", "dead", "replay", ...ids));
    expect([code, JSON.parse(out)]).to.deep.equal([1, { replayed: 7 }]);
    expect(JSON.parse(err).error.message).to.include("1 of 8");
  });

  it("exits silently when the pipe is closed", async () => {
    const child = start(settings(), "connector", "list");
    child.stdout?.once("readable", () => child.stdout?.destroy());
    const { code, err } = await finish(child);
    expect([0, 130]).to.include(code);
    expect(err).to.equal("");
  });

  it("says which service did not answer, where and why", async () => {
    const away = await finish(
      start({ ...settings(), ROUTING_GRPC: "127.0.0.1:1" }, "connector", "list"),
    );
    expect(away.code).to.equal(1);
    const what = "No answer from the routing service at 127.0.0.1:1";
    const why = "connect ECONNREFUSED 127.0.0.1:1 (service_unavailable)";
    expect(away.err).to.equal(`smsctl: ${what}: ${why}\n`);
  });

  it("takes several addresses of one service, as the services do", async () => {
    const env = { ...settings(), WALLET_GRPC: `127.0.0.1:1, ${address}` };
    const { code, out, err } = await finish(start(env, "--json", "dead", "replay"));
    expect(err).to.equal("");
    expect(code).to.equal(0);
    expect(JSON.parse(out)).to.deep.equal({ replayed: 7 });
  });

  it("reaches the campaign service", async () => {
    const words = ["campaign", "show", "cmp_1", "--tenant", "Ada"];
    const { code, out } = await finish(start(settings(), "--json", ...words));
    expect(code).to.equal(0);
    expect(JSON.parse(out)).to.include({ id: "cmp_1", tenant_id: "ten_1" });
  });

  it("has a long deadline for calls that walk all data", async () => {
    await finish(start(settings(), "dead", "replay"));
    expect(patienceMs).to.be.greaterThan(1_000_000);
  });

  it("says which carrier did not answer, where and why", async () => {
    const nobody = await finish(
      start(settings(), "connector", "unmatched", "--ops", "http://127.0.0.1:3"),
    );
    expect(nobody.code).to.equal(1);
    const why = "connect ECONNREFUSED 127.0.0.1:3 (service_unavailable)";
    expect(nobody.err).to.equal(
      `smsctl: No answer from the carrier at http://127.0.0.1:3: ${why}\n`,
    );
    for (const address of ["127.0.0.1:8095", "localhost:8095"]) {
      const wrong = await finish(start(settings(), "connector", "unmatched", "--ops", address));
      expect(wrong.err)
        .to.include(`"${address}" is no address`)
        .and.match(/^[^\n]*\n$/);
    }
  });

  it("gives the token of the development stack to no address but the stack's own", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smsctl-stack-"));
    const stack = { grpc: {}, grpc_token: TOKEN, ops: { carrier: "http://127.0.0.1:1" } };
    writeFileSync(join(folder, "stack.json"), JSON.stringify(stack));
    const ask = (url: string) =>
      finish(start({ STACK_DIR: folder }, "connector", "unmatched", "--ops", url));
    expect((await ask("http://127.0.0.1:1")).err).to.include("No answer from the carrier");
    expect((await ask("http://127.0.0.1:2")).err).to.include("and RPC_TOKEN");
  });

  it("says in one line which settings are wrong", async () => {
    const env = { ...settings(), RPC_TLS_CERT_FILE: "/nowhere" };
    const { code, err } = await finish(start(env, "connector", "list"));
    expect(code).to.equal(1);
    expect(err).to.match(/^smsctl: RPC_TLS_CERT_FILE[^\n]* go together[^\n]*\n$/);
  });

  it("takes no setting from elsewhere once there is one of them", async () => {
    const { code, err } = await finish(start({ RPC_TOKEN: TOKEN }, "--json", "connector", "list"));
    expect(code).to.equal(1);
    expect(JSON.parse(err).error.message).to.include("Set ROUTING_GRPC and RPC_TOKEN");
  });
});
