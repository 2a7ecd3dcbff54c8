import { expect } from "chai";
import { STACK_IS_DOWN } from "../../../services/smsctl/calls/addresses.ts";
import { errorOf, type Fakes, refuse, run } from "../../support/smsctl-fakes.ts";

describe("smsctl check without a stack", () => {
  it("ends with one line at the first part when no process of the stack runs", async () => {
    let others = 0;
    const services: Fakes = {
      messaging: {
        // biome-ignore lint/correctness/useYield: it fails before its first message.
        async *checkMessages() {
          refuse("service_unavailable", `${STACK_IS_DOWN} (Or name other services.)`);
        },
        async *streamCharges() {
          others += 1;
          yield {};
        },
      },
    };
    const error = await errorOf(run(["check"], services));
    expect(error).to.include({ code: "service_unavailable" });
    expect(others).to.equal(0);
  });
});
