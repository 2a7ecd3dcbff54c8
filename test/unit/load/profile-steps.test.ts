import { expect } from "chai";
import { sharesByStep } from "../../load/profile-steps.ts";
import { stepRows } from "../../load/profile-tables.ts";
import type { CpuProfile, ProfileNode } from "../../load/v8-profile.ts";

const ROOT = "file:///app";
const IN = {
  accept: `${ROOT}/services/messaging/app/accept.ts`,
  batcher: `${ROOT}/services/shared/flow/batcher.ts`,
  auth: `${ROOT}/gateway/auth/authenticate.ts`,
  driver: `${ROOT}/node_modules/mongodb/lib/cmap/connection.js`,
  bson: `${ROOT}/node_modules/bson/lib/bson.cjs`,
  rpc: `${ROOT}/node_modules/@grpc/grpc-js/build/src/server.js`,
  http2: "node:internal/http2/core",
  http: "node:_http_server",
};

/** A profile of one stack, outermost first, seen once for 100 µs; names without a file are V8's own. */
function profileOf(...stack: string[]): CpuProfile {
  const nodes: ProfileNode[] = stack.map((code, at) => ({
    id: at + 1,
    callFrame: code.includes(":")
      ? { functionName: "f", url: code }
      : { functionName: code, url: "" },
    children: at + 1 < stack.length ? [at + 2] : [],
  }));
  return { nodes, samples: [stack.length], timeDeltas: [100] };
}

describe("a profile by step", () => {
  for (const [step, stack] of [
    ["accept", ["(root)", IN.accept]],
    ["accept", ["(root)", IN.rpc, IN.accept, IN.batcher, IN.driver, IN.bson]],
    ["key, address, rate, concurrency limit", ["(root)", IN.http, IN.auth]],
    ["MongoDB driver", ["(root)", IN.driver, IN.bson]],
    ["RPC", ["(root)", IN.http2]],
    ["RPC", ["(root)", IN.rpc, "writeBuffer"]],
    ["HTTP", ["(root)", IN.http]],
    ["garbage collection", ["(root)", "(garbage collector)"]],
    ["event loop, sockets, kernel", ["(root)", "(program)"]],
    ["event loop, sockets, kernel", ["(root)", IN.batcher]],
  ] as const) {
    it(`is ${step} for ${stack.slice(1).map((code) => code.replace(ROOT, ""))}`, () => {
      expect([...sharesByStep(profileOf(...stack))]).to.deep.equal([[step, 1]]);
    });
  }

  it("leaves the idle time out, and shares the rest", () => {
    const nodes = [
      { id: 1, callFrame: { functionName: "(root)", url: "" }, children: [2, 3, 4] },
      { id: 2, callFrame: { functionName: "(idle)", url: "" } },
      { id: 3, callFrame: { functionName: "f", url: IN.accept } },
      { id: 4, callFrame: { functionName: "f", url: IN.driver } },
    ];
    const shares = sharesByStep({ nodes, samples: [2, 3, 4, 3], timeDeltas: [500, 100, 100, 200] });
    expect(Object.fromEntries(shares)).to.deep.equal({ accept: 0.75, "MongoDB driver": 0.25 });
  });

  it("shows the most expensive process first, and sums small shares", () => {
    const rows = [
      { process: "gateway", step: "HTTP", accept: 30, dispatch: 10 },
      { process: "gateway", step: "RPC", accept: 2, dispatch: 0 },
      { process: "gateway", step: "send batcher", accept: 0, dispatch: 1 },
      { process: "wallet", step: "decide", accept: 25, dispatch: 25 },
    ];
    expect(stepRows(rows, 3)).to.deep.equal([
      ["process", "step", "accept", "to settled and notified", "total"],
      ["wallet", "decide", "25", "25", "50"],
      ["gateway", "HTTP", "30", "10", "40"],
      ["gateway", "(other)", "2", "1", "3"],
    ]);
  });
});
