/** Sending, reading, listing and cancelling through the API, with the content of each response. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import type { RestAnswer, RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const SEND = "/v1/sms/messages";

const MESSAGE_FIELDS = [
  "id object mode channel direction status to from body encoding segments held_amount unit_price",
  "amount currency client_reference campaign_id source error scheduled_at created_at sent_at",
  "completed_at updated_at",
]
  .join(" ")
  .split(" ");

describe("REST: messages", () => {
  const { rest, customer, checkedCall, call } = useRestSuite();

  const send = (change: Record<string, unknown> = {}, options: RestCall = {}) =>
    call("POST", SEND, {
      body: { to: "08031234567", from: "Acme", body: "Hello", ...change },
      ...options,
    });
  const list = async (query: Record<string, string>) =>
    (await call("GET", `/v1/messages?${new URLSearchParams(query)}`)).body;

  it("a single send gets 202 with all fields of the message", async () => {
    const { status, body } = await send({ client_reference: "order-1" });
    expect(status).to.equal(202);
    expect(Object.keys(body)).to.deep.equal(["data"]);
    expect(Object.keys(body.data)).to.deep.equal(MESSAGE_FIELDS);
    expect(body.data).to.include({
      object: "message",
      mode: "live",
      channel: "sms",
      direction: "outbound",
      status: "queued",
      to: "+2348031234567",
      from: "Acme",
      body: "Hello",
      encoding: "gsm7",
      segments: 1,
      held_amount: "4.0000",
      currency: "NGN",
      client_reference: "order-1",
      campaign_id: null,
      source: "api",
      error: null,
    });
    expect(body.data.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  for (const to of [
    "08031234567",
    "8031234567",
    "2348031234567",
    "+2348031234567",
    "+234 803 123 4567",
    "+234 (0) 803-123-4567",
    "0803.123.4567",
    "002348031234567",
  ]) {
    it(`to ${to} is +2348031234567, for sends and for the list`, async () => {
      expect((await send({ to })).body.data.to).to.equal("+2348031234567");
      const page = await list({ to, limit: "1" });
      expect(page.data[0].to).to.equal("+2348031234567");
    });
  }

  for (const text of [
    "{{name}}",
    " two  spaces ",
    "tab\tand\r\nlines",
    "₦500",
    "e\u0301",
    "\u0000x",
  ]) {
    it(`the body ${JSON.stringify(text)} is stored exactly as given`, async () => {
      const sent = await send({ body: text });
      expect(sent.body.data.body).to.equal(text);
      const read = await call("GET", sent.headers.get("location") ?? "");
      expect(read.body.data.body).to.equal(text);
    });
  }

  it("a recipient that is not a mobile number fails a single send at the field to", async () => {
    const before = (await list({})).data.length;
    for (const to of ["nobody", "012345678", "+2341", "😀", "08031234567890123"]) {
      const { status, body } = await send({ to });
      expect(status, to).to.equal(422);
      expect(body.errors).to.have.length(1);
      expect(body.errors[0]).to.include({ field: "to", code: "invalid_recipient" });
    }
    expect((await list({})).data.length, "no message is created").to.equal(before);
  });

  it("a country without a route is destination_not_supported", async () => {
    const { status, body } = await send({ to: "+14155552671" });
    expect(status).to.equal(422);
    expect(body.errors[0]).to.include({ field: "to", code: "destination_not_supported" });
  });

  it("a message read by id has its history, oldest first; a list has none", async () => {
    const { body: sent } = await send();
    const { id } = sent.data;
    const done = await eventually(async () => {
      const { body } = await call("GET", `/v1/messages/${id}`);
      return body.data.status === "delivered" && body.data;
    });
    expect(Object.keys(done)).to.deep.equal([...MESSAGE_FIELDS, "status_history"]);
    for (const entry of done.status_history) {
      expect(entry).to.have.all.keys("status", "occurred_at", "error");
    }
    const times = done.status_history.map(
      ({ occurred_at }: { occurred_at: string }) => occurred_at,
    );
    expect([...times].sort()).to.deep.equal(times);
    const page = await list({ limit: "1" });
    expect(Object.keys(page.data[0])).to.deep.equal(MESSAGE_FIELDS);
  });

  it("a bulk send returns one entry per recipient, in submitted order", async () => {
    const to = ["08031111111", "nobody", "0803 111 1112", "+2348031111111", "+14155552671"];
    const { status, body } = await call("POST", `${SEND}/bulk`, {
      body: { to, from: "acme", body: "x".repeat(161), client_reference: "all" },
    });
    expect(status).to.equal(202);
    const result = body.data;
    expect(result).to.include({
      object: "send_result",
      requested: 5,
      accepted: 2,
      rejected: 3,
      segments: 4,
      held_amount: "16.0000",
      currency: "NGN",
      mode: "live",
    });
    expect(result.reservation_id).to.match(/^rsv_/);
    type Entry = Record<string, unknown> & { error: { code: string } | null };
    expect(
      result.messages.map(({ index, input, to: number, status: state, error }: Entry) =>
        [index, input, number, state, error?.code].join(" "),
      ),
    ).to.deep.equal([
      "0 08031111111 +2348031111111 queued ",
      "1 nobody nobody rejected invalid_recipient",
      "2 0803 111 1112 +2348031111112 queued ",
      "3 +2348031111111 +2348031111111 rejected duplicate_recipient",
      "4 +14155552671 +14155552671 rejected destination_not_supported",
    ]);
    for (const entry of result.messages) {
      expect(entry.client_reference).to.equal("all");
      expect(entry.held_amount).to.equal(entry.status === "queued" ? "8.0000" : "0.0000");
      const { body: read } = await call("GET", `/v1/messages/${entry.id}`);
      expect(read.data.to).to.equal(entry.to);
    }
  });

  it("a number that is not a mobile is shown and listed in E.164; unparsed recipients as given", async () => {
    const to = ["0201 234 5678", "+44 20 7183 8750", "12345", "08031111115"];
    const { body } = await call("POST", `${SEND}/bulk`, { body: { to, from: "Acme", body: "Hi" } });
    const shown = body.data.messages.map((entry: { to: string }) => entry.to);
    expect(shown).to.deep.equal(["+2342012345678", "+442071838750", "12345", "+2348031111115"]);
    const listed = (await list({ to: "0201 234 5678" })).data;
    expect(listed).to.have.length(1);
    expect(listed[0].error.code).to.equal("invalid_recipient");
  });

  it("if no recipient passes, errors has one entry per recipient, up to 1,000", async () => {
    const field = (name: string) =>
      Array.from({ length: 1000 }, (_, at) => name.replace("#", `${at}`));
    const to = field("nobody #");
    const messages = to.map((recipient) => ({ to: recipient, body: "Hi" }));
    for (const [path, body, wanted] of [
      ["bulk", { to, from: "Acme", body: "Hi" }, field("to[#]")],
      ["batch", { from: "Acme", messages }, field("messages[#].to")],
    ] as const) {
      const answer = await call("POST", `${SEND}/${path}`, { body });
      expect(answer.status).to.equal(422);
      expect(answer.body.code).to.equal("validation_error");
      const { errors } = answer.body;
      expect(errors.map((error: { field: string }) => error.field)).to.deep.equal(wanted);
      expect(new Set(errors.map((error: { code: string }) => error.code))).to.have.all.keys(
        "invalid_recipient",
      );
    }
  });

  it("a batch sends each recipient its own text, and checks each item by itself", async () => {
    const messages = [
      { to: "08031111113", body: "Hello Ada", client_reference: "a" },
      { to: "08031111114", body: "x".repeat(1531) },
      { to: "nobody", body: "Hello" },
    ];
    const { status, body } = await call("POST", `${SEND}/batch`, {
      body: { from: "Acme", messages },
    });
    expect(status).to.equal(202);
    type Entry = {
      status: string;
      error: { code: string } | null;
      client_reference: string | null;
    };
    expect(
      body.data.messages.map((entry: Entry) => [
        entry.status,
        entry.error?.code,
        entry.client_reference,
      ]),
    ).to.deep.equal([
      ["queued", undefined, "a"],
      ["rejected", "body_too_long", null],
      ["rejected", "invalid_recipient", null],
    ]);
    const none = await call("POST", `${SEND}/batch`, {
      body: { from: "Acme", messages: messages.slice(1) },
    });
    expect(none.status).to.equal(422);
    expect(
      none.body.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
    ).to.deep.equal([
      ["messages[0].body", "body_too_long"],
      ["messages[1].to", "invalid_recipient"],
    ]);
  });

  it("a send that the balance does not cover in full is refused as a whole", async () => {
    const poor = await rest.addCustomer({ funds: 100_000n });
    const body = { to: ["08031111111", "08031111112", "08031111113"], from: "Acme", body: "Hi" };
    const answer = await poor.call("POST", `${SEND}/bulk`, { body });
    expect(answer.status).to.equal(402);
    expect(answer.body).to.include({
      required_amount: "12.0000",
      available_amount: "10.0000",
      currency: "NGN",
    });
    expect((await poor.call("GET", "/v1/messages")).body.data).to.deep.equal([]);
    expect((await poor.call("GET", "/v1/balance")).body.data.held).to.equal("0.0000");
  });

  it("the balance is the wallet's, and available is balance minus held", async () => {
    const fresh = await rest.addCustomer({ funds: 1_234_500n });
    const at = new Date(Date.now() + 3_600_000).toISOString();
    await fresh.call("POST", SEND, {
      body: { to: "08031234567", from: "Acme", body: "x", send_at: at },
    });
    const answer = await checkedCall(fresh, "GET", "/v1/balance");
    expect(answer.body.data).to.include({
      object: "balance",
      currency: "NGN",
      balance: "123.4500",
      held: "4.0000",
      available: "119.4500",
    });
  });

  it("a test key sends test messages at no cost, and lists show the mode of the key only", async () => {
    const tester = await rest.addCustomer({ funds: 0n });
    const body = { to: "08031234567", from: "Acme", body: "Hello" };
    const sent = await rest.call("POST", SEND, { apiKey: tester.testKey, body });
    expect(sent.status, sent.text).to.equal(202);
    expect(sent.body.data).to.include({ mode: "test", held_amount: "0.0000" });
    const { id } = sent.body.data;
    const done = await eventually(async () => {
      const read = await rest.call("GET", `/v1/messages/${id}`, { apiKey: tester.testKey });
      return read.body.data.status === "delivered" && read.body.data;
    });
    expect(done.amount).to.equal("0.0000");
    expect((await tester.call("GET", `/v1/messages/${id}`)).status).to.equal(404);
    expect((await tester.call("POST", `/v1/messages/${id}/cancel`)).status).to.equal(404);
    expect((await tester.call("GET", "/v1/messages")).body.data).to.deep.equal([]);
    const mine = await rest.call("GET", "/v1/messages", { apiKey: tester.testKey });
    expect(mine.body.data.map((message: { id: string }) => message.id)).to.deep.equal([id]);
  });

  it("a cancel accepts no body, null or an empty object only", async () => {
    const at = { send_at: new Date(Date.now() + 3_600_000).toISOString() };
    const { body: sent } = await send(at);
    const path = `/v1/messages/${sent.data.id}/cancel`;
    const wrong = await call("POST", path, { body: { reason: "none" } });
    expect(wrong.status).to.equal(422);
    expect(wrong.body.errors[0]).to.include({ field: "reason", code: "unknown_field" });
    const cancelled = await call("POST", path, { body: {} });
    expect(cancelled.body.data).to.include({
      status: "cancelled",
      scheduled_at: sent.data.scheduled_at,
    });
    expect((await call("POST", path)).body).to.deep.equal(cancelled.body);
    // Some generated clients send `null` for a body that is left out.
    expect((await call("POST", path, { raw: " null\n" })).body).to.deep.equal(cancelled.body);
  });

  it("another tenant's message cannot be read or cancelled; the response is that for an unknown one", async () => {
    const { body: sent } = await send({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
    const stranger = await rest.addCustomer();
    const path = `/v1/messages/${sent.data.id}`;
    const free = `/v1/messages/msg_${"0".repeat(26)}`;
    for (const [method, tail] of [
      ["GET", ""],
      ["POST", "/cancel"],
    ] as const) {
      const theirs = await stranger.call(method, path + tail);
      const nobodys = await stranger.call(method, free + tail);
      expect(theirs.status).to.equal(404);
      const { request_id: _a, ...first } = theirs.body;
      const { request_id: _b, ...second } = nobodys.body;
      expect(first).to.deep.equal(second);
    }
    expect((await call("GET", path)).body.data.status).to.equal("scheduled");
  });

  it("the sender IDs are listed by name, with whether each can be used now", async () => {
    const owner = await rest.addCustomer();
    const { tenantId } = owner;
    await rest.senderIds.createSenderId({ tenantId, name: "Beta", approve: false });
    await rest.senderIds.createSenderId({ tenantId, name: "aaa", approve: true });
    const all = await checkedCall(owner, "GET", "/v1/sender-ids");
    type Row = { name: string; status: string; usable: boolean };
    const rows = (answer: RestAnswer) =>
      answer.body.data.map(({ name, status, usable }: Row) => [name, status, usable].join(" "));
    expect(rows(all)).to.deep.equal([
      "aaa approved true",
      "Acme approved true",
      "Beta pending false",
    ]);
    expect(rows(await owner.call("GET", "/v1/sender-ids?usable=false"))).to.deep.equal([
      "Beta pending false",
    ]);
    expect(rows(await owner.call("GET", "/v1/sender-ids?name=ACME"))).to.deep.equal([
      "Acme approved true",
    ]);
    expect(
      rows(await owner.call("GET", "/v1/sender-ids?status=pending&status=rejected")),
    ).to.deep.equal(["Beta pending false"]);
    const first = await owner.call("GET", "/v1/sender-ids?limit=2");
    const { next_cursor: cursor } = first.body;
    const second = await owner.call("GET", `/v1/sender-ids?limit=2&cursor=${cursor}`);
    expect([...rows(first), ...rows(second)]).to.deep.equal(rows(all));
    expect(second.body.next_cursor).to.equal(null);
    expect((await customer.call("GET", `/v1/sender-ids?limit=2&cursor=${cursor}`)).status).to.equal(
      422,
    );
  });
});
