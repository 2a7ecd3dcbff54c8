/** The smsctl process: exit codes, signals, and errors of unreachable services. */
import { type ChildProcess, spawn } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { createRpcServer } from "../../../services/shared/rpc/server.ts";
import { collectOutput } from "../../support/child-output.ts";
import { COMPILE_CACHE } from "../../support/compile-cache.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

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
      env: { PATH: process.env.PATH, ...COMPILE_CACHE, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async function finish(child: ChildProcess) {
    const { seen, ended } = collectOutput(child);
    return { code: await ended, ...seen };
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
    const reported = await finish(start(settings()));
    expect([reported.code, reported.out]).to.deep.equal([2, ""]);
    expect(reported.err).to.match(/^Usage: smsctl /);
    const json = await finish(start(settings(), "--json"));
    expect([json.code, json.out]).to.deep.equal([2, ""]);
    expect(JSON.parse(json.err).error).to.include({ code: "validation_error" });
  });

  it("says on standard error, as JSON, that fewer were replayed than were named", async () => {
    const ids = Array.from({ length: 8 }, (_, at) => `id_${at}`);
    const { code, out, err } = await finish(start(settings(), "--json", "dead", "replay", ...ids));
    expect([code, JSON.parse(out)]).to.deep.equal([4, { replayed: 7 }]);
    expect(JSON.parse(err).error.message).to.include("1 of 8");
  });

  it("exits silently when the pipe is closed", async () => {
    const child = start(settings(), "connector", "list");
    child.stdout?.once("readable", () => child.stdout?.destroy());
    const { code, err } = await finish(child);
    expect([0, 130]).to.include(code);
    expect(err).to.equal("");
  });

  it("exits silently when the pipe is closed before its help is written", async () => {
    const child = start(settings(), "connector", "add", "--help");
    child.stdout?.destroy();
    const { code, err } = await finish(child);
    expect([code, err]).to.deep.equal([130, ""]);
  });

  it("says which service did not answer, where and why", async () => {
    const away = await finish(
      start({ ...settings(), ROUTING_GRPC: "127.0.0.1:1" }, "connector", "list"),
    );
    expect(away.code).to.equal(5);
    const why = "connect ECONNREFUSED 127.0.0.1:1 (service_unavailable)";
    expect(away.err).to.equal(`smsctl: Cannot reach routing at 127.0.0.1:1: ${why}\n`);
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
    expect(nobody.code).to.equal(5);
    const why = "connect ECONNREFUSED 127.0.0.1:3 (service_unavailable)";
    expect(nobody.err).to.equal(`smsctl: Cannot reach the carrier at http://127.0.0.1:3: ${why}\n`);
    for (const address of ["127.0.0.1:8095", "localhost:8095"]) {
      const wrong = await finish(start(settings(), "connector", "unmatched", "--ops", address));
      expect(wrong.err)
        .to.include(`"${address}" is no address`)
        .and.match(/^[^\n]*\n$/);
    }
  });

  it("gives the token of the development stack to no address but the stack's own", async () => {
    const folder = temporaryFolder("smsctl-stack");
    const stack = { grpc: {}, grpc_token: TOKEN, ops: { carrier: "http://127.0.0.1:1" } };
    writeFileSync(join(folder, "stack.json"), JSON.stringify(stack));
    const ask = (url: string) =>
      finish(start({ STACK_DIR: folder }, "connector", "unmatched", "--ops", url));
    expect((await ask("http://127.0.0.1:1")).err).to.include("Cannot reach the carrier");
    expect((await ask("http://127.0.0.1:2")).err).to.include("and RPC_TOKEN");
  });

  it("says in one line which settings are wrong", async () => {
    const env = { ...settings(), RPC_TLS_CERT_FILE: "/nowhere" };
    const { code, err } = await finish(start(env, "connector", "list"));
    expect(code).to.equal(2);
    expect(err).to.match(/^smsctl: RPC_TLS_CERT_FILE[^\n]* go together[^\n]*\n$/);
  });

  it("reads no setting from another source once one source has one of them", async () => {
    const { code, err } = await finish(start({ RPC_TOKEN: TOKEN }, "--json", "connector", "list"));
    expect(code).to.equal(5);
    expect(JSON.parse(err).error.message).to.include("set ROUTING_GRPC and RPC_TOKEN");
  });

  it("says in one line that the stack is down, and how to start it", async () => {
    const folder = temporaryFolder("smsctl-down");
    const without = await finish(start({ STACK_DIR: folder }, "tenant", "list"));
    const grpc = { tenant: "127.0.0.1:1" };
    // No process can have this number (proc(5): pid_max is at most 2^22).
    const stack = { grpc, operator_token: TOKEN, pids: { tenant: 2 ** 22 + 1 } };
    writeFileSync(join(folder, "stack.json"), JSON.stringify(stack));
    const stopped = await finish(start({ STACK_DIR: folder }, "tenant", "list"));
    for (const { code, err } of [without, stopped]) {
      expect(code).to.equal(5);
      expect(err).to.match(/^smsctl: The stack is down: make up\.[^\n]*\n$/);
    }
    const alive = { ...stack, pids: { gateway: process.pid } };
    writeFileSync(join(folder, "stack.json"), JSON.stringify(alive));
    const one = await finish(start({ STACK_DIR: folder }, "tenant", "list"));
    expect(one.err).to.match(/^smsctl: tenant is down: make restart S=tenant[^\n]*\n$/);
  });

  it("--watch shows a list again, survives an outage, and ends with 130 on Ctrl-C", async () => {
    const child = start({ ...settings(), ROUTING_GRPC: "127.0.0.1:1" }, "route", "list", "--watch");
    const finished = finish(child);
    const errors: string[] = [];
    child.stderr?.on("data", (chunk) => {
      errors.push(String(chunk));
      if (errors.length === 2) child.kill("SIGINT");
    });
    const { code, err } = await finished;
    expect(code).to.equal(130);
    expect(err.match(/Cannot reach routing/g)).to.have.length(2);
    expect(err).to.not.include("    at ");
  });

  describe("contexts", () => {
    const home = temporaryFolder("smsctl-contexts");
    const context = (env: Record<string, string>, ...words: string[]) =>
      finish(start({ XDG_CONFIG_HOME: home, ...env }, ...words));

    it("name the services, unless the environment does; --context wins over both", async () => {
      const set = await context(settings(), "context", "set", "here", "--from-env");
      expect([set.code, set.err]).to.deep.equal([0, ""]);
      const file = join(home, "smsctl", "contexts.json");
      expect(statSync(file).mode & 0o777).to.equal(0o600);
      const away = ["context", "set", "away", "--routing-grpc", "127.0.0.1:1", "--stack", "/none"];
      expect((await context({}, ...away)).code).to.equal(0);
      expect((await context({}, "connector", "list")).code).to.equal(0);
      const other = { ROUTING_GRPC: "127.0.0.1:2", RPC_TOKEN: TOKEN };
      expect((await context(other, "connector", "list")).err).to.include("127.0.0.1:2");
      const named = await context(other, "connector", "list", "--context", "here");
      expect(named.code).to.equal(0);
      const list = await context({}, "context", "list", "--json");
      expect(JSON.parse(list.out)[0]).to.include({ name: "here", current: true, has_token: true });
      expect(list.out).to.not.include(TOKEN);
    });

    it("are used, replaced and removed by name, and an unknown one exits 3", async () => {
      expect((await context({}, "context", "use", "away")).code).to.equal(0);
      const lacks = await context({}, "tenant", "list");
      expect([lacks.code, lacks.err]).to.deep.equal([
        5,
        "smsctl: The context away does not name tenant: set TENANT_GRPC and RPC_TOKEN. (service_unavailable)\n",
      ]);
      for (const words of [
        ["context", "use", "nowhere"],
        ["context", "remove", "nowhere"],
        ["tenant", "list", "--context", "nowhere"],
      ]) {
        const { code, err } = await context({}, ...words);
        expect(code, words.join(" ")).to.equal(3);
        expect(err).to.include("there are: here, away");
      }
      expect((await context({}, "context", "remove", "away")).code).to.equal(0);
      expect(JSON.parse((await context({}, "context", "list", "--json")).out)).to.have.length(1);
    });
  });
});
