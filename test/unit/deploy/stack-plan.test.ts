import { expect } from "chai";
import { writeJson } from "../../../deploy/dev/json-file.ts";
import { layoutOf } from "../../../deploy/dev/paths.ts";
import {
  canonicalName,
  fixedSettings,
  PROCESS_LAYOUTS,
  processCalled,
  processLayout,
  SERVICE_PROCESSES,
  type ServiceProcess,
  type StackPlan,
  stackSettings,
} from "../../../deploy/dev/process-table.ts";
import { stackSecrets } from "../../../deploy/dev/secrets.ts";
import { settingNames, settingsIn } from "../../../deploy/dev/settings.ts";
import { StackError } from "../../../deploy/dev/stack-error.ts";
import { changedSettings, nextState } from "../../../deploy/dev/start-stack.ts";
import { tierOf } from "../../../deploy/dev/stop-stack.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the plan of a stack", () => {
  const dir = temporaryFolder("plan");
  const layout = layoutOf(dir);

  it("takes a server's address from the environment and starts none for it", () => {
    const state = nextState({ env: { NATS_URL: "nats://10.0.0.1:4222" } }, layout, false);
    expect(state.external).to.deep.equal(["nats-server"]);
    expect(state.urls.nats).to.equal("nats://10.0.0.1:4222");
    expect(state.urls.mongodb).to.equal("mongodb://127.0.0.1:8120/?replicaSet=sms");
  });

  it("keeps the ports, addresses and settings of a stack that runs, and adds new settings", () => {
    const first = nextState({ env: { PORT_BASE: "18080", RPC_TOKEN: "one" } }, layout, false);
    writeJson(layout.stateFile, first);
    const next = nextState({ env: { LOG_LEVEL: "debug" } }, layout, true);
    expect(next.portBase).to.equal(18_080);
    expect(next.urls).to.deep.equal(first.urls);
    expect(next.settings).to.deep.equal({ RPC_TOKEN: "one", LOG_LEVEL: "debug" });
    expect(() => nextState({ env: { PORT_BASE: "8080" } }, layout, true)).to.throw(
      StackError,
      "make down first",
    );
  });

  it("starts from scratch when nothing runs", () => {
    writeJson(layout.stateFile, nextState({ env: { RPC_TOKEN: "one" } }, layout, false));
    expect(nextState({ env: {} }, layout, false).settings).to.deep.equal({});
  });

  it("keeps only environment variables that a service reads", () => {
    const names = settingNames();
    expect(names).to.include("MONGODB_URI").and.include("LOG_LEVEL");
    for (const server of ["MONGODB", "NATS", "REDIS"]) {
      for (const file of ["CA", "CERT", "KEY"])
        expect(names).to.include(`${server}_TLS_${file}_FILE`);
    }
    const env = { LOG_LEVEL: "warn", AWS_SECRET_ACCESS_KEY: "x", RPC_TOKEN: "" };
    expect(settingsIn(env, names)).to.deep.equal({ LOG_LEVEL: "warn" });
    const traces = { OTEL_EXPORTER_OTLP_HEADERS: "authorization=x" };
    expect(settingsIn(traces, names)).to.deep.equal(traces);
  });

  it("refuses other servers and another token than those it runs with", () => {
    const env = { NATS_URL: "nats://10.0.0.1:4222", RPC_TOKEN: "one" };
    const first = nextState({ env }, layout, false);
    writeJson(layout.stateFile, first);
    expect(nextState({ env }, layout, true)).to.deep.equal(first);
    expect(
      nextState({ env: { MONGODB_URI: first.urls.mongodb } }, layout, true).urls,
    ).to.deep.equal(first.urls);
    for (const other of [
      { MONGODB_URI: "mongodb://10.0.0.2/" },
      { NATS_URL: "nats://10.0.0.2:4222" },
      { RPC_TOKEN: "two" },
    ]) {
      expect(() => nextState({ env: other }, layout, true)).to.throw(StackError, "make down first");
    }
    expect(nextState({ env: { RPC_TOKEN: "two" } }, layout, false).settings.RPC_TOKEN).to.equal(
      "two",
    );
  });

  it("knows the token that it made itself", () => {
    const first = nextState({ env: {} }, layout, false);
    writeJson(layout.stateFile, first);
    const { rpcToken } = stackSecrets(layout.secretsFile);
    expect(() => nextState({ env: { RPC_TOKEN: rpcToken } }, layout, true)).not.to.throw();
    expect(() => nextState({ env: { RPC_TOKEN: "other" } }, layout, true)).to.throw(StackError);
  });

  it("names the settings that the running processes do not have", () => {
    const first = nextState({ env: { LOG_LEVEL: "warn" } }, layout, false);
    writeJson(layout.stateFile, first);
    const changed = (env: Record<string, string>) =>
      changedSettings(first, nextState({ env }, layout, true));
    expect(changed({ LOG_LEVEL: "warn" })).to.deep.equal([]);
    expect(changed({ LOG_LEVEL: "debug", RECEIPT_WAIT_MS: "5000" })).to.deep.equal([
      "LOG_LEVEL",
      "RECEIPT_WAIT_MS",
    ]);
    expect(changedSettings(undefined, first)).to.deep.equal([]);
  });

  it("adds its receiver's network and port to those of the environment", () => {
    const plan = planOf(SERVICE_PROCESSES, 18_080);
    const own = stackSettings(plan, {});
    expect(own.WEBHOOK_ALLOWED_NETWORKS).to.equal("127.0.0.0/8,::1/128");
    expect(own.WEBHOOK_ALLOWED_PORTS?.split(",")).to.include.members(["443", "8443", "18125"]);
    const kept = { WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/8", WEBHOOK_ALLOWED_PORTS: "443,9443" };
    const widened = stackSettings(plan, { ...kept, LOG_LEVEL: "warn" });
    expect(widened.WEBHOOK_ALLOWED_NETWORKS).to.equal("127.0.0.0/8,::1/128,10.0.0.0/8");
    expect(widened.WEBHOOK_ALLOWED_PORTS).to.match(/18125.*,9443$/);
    expect(widened.LOG_LEVEL).to.equal("warn");
  });

  const planOf = (processes: readonly ServiceProcess[], portBase = 8080): StackPlan => ({
    portBase,
    processes,
    urls: { mongodb: "", nats: "", redis: "" },
    secrets: { rpcToken: "", encryptionKeys: "", cursorKey: "", smscPassword: "" },
    dataDir: dir,
    caFile: "",
  });

  const settingsOf = (processes: readonly ServiceProcess[], name: string) =>
    fixedSettings(planOf(processes), name);

  it("ends first, in every layout, the process through which requests come in", () => {
    for (const rows of Object.values<readonly ServiceProcess[]>(PROCESS_LAYOUTS)) {
      for (const { name, services } of rows) {
        expect(tierOf(name), name).to.equal(services.includes("gateway") ? 0 : 1);
      }
    }
    expect(["gateway-2", "wallet-2", "receiver", "mongod"].map(tierOf)).to.deep.equal([0, 1, 2, 3]);
  });

  it("puts services together or apart as PROCESSES says", () => {
    const together = nextState({ env: { PROCESSES: "together" } }, layout, false);
    expect(together.processes.map(({ name }) => name)).to.deep.equal(["services", "webhook"]);
    expect(processCalled(together.processes, "wallet")).to.equal("services");
    expect(processCalled(together.processes, "webhook")).to.equal("webhook");
    expect(processCalled(together.processes, "mongo")).to.equal("mongod");
    writeJson(layout.stateFile, together);
    expect(nextState({ env: {} }, layout, true).processes).to.deep.equal(together.processes);
    expect(() => nextState({ env: { PROCESSES: "apart" } }, layout, true)).to.throw(
      StackError,
      "make down first",
    );
    const apart = nextState({ env: { PROCESSES: "apart" } }, layout, false);
    expect(processCalled(apart.processes, "wallet")).to.equal("wallet");
    expect(() => nextState({ env: { PROCESSES: "some" } }, layout, false)).to.throw(
      StackError,
      'apart or core or together, not "some"',
    );
  });

  it("shares a process on a small machine, unless PROCESSES says otherwise", () => {
    const processOf = (service: string, env: Record<string, string>, cores: number) =>
      processCalled(processLayout(env, cores), service);
    expect(processOf("gateway", {}, 2)).to.equal("core");
    expect(processOf("messaging", {}, 1)).to.equal("core");
    expect(processOf("carrier", {}, 2)).to.equal("carrier");
    expect(processOf("tenant", {}, 2)).to.equal("directory");
    expect(processOf("wallet", {}, 2)).to.equal("directory");
    expect(processOf("wallet", {}, 4)).to.equal("wallet");
    expect(processOf("wallet", { PROCESSES: "apart" }, 2)).to.equal("wallet");
    expect(processOf("wallet", { PROCESSES: "" }, 4)).to.equal("wallet");
  });

  it("gives processes that share one gRPC port the same address", () => {
    const shared = ["tenant", "wallet"];
    const others = SERVICE_PROCESSES.filter(({ name }) => !shared.includes(name));
    const settings = settingsOf([{ name: "core", services: shared }, ...others], "core");
    expect(settings.TENANT_GRPC).to.equal(settings.WALLET_GRPC);
    expect(settings.TENANT_GRPC).to.equal(`127.0.0.1:${settings.GRPC_PORT}`);
    expect(settings.MESSAGING_GRPC).not.to.equal(settings.TENANT_GRPC);
  });

  it("gives callers every replica of a service, and each replica its own ports and settings", () => {
    const second = SERVICE_PROCESSES.map(({ name, services }) => {
      return { name: `${name}-2`, services, settings: { CARRIER_ID: `${name}-2` } };
    });
    const processes = [...SERVICE_PROCESSES, ...second];
    const [one, two] = ["wallet", "wallet-2"].map((name) => settingsOf(processes, name));
    expect(one?.GRPC_PORT).not.to.equal(two?.GRPC_PORT);
    const both = [one, two].map((settings) => `127.0.0.1:${settings?.GRPC_PORT}`);
    expect(settingsOf(processes, "messaging").WALLET_GRPC).to.equal(both.join(","));
    expect(settingsOf(processes, "carrier-2").CARRIER_ID).to.equal("carrier-2");
    expect(settingsOf(processes, "gateway").PORT).to.equal("8080");
    expect(settingsOf(processes, "gateway-2").PORT).to.equal("8081");
  });

  it("knows the servers by the names people use", () => {
    expect(["redis-server", "valkey", "redis"].map(canonicalName)).to.deep.equal(
      Array(3).fill("redis"),
    );
    expect(canonicalName("wallet")).to.equal("wallet");
  });
});
