/** `docs/contract.md#lists`: filters, time ranges and cursors over real messages. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  type RestAnswer,
  type RestStack,
  sharedRestStack,
} from "../../support/rest.ts";

type Row = {
  id: string;
  to: string;
  from: string;
  status: string;
  client_reference: string | null;
};
type Page = { data: Row[]; next_cursor: string | null };

describe("REST: listing messages", () => {
  let rest: RestStack;
  let customer: Customer;
  /** Newest first. */
  let ids: string[];

  before(async function () {
    this.timeout(120_000);
    rest = await sharedRestStack();
    customer = await rest.addCustomer();
    const { tenantId } = customer;
    await rest.senderIds.createSenderId({ tenantId, name: "Beta", approve: true });
    const sent: string[] = [];
    for (let at = 0; at < 12; at += 1) {
      const answer = await customer.call("POST", "/v1/sms/messages", {
        body: {
          to: `0803123000${at % 4}`,
          from: at % 3 === 0 ? "Beta" : "Acme",
          body: `Message ${at}`,
          client_reference: at % 2 === 0 ? "even" : "odd",
          ...(at < 3 ? { send_at: new Date(Date.now() + 3_600_000).toISOString() } : {}),
        },
      });
      sent.push(answer.body.data.id);
    }
    ids = sent.reverse();
    await eventually(async () => (await page({ status: "delivered" })).data.length === 9, {
      timeoutMs: 20_000,
    });
  });

  const call = (query: Record<string, string> | [string, string][]) =>
    customer.call("GET", `/v1/messages?${new URLSearchParams(query)}`);
  async function page(query: Record<string, string> | [string, string][]): Promise<Page> {
    const { status, body, text } = await call(query);
    expect(status, text).to.equal(200);
    return body;
  }
  /** All rows, a few per page; fails on a duplicate row. */
  async function walk(query: Record<string, string>, limit = 5): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const next: Page = await page({
        ...query,
        limit: String(limit),
        ...(cursor === null ? {} : { cursor }),
      });
      expect(next.data.length).to.be.at.most(limit);
      rows.push(...next.data);
      cursor = next.next_cursor;
      if (cursor !== null) expect(cursor.length).to.be.at.most(256);
    } while (cursor !== null);
    expect(new Set(rows.map(({ id }) => id)).size).to.equal(rows.length);
    return rows;
  }
  const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);

  it("is newest first for every page size, and next_cursor is null on the last page", async () => {
    for (const limit of [1, 5, 11, 12, 13]) expect(idsOf(await walk({}, limit))).to.deep.equal(ids);
    expect((await page({ limit: "12" })).next_cursor).to.equal(null);
  });

  it("filters combine", async () => {
    const rows = await walk({ from: "bETA", client_reference: "even", to: "0803 123 0000" });
    expect(rows.length).to.be.greaterThan(0);
    for (const row of rows) {
      expect(row).to.include({ from: "Beta", client_reference: "even", to: "+2348031230000" });
    }
    expect(idsOf(rows)).to.deep.equal(
      idsOf(
        (await walk({})).filter(
          ({ from, to, client_reference }) =>
            from === "Beta" && to === "+2348031230000" && client_reference === "even",
        ),
      ),
    );
  });

  it("status may be repeated", async () => {
    const { data } = await page([
      ["status", "scheduled"],
      ["status", "delivered"],
    ]);
    expect(idsOf(data)).to.deep.equal(ids);
    expect(idsOf((await page({ status: "scheduled" })).data)).to.deep.equal(ids.slice(-3));
    expect((await page({ status: "failed" })).data).to.deep.equal([]);
  });

  it("source may be repeated", async () => {
    expect(idsOf((await page({ source: "api" })).data)).to.deep.equal(ids);
    const others = await page([
      ["source", "campaign"],
      ["source", "quick_send"],
      ["source", "test_send"],
    ]);
    expect(others.data).to.deep.equal([]);
  });

  it("client_reference is exact", async () => {
    expect((await page({ client_reference: "even" })).data).to.have.length(6);
    expect((await page({ client_reference: "Even" })).data).to.deep.equal([]);
    expect((await page({ client_reference: "eve" })).data).to.deep.equal([]);
  });

  it("campaign_id finds nothing for an unknown campaign", async () => {
    expect((await page({ campaign_id: `cmp_${"0".repeat(26)}` })).data).to.deep.equal([]);
  });

  it("created_after is inclusive and created_before is not", async () => {
    const all = (await page({})).data as (Row & { created_at: string })[];
    const middle = all[5]?.created_at ?? "";
    const from = (await page({ created_after: middle })).data;
    const before = (await page({ created_before: middle })).data;
    expect(from.length + before.length).to.equal(all.length);
    expect(idsOf(from)).to.include(all[5]?.id);
    expect(idsOf(before)).to.not.include(all[5]?.id);
  });

  it("with both bounds there is no gap and no duplicate while messages arrive", async () => {
    const bounds = {
      created_after: new Date(Date.now() - 3_600_000).toISOString(),
      created_before: new Date().toISOString(),
    };
    const first = await page({ ...bounds, limit: "5" });
    await customer.call("POST", "/v1/sms/messages", {
      body: { to: "08031230009", from: "Acme", body: "A new one" },
    });
    const rest_ = await page({ ...bounds, limit: "100", cursor: first.next_cursor ?? "" });
    expect([...idsOf(first.data), ...idsOf(rest_.data)]).to.deep.equal(ids);
  });

  it("a cursor is valid only unchanged, with its own filters, account and mode", async () => {
    const { next_cursor: cursor } = await page({ limit: "1", status: "delivered" });
    const good = { limit: "2", status: "delivered", cursor: cursor ?? "" };
    expect((await call(good)).status).to.equal(200);
    const stranger = await rest.addCustomer();
    const query = new URLSearchParams(good);
    const testKey = { apiKey: customer.testKey };
    for (const answer of [
      await call({ limit: "2", cursor: cursor ?? "" }),
      await call({ ...good, status: "sent" }),
      await call({ ...good, created_before: new Date().toISOString() }),
      await call({ ...good, cursor: `${cursor?.slice(0, -1)}_` }),
      await call({ ...good, cursor: "" }),
      await call({ ...good, cursor: "nonsense" }),
      await stranger.call("GET", `/v1/messages?${query}`),
      await customer.call("GET", `/v1/messages?${query}`, testKey),
    ]) {
      expect(answer.status, answer.text).to.equal(422);
      expect(answer.body.errors[0].field).to.equal("cursor");
    }
  });

  it("to that cannot be parsed is invalid_recipient; unknown and repeated parameters are refused", async () => {
    const wrong = await call({ to: "nobody", stauts: "sent" });
    expect(wrong.status).to.equal(422);
    expect(
      wrong.body.errors.map(
        ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
      ),
    ).to.have.members(["to invalid_recipient", "stauts unknown_field"]);
    const twice = await call([
      ["limit", "1"],
      ["limit", "2"],
    ]);
    expect(twice.body.errors[0]).to.include({ field: "limit", code: "invalid_value" });
  });

  it("rejected items of megabytes, stored as given, make pages shorter instead of failing the list", async () => {
    const hoarder = await rest.addCustomer();
    const wanted: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      const sent = await hoarder.call("POST", "/v1/sms/messages/batch", {
        body: {
          from: "Acme",
          messages: [
            { to: `0803300000${at}`, body: "x".repeat(1_800_000) },
            { to: "y".repeat(1_800_000), body: "Hi" },
            { to: "08033000009", body: "Hi" },
          ],
        },
      });
      expect(sent.status).to.equal(202);
      wanted.unshift(...sent.body.data.messages.map(({ id }: { id: string }) => id).reverse());
    }
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query = new URLSearchParams(cursor === "" ? {} : { cursor });
      const page: RestAnswer = await hoarder.call("GET", `/v1/messages?${query}`);
      expect(page.status, page.text.slice(0, 300)).to.equal(200);
      found.push(...page.body.data.map(({ id }: { id: string }) => id));
      cursor = page.body.next_cursor;
    }
    expect(found).to.deep.equal(wanted);
  });
});
