import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { askTogether } from "../../../services/shared/rpc/batch-or-single.ts";

describe("questions asked together", () => {
  const each = async (question: number) => {
    if (question === 2) throw new Error("no such thing");
    return `one ${question}`;
  };
  const failing = (code: Code) => async () => {
    throw new ConnectError("no", code);
  };

  it("go in one call", async () => {
    const together = async (all: readonly number[]) => all.map((one) => `all ${one}`);
    expect(await askTogether([1, 2], together, each)).to.deep.equal(["all 1", "all 2"]);
  });

  for (const code of [Code.Unimplemented, Code.PermissionDenied]) {
    it(`go one by one, and fail one by one, where the call is ${Code[code]}`, async () => {
      const [first, second] = await askTogether([1, 2], failing(code), each);
      expect(first).to.equal("one 1");
      expect(second).to.be.instanceOf(Error).with.property("message", "no such thing");
    });
  }

  it("fail together when the service is away", async () => {
    const error = await askTogether([1], failing(Code.Unavailable), each).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(ConnectError).with.property("code", Code.Unavailable);
  });
});
