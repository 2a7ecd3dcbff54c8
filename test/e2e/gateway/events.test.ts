/** `docs/contract.md#event-list`: events for callers that ask, on the real services. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import type { RestAnswer, RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

type Event = {
  readonly id: string;
  readonly type: string;
  readonly tenant_id: string;
  readonly data: { readonly object: { readonly id: string; readonly mode?: string } };
};

describe("REST: the list of events", function () {
  this.timeout(60_000);
  const { rest, customer, checkedCall } = useRestSuite({ perTest: true });

  const call = (path: string, options?: RestCall) => checkedCall(customer, "GET", path, options);
  async function read(query = "", options?: RestCall) {
    const answer = await call(`/v1/events?${query}`, options);
    expect(answer.status, answer.text).to.equal(200);
    return { events: answer.body.data as Event[], cursor: answer.body.next_cursor as string };
  }
  const send = async (options: RestCall = {}) => {
    const body = { to: "08031234567", from: customer.sender, body: "Hello" };
    const sent = await checkedCall(customer, "POST", "/v1/sms/messages", { body, ...options });
    return sent.body.data.id as string;
  };
  /** Reads on from a cursor until there are `count` events. */
  async function collect(cursor: string, count: number, query = "", options?: RestCall) {
    const events: Event[] = [];
    let next = cursor;
    await eventually(
      async () => {
        const page = await read(`wait=5&cursor=${next}${query}`, options);
        events.push(...page.events);
        next = page.cursor;
        return events.length >= count;
      },
      { timeoutMs: 30_000, what: `${count} events` },
    );
    return { events, cursor: next };
  }

  it("has the events since a cursor in order, with the ids and bodies of the webhooks", async () => {
    const { url } = rest.stack.receiver;
    const event_types = ["message.status_changed", "message.sent", "message.delivered"];
    const options = { body: { url, event_types } };
    const made = await checkedCall(customer, "POST", "/v1/webhook-endpoints", options);
    const { cursor } = await read();
    const id = await send();
    const { events } = await collect(cursor, 4);
    expect(events.map(({ type }) => type)).to.deep.equal([
      ...["message.status_changed", "message.sent"],
      ...["message.status_changed", "message.delivered"],
    ]);
    for (const { data } of events) expect(data.object.id).to.equal(id);
    const log = `/v1/webhook-endpoints/${made.body.data.id}/deliveries`;
    const deliveries = await eventually(
      async () => {
        const { data } = (await call(log)).body;
        return data.length === 4 && (data as { id: string; event_id: string }[]);
      },
      { timeoutMs: 30_000, what: "four deliveries" },
    );
    expect(deliveries.map(({ event_id }) => event_id)).to.have.members(events.map((one) => one.id));
    for (const delivery of deliveries) {
      const { body } = (await call(`${log}/${delivery.id}`)).body.data;
      const event = events.find((one) => one.id === delivery.event_id);
      expect(JSON.stringify(event), "the webhook's bytes").to.equal(body);
    }
  });

  it("pages of any size have each event once, also when a page ends between the events of one change", async () => {
    const { cursor } = await read();
    await send();
    const whole = (await collect(cursor, 4)).events;
    for (const limit of [1, 3]) {
      const paged = await collect(cursor, 4, `&limit=${limit}`);
      expect(paged.events, `limit ${limit}`).to.deep.equal(whole);
    }
    const typed = await collect(cursor, 1, "&event_type=message.delivered");
    expect(typed.events).to.deep.equal(whole.filter(({ type }) => type === "message.delivered"));
  });

  it("a request that waits is answered by the next event", async () => {
    const waiting = read("wait=20&limit=1");
    await send();
    const { events } = await waiting;
    expect(events.map(({ type }) => type)).to.deep.equal(["message.status_changed"]);
  });

  it("events of test mode are shown to test keys alone, and live ones to live keys", async () => {
    const asTest = { apiKey: customer.testKey };
    const live = await read();
    const test = await read("", asTest);
    const liveId = await send();
    const testId = await send(asTest);
    const shown = async (cursor: string, options?: RestCall) => {
      const { events } = await collect(cursor, 4, "", options);
      return new Set(events.map(({ data }) => data.object.id));
    };
    expect([...(await shown(live.cursor))]).to.deep.equal([liveId]);
    expect([...(await shown(test.cursor, asTest))]).to.deep.equal([testId]);
    const crossed = await call(`/v1/events?cursor=${live.cursor}`, asTest);
    expect(crossed.status).to.equal(422);
  });

  it("another tenant sees nothing of it, and its cursor is refused like an invented one", async () => {
    const { cursor } = await read();
    const stranger = await rest.addCustomer();
    const strangers = await stranger.call("GET", "/v1/events");
    await send();
    await collect(cursor, 4);
    const own = strangers.body.next_cursor;
    const seen = await stranger.call("GET", `/v1/events?cursor=${own}`);
    expect(seen.body.data).to.deep.equal([]);
    const withoutId = ({ body: { request_id, ...rest } }: RestAnswer) => rest;
    const foreign = await stranger.call("GET", `/v1/events?cursor=${cursor}`);
    expect(foreign.status, foreign.text).to.equal(422);
    const invented = await stranger.call("GET", "/v1/events?cursor=k1.bm8gY3Vyc29y");
    expect(withoutId(foreign)).to.deep.equal(withoutId(invented));
  });

  it("a cursor has no number of the stream: it would show how much all accounts send", async () => {
    const { cursor } = await read();
    const text = Buffer.from(cursor.slice(cursor.lastIndexOf(".") + 1), "base64url");
    expect(text.toString("latin1")).to.not.match(/\d+\.0/);
  });

  it("needs the scope webhooks:manage, and refuses wrong parameters", async () => {
    const apiKey = await customer.addKey({ scopes: ["messages:read"] });
    expect((await call("/v1/events", { apiKey })).status).to.equal(403);
    for (const wrong of ["wait=21", "wait=-1", "limit=0", "event_type=message.flown", "after=x"]) {
      expect((await call(`/v1/events?${wrong}`)).status, wrong).to.equal(422);
    }
  });

  it("at most five requests of an account wait, and one whose client disconnects frees its place", async () => {
    const leave = new AbortController();
    const url = `${rest.stack.gateway}/v1/events?wait=20`;
    const headers = { authorization: `Bearer ${customer.apiKey}` };
    const waiting = Array.from({ length: 5 }, () =>
      fetch(url, { headers, signal: leave.signal }).catch(() => "left"),
    );
    const refused = await eventually(
      async () => {
        const answer = await call("/v1/events?wait=1");
        return answer.status === 429 && answer;
      },
      { what: "a sixth that is refused" },
    );
    expect(refused.headers.get("retry-after")).to.equal("5");
    expect((await call("/v1/events")).status, "without a wait").to.equal(200);
    leave.abort();
    expect(await Promise.all(waiting)).to.deep.equal(Array(5).fill("left"));
    await eventually(async () => (await call("/v1/events?wait=1")).status === 200, {
      what: "room again",
    });
  });
});
