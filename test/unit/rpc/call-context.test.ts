import { expect } from "chai";
import { runDetached } from "../../../services/shared/flow/run-detached.ts";
import {
  activeCall,
  currentCall,
  readCall,
  runInCall,
} from "../../../services/shared/rpc/call-context.ts";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("RPC call context", () => {
  const read = (headers: Record<string, string>) => readCall((name) => headers[name]);

  it("keeps well-formed values", () => {
    const context = read({ "x-request-id": "req_1", "x-tenant-id": "ten_1", traceparent: TRACE });
    expect(context).to.include({ requestId: "req_1", tenantId: "ten_1", traceparent: TRACE });
  });

  it("creates a request id when it is missing or unsafe to log", () => {
    for (const given of [undefined, "", "a b", "a\nb", "x".repeat(129), "é"]) {
      const { requestId } = read(given === undefined ? {} : { "x-request-id": given });
      expect(requestId).to.match(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    }
  });

  it("drops malformed tenants and traces (W3C Trace Context section 3.2)", () => {
    for (const tenant of ["", "ten 1", "ten_1;drop", "x".repeat(65)]) {
      expect(read({ "x-tenant-id": tenant }).tenantId, tenant).to.equal(undefined);
    }
    const wrong = [
      "",
      TRACE.toUpperCase(),
      `ff${TRACE.slice(2)}`,
      TRACE.slice(0, -1),
      `${TRACE}-x`,
      TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32)),
      TRACE.replace("b7ad6b7169203331", "0".repeat(16)),
    ];
    for (const traceparent of wrong) {
      expect(read({ traceparent }).traceparent, traceparent).to.equal(undefined);
    }
  });

  it("follows awaits, stays apart between concurrent calls and ends with the call", async () => {
    const seen = await Promise.all(
      ["req_a", "req_b"].map((requestId) =>
        runInCall({ requestId }, async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return currentCall().requestId;
        }),
      ),
    );
    expect(seen).to.deep.equal(["req_a", "req_b"]);
    expect(activeCall()).to.equal(undefined);
  });

  it("does not apply to detached work", () => {
    runInCall({ requestId: "req_a", deadlineAtMs: 1 }, () => {
      expect(runDetached(activeCall)).to.equal(undefined);
      expect(activeCall()?.requestId).to.equal("req_a");
    });
  });
});
