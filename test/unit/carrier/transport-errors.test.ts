import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { isOutage } from "../../../services/carrier/adapters/messaging-client.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import { refusal, toAppError } from "../../../services/shared/rpc/error-status.ts";

describe("outages of calls to messaging", () => {
  const token = refusal(Code.Unauthenticated, "service_unauthenticated", "A token is required.");
  for (const [what, error, expected] of [
    ["messaging is away", new ConnectError("away", Code.Unavailable), true],
    ["no answer in time", new ConnectError("late", Code.DeadlineExceeded), true],
    ["no room", new AppError("rate_limited", "Slow down."), true],
    ["a token in the middle of its exchange", token, true],
    ["the same, understood", toAppError(token), true],
    ["a refusal", new AppError("validation_error", "Wrong."), false],
    ["a fault", new ConnectError("oops", Code.Internal), false],
  ] as const) {
    it(`${what}: ${expected}`, () => expect(isOutage(error)).to.equal(expected));
  }

  it("a refused service token is an outage", () => {
    const { authorize } = createRpcAuth([
      { name: "carrier", tokens: ["0123456789abcdef"], methods: ["*"] },
    ]);
    let thrown: unknown;
    try {
      authorize("sms.v1.MessagingService/ReportOutcomes", "Bearer another-token-0000");
    } catch (error) {
      thrown = error;
    }
    expect(isOutage(thrown)).to.equal(true);
  });
});
