/** Follows the quickstart as a reader does: each of its shell commands, in order, in one shell. */
import { execFileSync, spawnSync } from "node:child_process";
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { type Customer, type RestStack, sharedRestStack } from "../../support/rest.ts";
import { skipSince } from "../../support/skip.ts";

describe("the quickstart", function () {
  this.timeout(180_000);
  let rest: RestStack;
  let customer: Customer;

  before(async function () {
    if (spawnSync("curl", ["--version"]).status !== 0) skipSince(this, "there is no curl");
    rest = await sharedRestStack();
    customer = await rest.addCustomer();
  });

  it("sends a message, follows it to its delivery, makes one fail, and shows a refused request", async () => {
    const guide = await (await fetch(`${rest.stack.gateway}/docs/guides/quickstart.md`)).text();
    const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
    const own = commands.filter((text) => !text.includes("stack.json"));
    expect(own.length, "the line for a development stack is left out").to.equal(
      commands.length - 1,
    );
    const script = own
      .join("\n")
      .replace("API_KEY=sk_test_…", `API_KEY=${customer.testKey}`)
      .replace("SENDER_ID=DEMO", "SENDER_ID=Acme")
      // A reader needs a second to read the first answer; this waits for the delivery instead.
      .replace(/^(curl "\$BASE_URL\/v1\/messages\/\$MESSAGE_ID".*)$/m, UNTIL_DELIVERED);
    const output = execFileSync("sh", ["-euc", script], {
      encoding: "utf8",
      timeout: 60_000,
      stdio: "pipe",
    });
    expect(output).to.contain('"usable":true').and.to.contain("202 Accepted");
    expect(output).to.match(/"status":"delivered"[\s\S]*"status_history"/);
    expect(output).to.contain('"field":"from","code":"required"');
    await eventually(async () => {
      const options = { apiKey: customer.testKey };
      const { body } = await customer.call("GET", "/v1/messages?status=undelivered", options);
      return body.data[0]?.error?.code === "absent_subscriber";
    });
  });
});

const UNTIL_DELIVERED =
  'until answer=$($1); echo "$$answer" | grep -q delivered; do :; done; echo "$$answer"';
