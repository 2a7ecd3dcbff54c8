/** `docs/contract.md#timeline`: statuses, money and webhook attempts of one message in one line of time. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

type Entry = { readonly type: string; readonly at: string; readonly [name: string]: unknown };

describe("REST: a message's timeline", function () {
  this.timeout(60_000);
  const { rest, customer, checkedCall, call } = useRestSuite();

  async function send(more: object = {}): Promise<string> {
    const body = { to: "08031234567", from: customer.sender, body: "Hello", ...more };
    return (await call("POST", "/v1/sms/messages", { body })).body.data.id;
  }
  const entriesOf = async (id: string): Promise<Entry[]> =>
    (await call("GET", `/v1/messages/${id}/timeline`)).body.data.entries;

  it("has every status, the money, and each attempt of each endpoint, oldest first", async () => {
    const { url } = rest.stack.receiver;
    const event_types = ["message.status_changed", "message.delivered"];
    const made = await call("POST", "/v1/webhook-endpoints", { body: { url, event_types } });
    const endpoint = made.body.data.id;
    const id = await send();
    const entries = await eventually(
      async () => {
        const found = await entriesOf(id);
        const attempts = found.filter(({ type }) => type === "webhook_attempt");
        return attempts.length === 3 && found;
      },
      { timeoutMs: 30_000, everyMs: 200, what: "three attempts" },
    );
    const message = (await call("GET", `/v1/messages/${id}`)).body.data;
    const times = entries.map(({ at }) => at);
    expect(times).to.deep.equal(times.toSorted());
    const ofType = (type: string) => entries.filter((entry) => entry.type === type);
    expect(ofType("status").map(({ status }) => status)).to.deep.equal([
      ...["queued", "sent", "delivered"],
    ]);
    expect(ofType("hold")[0]).to.include({ amount: message.held_amount, currency: "NGN" });
    expect(ofType("charge")[0]).to.include({ amount: message.amount, at: message.sent_at });
    // The receiver of the stack has another secret, and refuses.
    for (const attempt of ofType("webhook_attempt")) {
      expect(attempt).to.include({ endpoint_id: endpoint, attempt: 1, failure: "status" });
    }
    expect(ofType("webhook_attempt").map(({ event_type }) => event_type)).to.have.members([
      ...["message.status_changed", "message.status_changed", "message.delivered"],
    ]);
    expect(ofType("webhook_due")).to.have.length(3);

    const delivery = ofType("webhook_attempt")[0]?.delivery_id;
    const path = `/v1/webhook-endpoints/${endpoint}/deliveries/${delivery}`;
    const shown = (await call("GET", path)).body.data;
    expect(JSON.parse(shown.body).data.object.id).to.equal(id);
    expect(shown.attempts).to.have.length(1);
    const unknown = await call("GET", `${path.slice(0, -1)}${path.endsWith("0") ? "1" : "0"}`);
    expect(unknown.status).to.equal(404);
  });

  it("a cancelled message shows its hold and the release, and nothing is charged", async () => {
    const other = await rest.addCustomer();
    const send_at = new Date(Date.now() + 86_400_000).toISOString();
    const body = { to: "08031234567", from: "Acme", body: "Hello", send_at };
    const { id } = (await other.call("POST", "/v1/sms/messages", { body })).body.data;
    await other.call("POST", `/v1/messages/${id}/cancel`);
    const timeline = await checkedCall(other, "GET", `/v1/messages/${id}/timeline`);
    const { entries } = timeline.body.data as { entries: Entry[] };
    expect(entries.map(({ type, status }) => status ?? type)).to.deep.equal([
      ...["scheduled", "hold", "cancelled", "release"],
    ]);
    expect(entries[1]?.amount).to.equal(entries[3]?.amount);
  });

  it("another account's message, and one of the other mode, do not exist", async () => {
    const id = await send();
    const stranger = await rest.addCustomer();
    for (const options of [{ apiKey: stranger.apiKey }, { apiKey: customer.testKey }]) {
      const answer = await call("GET", `/v1/messages/${id}/timeline`, options);
      expect(answer.status).to.equal(404);
    }
  });
});
