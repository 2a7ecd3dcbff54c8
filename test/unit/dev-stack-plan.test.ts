import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { writeJson } from "../../deploy/dev/json-file.ts";
import { layoutOf } from "../../deploy/dev/layout.ts";
import { canonicalName, fixedSettings, SERVICE_PROCESSES } from "../../deploy/dev/process-table.ts";
import { settingNames, settingsIn } from "../../deploy/dev/settings.ts";
import { StackError } from "../../deploy/dev/stack-error.ts";
import { nextState } from "../../deploy/dev/start-stack.ts";

describe("the plan of a stack", () => {
  const dir = mkdtempSync(join(tmpdir(), "sms-plan-"));
  const layout = layoutOf(dir);
  after(() => rmSync(dir, { recursive: true }));

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

  it("begins anew when nothing runs", () => {
    writeJson(layout.stateFile, nextState({ env: { RPC_TOKEN: "one" } }, layout, false));
    expect(nextState({ env: {} }, layout, false).settings).to.deep.equal({});
  });

  it("keeps of the environment only what a service can read", () => {
    const names = settingNames();
    expect(names).to.include("MONGODB_URI").and.include("LOG_LEVEL");
    const env = { LOG_LEVEL: "warn", AWS_SECRET_ACCESS_KEY: "x", RPC_TOKEN: "" };
    expect(settingsIn(env, names)).to.deep.equal({ LOG_LEVEL: "warn" });
  });

  it("gives processes that share one gRPC port the same address", () => {
    const processes = [{ name: "core", services: ["tenant", "wallet"] }, ...SERVICE_PROCESSES];
    const settings = fixedSettings(
      {
        portBase: 8080,
        processes,
        urls: { mongodb: "", nats: "", redis: "" },
        secrets: { rpcToken: "", encryptionKeys: "", cursorKey: "", smscPassword: "" },
        dataDir: dir,
        caFile: "",
      },
      "core",
    );
    expect(settings.TENANT_GRPC).to.equal(settings.WALLET_GRPC);
    expect(settings.TENANT_GRPC).to.equal(`127.0.0.1:${settings.GRPC_PORT}`);
    expect(settings.MESSAGING_GRPC).not.to.equal(settings.TENANT_GRPC);
  });

  it("knows the servers by the names people use", () => {
    expect(["redis-server", "valkey", "redis"].map(canonicalName)).to.deep.equal(
      Array(3).fill("redis"),
    );
    expect(canonicalName("wallet")).to.equal("wallet");
  });
});
