/** Campaigns through the API: each operation, its errors, and the path of one campaign to its end. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import type { RestAnswer } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/campaigns";

describe("REST: campaigns", function () {
  this.timeout(60_000);
  const { rest, customer, call } = useRestSuite();

  async function draft(content: object = {}): Promise<string> {
    const body = { name: "Spring", from: customer.sender, body: "Hello {{name}}", ...content };
    const made = await call("POST", PATH, { body });
    expect(made.status, made.text).to.equal(201);
    return made.body.data.id;
  }

  async function addCsv(id: string, csv: string | Uint8Array<ArrayBuffer>) {
    return call("POST", `${PATH}/${id}/recipients`, {
      raw: csv,
      headers: { "content-type": "text/csv" },
    });
  }

  const codes = (answer: RestAnswer) =>
    answer.body.errors.map(({ field, code }: Record<string, string>) => `${field} ${code}`);

  it("turns a file of recipients into delivered messages", async () => {
    const id = await draft();
    const added = await addCsv(id, "to;name\r\n08031110001;Ada\r\n08031110002;Bola\r\n");
    expect(added.body.data).to.deep.equal({
      object: "campaign_import",
      taken: 2,
      rejected: 0,
      duplicates: 0,
      faults: [],
    });
    const estimate = await call("POST", `${PATH}/${id}/estimate`);
    expect(estimate.body.data).to.include({ recipients: 2, segments: 2, amount: "8.0000" });
    const preview = await call("POST", `${PATH}/${id}/preview`, { body: { limit: 1 } });
    expect(preview.body.data[0].body).to.equal("Hello Ada");
    const started = await call("POST", `${PATH}/${id}/start`);
    expect(started.body.data.status).to.equal("running");
    await eventually(
      async () => (await call("GET", `${PATH}/${id}`)).body.data.progress.delivered === 2,
      { what: "the delivery of both messages", timeoutMs: 20_000 },
    );
    const done = (await call("GET", `${PATH}/${id}`)).body.data;
    expect(done.status).to.equal("completed");
    expect(done.progress.charged_amount).to.equal("8.0000");
    const rows = (await call("GET", `${PATH}/${id}/recipients?limit=1`)).body;
    expect(rows.data[0]).to.include({ to: "+2348031110001", status: "delivered", error: null });
    const message = await customer.call("GET", `/v1/messages/${rows.data[0].message_id}`);
    expect(message.body.data).to.include({ campaign_id: id, source: "campaign" });
    await expectInStatement(id);
    const second = `${PATH}/${id}/recipients?cursor=${rows.next_cursor}&limit=1`;
    expect((await call("GET", second)).body.data[0].to).to.equal("+2348031110002");
    const file = await call("GET", `${PATH}/${id}/recipients`, { headers: { accept: "text/csv" } });
    expect(file.headers.get("content-type")).to.equal("text/csv; charset=utf-8");
    expect(file.text.split("\r\n")[1]).to.match(/^0,\+2348031110001,,delivered,msg_/);
  });

  /** The statement names the campaign of each hold and charge, and shows them alone when asked. */
  async function expectInStatement(id: string): Promise<void> {
    const entries = "/v1/wallet/entries";
    const plain = { from: customer.sender, body: "Hi", to: "08031110009" };
    const { body: sent } = await call("POST", "/v1/sms/messages", { body: plain });
    const kindsOf = async (query: string) => {
      const { data } = (await call("GET", `${entries}?${query}`)).body;
      return data.map(({ kind, campaign_id: campaign }: Record<string, string>) => ({
        kind,
        campaign,
      }));
    };
    const charged = { kind: "charge", campaign: id };
    await eventually(async () => (await kindsOf("kind=charge")).length === 3, {
      ...{ what: "the charges", timeoutMs: 20_000 },
    });
    expect(await kindsOf(`campaign_id=${id}`)).to.deep.equal([charged, charged]);
    expect(await kindsOf(`campaign_id=${id}&kind=hold`)).to.deep.equal([
      { kind: "hold", campaign: id },
    ]);
    const { data: all } = (await call("GET", `${entries}?kind=charge`)).body;
    const other = all.find((line: Record<string, string>) => line.message_id === sent.data.id);
    expect(other).to.include({ campaign_id: null, reference: null });
    const file = await call("GET", `${entries}?campaign_id=${id}`, {
      headers: { accept: "text/csv" },
    });
    const [header, ...lines] = file.text.trimEnd().split("\r\n");
    expect(header?.split(",").at(-1)).to.equal("campaign_id");
    expect(lines.map((line) => line.split(",").at(-1))).to.deep.equal([id, id]);
    const wrong = await call("GET", `${entries}?campaign_id=spring`);
    expect(codes(wrong)).to.deep.equal(["campaign_id invalid_format"]);
    const stranger = await rest.addCustomer();
    const foreign = await stranger.call("GET", `${entries}?campaign_id=${id}&kind=hold`);
    expect(foreign.body.data).to.deep.equal([]);
    const { next_cursor } = (await call("GET", `${entries}?campaign_id=${id}&limit=1`)).body;
    const moved = await call("GET", `${entries}?limit=1&cursor=${next_cursor}`);
    expect(codes(moved)).to.deep.equal(["cursor invalid_value"]);
  }

  it("reports each wrong line of a file, and adds the others", async () => {
    const id = await draft();
    const file = [
      "\uFEFFname,to,client_reference",
      '"Ada, the first",08031120001,ref-1',
      '"two\r\nlines",+234 803 112 0002,',
      "Bola,2.34803E+12,",
      "",
      "Chi,08031120001,",
      "Dayo,not a number,",
      "Efe,08031120003",
    ].join("\r\n");
    const { taken, rejected, duplicates, faults } = (await addCsv(id, file)).body.data;
    expect({ taken, rejected, duplicates }).to.deep.equal({
      taken: 2,
      rejected: 3,
      duplicates: 1,
    });
    expect(
      faults.map(({ line, code }: { line: number; code: string }) => `${line} ${code}`),
    ).to.deep.equal(["5 scientific_notation", "8 invalid_recipient", "9 wrong_column_count"]);
    const rows = (await call("GET", `${PATH}/${id}/recipients`)).body.data;
    expect(rows.map((row: { variables: object }) => row.variables)).to.deep.equal([
      { name: "Ada, the first" },
      { name: "two\nlines" },
    ]);
  });

  it("names what is wrong with a file as a whole", async () => {
    const id = await draft();
    const latin1 = new Uint8Array(Buffer.from("to,name\n08031120001,Zo\xe9\n", "latin1"));
    expect(codes(await addCsv(id, latin1))).to.deep.equal(["body invalid_encoding"]);
    expect(codes(await addCsv(id, "number\n08031120001\n"))).to.deep.equal(["body missing_column"]);
    expect(codes(await addCsv(id, 'to,name\n08031120001,"Ada\n'))).to.deep.equal([
      "body invalid_csv",
    ]);
    const unknown = await addCsv("cmp_01ARZ3NDEKTSV4RRFFQ69G5FAV", "to\n08031120001\n");
    expect(unknown.status).to.equal(404);
  });

  it("reports every wrong field of a draft at once", async () => {
    const wrong = await call("POST", PATH, {
      body: { name: "", from: "x", body: "Hi {{}}", budget_amount: "5", sendAt: "now" },
    });
    expect(wrong.status).to.equal(422);
    expect(codes(wrong)).to.have.members([
      "name too_short",
      "from too_short",
      "budget_amount invalid_format",
      "sendAt unknown_field",
    ]);
    const placeholder = await call("POST", PATH, {
      body: { name: "A", from: customer.sender, body: "Hi {{}}" },
    });
    expect(codes(placeholder)).to.deep.equal(["body invalid_placeholder"]);
  });

  it("changes and deletes a draft, and refuses both for a started campaign", async () => {
    const id = await draft();
    const changed = await call("PATCH", `${PATH}/${id}`, {
      body: { rate_per_second: 5, client_reference: "autumn" },
    });
    expect(changed.body.data).to.include({ rate_per_second: 5, name: "Spring" });
    const cleared = await call("PATCH", `${PATH}/${id}`, { body: { rate_per_second: null } });
    expect(cleared.body.data).to.include({ rate_per_second: null, client_reference: "autumn" });
    expect((await call("POST", `${PATH}/${id}/start`)).status).to.equal(422);
    await addCsv(id, "to,name\n08031130001,Ada\n");
    expect((await call("POST", `${PATH}/${id}/start`)).status).to.equal(200);
    expect((await call("PATCH", `${PATH}/${id}`, { body: { name: "B" } })).status).to.equal(409);
    expect((await call("DELETE", `${PATH}/${id}`)).status).to.equal(409);
    expect((await addCsv(id, "to,name\n08031130002,Ada\n")).status).to.equal(409);
    const other = await draft();
    expect((await call("DELETE", `${PATH}/${other}`)).status).to.equal(204);
    expect((await call("GET", `${PATH}/${other}`)).status).to.equal(404);
  });

  it("creates one campaign for a key, and refuses the key for another", async () => {
    const body = { name: "Once", from: customer.sender, body: "Hello" };
    const first = await call("POST", PATH, { body, key: "campaign-1" });
    const again = await call("POST", PATH, { body, key: "campaign-1" });
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    expect(again.body).to.deep.equal(first.body);
    const other = await call("POST", PATH, { body: { ...body, name: "Two" }, key: "campaign-1" });
    expect(other.body.code).to.equal("idempotency_key_reused");
  });

  it("refuses to start a campaign that the balance does not cover, with both amounts", async () => {
    const poor = await rest.addCustomer({ funds: 79_999n });
    const made = await poor.call("POST", PATH, {
      body: { name: "Poor", from: poor.sender, body: "Hello" },
    });
    const id = made.body.data.id;
    await poor.call("POST", `${PATH}/${id}/recipients`, {
      body: { recipients: [{ to: "08031140001" }, { to: "08031140002" }] },
    });
    const refused = await poor.call("POST", `${PATH}/${id}/start`);
    expect(refused.status).to.equal(402);
    expect(refused.body).to.include({ required_amount: "8.0000", available_amount: "7.9999" });
    expect((await poor.call("GET", `${PATH}/${id}`)).body.data.status).to.equal("draft");
  });

  it("hides a live campaign from a test key and from another customer", async () => {
    const id = await draft();
    const stranger = await rest.addCustomer();
    for (const apiKey of [customer.testKey, stranger.apiKey]) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/recipients"],
        ["POST", "/start"],
        ["POST", "/cancel"],
        ["DELETE", ""],
      ] as const) {
        const answer = await customer.call(method, `${PATH}/${id}${path}`, { apiKey });
        expect(answer.status, `${method} ${path}`).to.equal(404);
      }
      expect((await customer.call("GET", PATH, { apiKey })).body.data).to.deep.equal([]);
    }
  });

  it("lists campaigns newest first, in pages and by status", async () => {
    const reader = await rest.addCustomer();
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) {
      const body = { name, from: reader.sender, body: "Hello" };
      ids.unshift((await reader.call("POST", PATH, { body })).body.data.id);
    }
    await reader.call("POST", `${PATH}/${ids[0]}/cancel`);
    const first = (await reader.call("GET", `${PATH}?limit=2`)).body;
    const rest2 = (await reader.call("GET", `${PATH}?limit=2&cursor=${first.next_cursor}`)).body;
    const seen = [...first.data, ...rest2.data].map(({ id }: { id: string }) => id);
    expect(seen).to.deep.equal(ids);
    const cancelled = (await reader.call("GET", `${PATH}?status=cancelled`)).body.data;
    expect(cancelled.map(({ id }: { id: string }) => id)).to.deep.equal([ids[0]]);
  });

  it("sends a test with the variables of the first recipient", async () => {
    const id = await draft();
    await addCsv(id, "to,name\n08031150001,Ada\n");
    const sent = await call("POST", `${PATH}/${id}/test`, { body: { to: ["08031150009"] } });
    expect(sent.status).to.equal(202);
    const messageId = sent.body.data.messages[0].message_id;
    const message = await customer.call("GET", `/v1/messages/${messageId}`);
    expect(message.body.data).to.include({ source: "test_send", body: "Hello Ada" });
  });
});
