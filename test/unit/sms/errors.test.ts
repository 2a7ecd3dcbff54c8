/** The line of an error: each text once, and with the command in place of the request that the API names. */
import { expect } from "chai";
import { toCliError } from "../../../clients/cli/cli/errors.ts";
import { createSmsClient } from "../../../clients/typescript/src/client.ts";
import { failure } from "../../../services/shared/cli/output.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

const SENDER = "The sender ID cannot be used now. GET /v1/sender-ids lists yours.";

describe("an error of the API", () => {
  it("whose detail is its only fault has one text, and names a command", async () => {
    const fault = { field: "from", code: "sender_id_not_approved", message: SENDER };
    const problem = { code: "sender_id_not_approved", detail: SENDER, errors: [fault] };
    const shown = toCliError(await thrownBy({ ...problem, status: 422 }));
    const text = "The sender ID cannot be used now. sms sender-ids lists yours.";
    expect(failure("sms", shown, false)).to.equal(`sms: ${text} (sender_id_not_approved)\n`);
    const { error } = JSON.parse(failure("sms", shown, true));
    expect(error.fields).to.deep.equal([{ ...fault, message: text }]);
  });

  it("has each fault that its detail does not say", () => {
    const [to, from] = ["to", "from"].map((field) => {
      return { field, code: "required", message: "This field is required." } as const;
    });
    if (to === undefined || from === undefined) throw new Error("two faults were made");
    const fields = [to, from];
    const wrong = new AppError("validation_error", `to: ${to.message}`, { fields });
    expect(failure("sms", wrong, false)).to.equal(
      "sms: to: This field is required. from: This field is required. (validation_error)\n",
    );
    const several = new AppError("validation_error", "2 fields are wrong.", { fields });
    expect(failure("sms", several, false)).to.match(/wrong\. to: This .* from: This /);
  });
});

/** The error of the client for a response with this problem. */
async function thrownBy(problem: { readonly status: number }): Promise<unknown> {
  const fetch = async () =>
    new Response(JSON.stringify({ type: "", title: "", request_id: "req_1", ...problem }), {
      status: problem.status,
      headers: { "content-type": "application/problem+json" },
    });
  const sms = createSmsClient({
    ...{ apiKey: "sk_test_x", baseUrl: "https://api.example.test", fetch },
  });
  return sms.balance.get().catch((error: unknown) => error);
}
