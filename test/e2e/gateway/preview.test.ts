/** `docs/contract.md#preview`: what a text would be, and cost, before it is sent. */
import { expect } from "chai";
import type { RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/sms/messages/preview";

describe("REST: previews", function () {
  this.timeout(30_000);
  const { rest, customer, checkedCall } = useRestSuite();

  const preview = async (body: object, options: RestCall = {}) => {
    const answer = await checkedCall(customer, "POST", PATH, { body, ...options });
    expect(answer.status, answer.text).to.equal(200);
    return answer.body.data;
  };

  for (const [body, encoding, segments, used, free] of [
    ["", "gsm7", 0, 0, 160],
    ["Hello", "gsm7", 1, 5, 155],
    ["€".repeat(80), "gsm7", 1, 160, 0],
    ["a".repeat(161), "gsm7", 2, 8, 145],
    ["₦500", "ucs2", 1, 4, 66],
    ["🙂".repeat(36), "ucs2", 2, 6, 61],
  ] as const) {
    it(`${body.slice(0, 5)} (${body.length}) is ${encoding} in ${segments} segments`, async () => {
      const data = await preview({ body });
      expect(data).to.deep.include({ encoding, segments, last_segment: { used, free } });
      expect(data).to.include({ characters: [...body].length, amount: null, refusal: null });
    });
  }

  it("names each character outside GSM 7-bit with its places", async () => {
    const { non_gsm7_characters } = await preview({ body: "a₦b🙂₦" });
    expect(non_gsm7_characters).to.deep.equal([
      { character: "₦", code_point: "U+20A6", positions: [1, 4] },
      { character: "🙂", code_point: "U+1F642", positions: [3] },
    ]);
    expect((await preview({ body: "a€b" })).non_gsm7_characters).to.deep.equal([]);
  });

  it("prices a text as the send holds it, and holds nothing", async () => {
    const body = { from: "acme", to: "0803 123 4567", body: "long ".repeat(60) };
    const before = (await customer.call("GET", "/v1/balance")).body.data.available;
    const data = await preview(body);
    expect(data).to.include({ to: "+2348031234567", currency: "NGN", refusal: null });
    expect((await customer.call("GET", "/v1/balance")).body.data.available).to.equal(before);
    const sent = await customer.call("POST", "/v1/sms/messages", { body });
    expect(data.amount).to.equal(sent.body.data.held_amount);
    expect(data.segments).to.equal(sent.body.data.segments);
    expect(Number(data.unit_price) * data.segments).to.equal(Number(data.amount));
    const test = await preview(body, { apiKey: customer.testKey });
    expect(test.amount).to.equal("0.0000");
  });

  it("says why a send would be refused, and still counts segments", async () => {
    for (const [more, field, code] of [
      [{ from: "Nobodys", to: "08031234567" }, "from", "sender_id_not_approved"],
      [{ from: "Acme", to: "12" }, "to", "invalid_recipient"],
      [{ from: "Acme", to: "+12025550123" }, "to", "destination_not_supported"],
      [{ body: "x".repeat(1531) }, "body", "body_too_long"],
      [
        { from: "Acme", to: "08031234567", traffic_class: "otp" },
        "traffic_class",
        "traffic_class_not_allowed",
      ],
    ] as const) {
      const data = await preview({ body: "Hello", ...more });
      expect(data.refusal, code).to.include({ field, code });
      expect(data.amount).to.equal(null);
      expect(data.segments).to.be.greaterThan(0);
    }
  });

  it("stores no message", async () => {
    const other = await rest.addCustomer();
    await other.call("POST", PATH, { body: { body: "Hi", from: "Acme", to: "08031234567" } });
    expect((await other.call("GET", "/v1/messages")).body.data).to.deep.equal([]);
  });

  it("names all faults together", async () => {
    const refused = await checkedCall(customer, "POST", `${PATH}?x=1`, {
      body: { body: 5, from: "x", colour: "red" },
    });
    expect(refused.body.errors.map(({ field }: { field: string }) => field).sort()).to.deep.equal([
      ...["body", "colour", "from", "x"],
    ]);
  });
});
