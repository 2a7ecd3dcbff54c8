/**
 * Invariant 9 over REST, for every operation of the OpenAPI document: another tenant's resource and an unknown one
 * get the same response, including all headers.
 */
import { expect } from "chai";
import type { Owned } from "../../support/isolation-rpc-cases.ts";
import {
  freeNames,
  ISOLATION_SETTINGS,
  makeOwned,
  maskNames,
  OWNERS,
} from "../../support/isolation-world.ts";
import { fillPath, type OpenApiOperation, operationsOf } from "../../support/openapi-operations.ts";
import { eventually } from "../../support/poll.ts";
import {
  type Customer,
  openRestStack,
  type RestAnswer,
  type RestCall,
  type RestStack,
} from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

/** Headers that may differ between two equal responses. */
const VOLATILE = new Set(["date", "x-request-id", "ratelimit-remaining", "ratelimit-reset"]);

/** Every variant of a request, so that no order of checks separates a foreign id from an unknown one. */
const VARIANTS: Readonly<Record<string, (example: unknown) => RestCall & { query?: string }>> = {
  "the example's body": (example) => (example === undefined ? {} : { body: example }),
  "no body": () => ({}),
  "a body that is no JSON": () => ({ raw: '{"url":' }),
  "an unknown member": () => ({ body: { nonsense: true } }),
  "an unknown query parameter": (example) => ({
    query: "?nonsense=1",
    ...(example === undefined ? {} : { body: example }),
  }),
  "the owner's idempotency key": (example) => ({
    key: OWNERS.key,
    ...(example === undefined ? {} : { body: example }),
  }),
  "a malformed idempotency key": () => ({ key: "not a key!" }),
};

/** Fields that a creation needs in addition to its example, and a field for a text of its caller. */
function ownFields(path: string, url: string): readonly [object, string] {
  if (path.startsWith("/v1/webhook")) return [{ url }, "description"];
  if (path.startsWith("/v1/api-keys")) return [{}, "name"];
  if (path.startsWith("/v1/sender-ids")) return [{}, "sample"];
  return [{ from: "Acme" }, "client_reference"];
}

/** For each query parameter of a list: a value of the owner's rows, and an unused value. */
function filterValues(own: Owned, free: Owned, cursor: string): Record<string, [string, string]> {
  const forged = `${cursor.slice(0, -1)}${cursor.endsWith("A") ? "B" : "A"}`;
  return {
    to: [OWNERS.to, "+2348039998887"],
    from: [OWNERS.sender, free.senderName],
    name: [OWNERS.sender, free.senderName],
    client_reference: [OWNERS.reference, "nobodys-reference"],
    campaign_id: [own.campaign, free.campaign],
    cursor: [cursor, forged],
    event_type: ["message.status_changed", "webhook.test"],
    kind: ["hold", "hold"],
    actor: [`api_key:${own.apiKey}`, `api_key:${free.apiKey}`],
    limit: ["1", "2"],
    usable: ["true", "true"],
    created_after: [new Date(Date.now() - 3_600_000).toISOString(), new Date(0).toISOString()],
    number: [OWNERS.suppressed, "+2348039998886"],
    received_after: [new Date(Date.now() - 3_600_000).toISOString(), new Date(0).toISOString()],
    received_before: [new Date(Date.now() + 60_000).toISOString(), new Date().toISOString()],
    created_before: [new Date(Date.now() + 60_000).toISOString(), new Date().toISOString()],
  };
}

describe("tenants over REST", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let owner: Customer;
  let stranger: Customer;
  let own: Owned;
  let strangersEndpoint: string;
  let strangersCampaign: string;
  let operations: OpenApiOperation[];

  before(async function () {
    this.timeout(240_000);
    rest = await openRestStack(ISOLATION_SETTINGS, { processes: ONE_PROCESS });
    [owner, stranger] = await Promise.all([rest.addCustomer(), rest.addCustomer()]);
    own = await makeOwned(rest, owner);
    const { url } = rest.stack.receiver;
    const made = await stranger.call("POST", "/v1/webhook-endpoints", { body: { url } });
    strangersEndpoint = made.body.data.id;
    const body = { name: "Mine", from: stranger.sender, body: "Hello" };
    const draft = await stranger.call("POST", "/v1/campaigns", { body });
    strangersCampaign = draft.body.data.id;
    operations = operationsOf((await rest.call("GET", "/openapi.json")).body);
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
  });

  const namesOf = (names: Owned) => ({
    message_id: names.message,
    endpoint_id: names.endpoint,
    delivery_id: names.delivery,
    campaign_id: names.draft,
    inbound_message_id: names.inbound,
    api_key_id: names.apiKey,
    number: OWNERS.suppressed,
  });

  /** A response without the parts that may differ, with ids replaced by placeholders. */
  function comparable(answer: RestAnswer, names: Owned): object {
    const { request_id, ...body } = answer.body ?? {};
    const headers = [...answer.headers].filter(([name]) => !VOLATILE.has(name));
    const text = maskNames(JSON.stringify({ headers, body }), names);
    return { status: answer.status, ...JSON.parse(text) };
  }

  /** Checks that a response contains nothing of the owner's. */
  function expectNothingOfOwner(answer: RestAnswer, what: string): void {
    const shown = `${answer.text} ${JSON.stringify([...answer.headers])}`;
    const things = [owner.tenantId, OWNERS.body, OWNERS.to, OWNERS.reference, OWNERS.sender];
    for (const thing of [...things, ...Object.values(own)]) {
      expect(shown, what).to.not.contain(thing);
    }
  }

  /** Everything that the owner can see, as text. */
  async function ownersView(): Promise<string> {
    const paths = [`/v1/messages/${own.message}`, `/v1/messages/${own.scheduled}`, "/v1/balance"];
    const hooks = [own.endpoint, own.doomed].map((id) => `/v1/webhook-endpoints/${id}`);
    const answers = await Promise.all(
      [
        ...paths,
        ...hooks,
        `/v1/campaigns/${own.draft}`,
        "/v1/sender-ids",
        `${hooks[0]}/deliveries`,
      ].map((path) => owner.call("GET", path)),
    );
    return answers
      .map(({ status, text }) => `${status} ${text}`.replace(/"as_of":"[^"]*"/, ""))
      .join("\n");
  }

  /**
   * Tenants may suppress the same number, so another case tests these. A preview stores nothing, and an account is
   * found by the caller's key alone. Each cursor of events differs; events.test.ts tries another tenant's.
   */
  const OWN_CASES = new Set([
    "addSuppressions",
    "removeSuppression",
    "previewMessage",
    "updateAccount",
    "listEvents",
  ]);
  const withNames = () =>
    operations.filter(({ id, path }) => path.includes("{") && !OWN_CASES.has(id));
  const lists = () =>
    operations.filter(
      ({ id, parameters }) =>
        parameters.some(({ name, in: place }) => place === "query" && name === "limit") &&
        !OWN_CASES.has(id),
    );

  it("the document has operations of every kind, and at least one case tests each", () => {
    const tested = new Set([...withNames(), ...lists()].map(({ id }) => id));
    const others = operations.filter(({ id }) => !tested.has(id));
    expect(operations.length).to.be.at.least(19);
    expect(withNames().length, "operations on something with an id").to.be.at.least(10);
    expect(lists().length, "operations with filters").to.be.at.least(3);
    for (const { id, method, parameters } of others) {
      const takesKey = parameters.some(({ name }) => name === "Idempotency-Key");
      expect(
        method === "GET" || takesKey || OWN_CASES.has(id),
        `${id} has a case of its own`,
      ).to.equal(true);
    }
  });

  it("another tenant's id gets the response of an unknown one, for every operation and variant", async () => {
    const free = freeNames();
    const before = await ownersView();
    for (const { id, method, path, example } of withNames()) {
      for (const [variant, call] of Object.entries(VARIANTS)) {
        const { query = "", ...request } = call(example);
        if (method === "GET" && (request.body ?? request.raw) !== undefined) continue;
        const ask = (names: Record<string, string>) =>
          stranger.call(method, `${fillPath(path, names)}${query}`, request);
        // The owner's request fills the caches first.
        if (method === "GET") await owner.call(method, fillPath(path, namesOf(own)));
        const foreign = await ask(namesOf(own));
        const what = `${id} with ${variant}`;
        expect(foreign.status, `${what}: ${foreign.text}`).to.equal(404);
        expect(comparable(foreign, own), what).to.deep.equal(
          comparable(await ask(namesOf(free)), free),
        );
        if (!path.includes("{delivery_id}")) continue;
        // The tenant's own endpoint with another tenant's delivery.
        const mixed = (names: Owned) => ask({ ...namesOf(names), endpoint_id: strangersEndpoint });
        expect(comparable(await mixed(own), own), `${what}, own endpoint`).to.deep.equal(
          comparable(await mixed(free), free),
        );
      }
    }
    expect(await ownersView(), "nothing of the owner's has changed").to.equal(before);
  });

  it("a number that another tenant suppresses can be added and removed like an unused one", async () => {
    const before = (await owner.call("GET", "/v1/suppressions")).text;
    const ask = async (number: string) => {
      const body = { suppressions: [{ number }] };
      const added = await stranger.call("POST", "/v1/suppressions", { body });
      const removed = await stranger.call("DELETE", `/v1/suppressions/${number}`);
      const again = await stranger.call("DELETE", `/v1/suppressions/${number}`);
      return [added, removed, again].map((answer) => comparable(answer, own));
    };
    expect(await ask(OWNERS.suppressed)).to.deep.equal(await ask("+2348039998886"));
    expect((await owner.call("GET", "/v1/suppressions")).text).to.equal(before);
  });

  it("a filter by another tenant's value gets the response of an unused value", async () => {
    for (const { id, path, parameters } of lists()) {
      const target = fillPath(path, {
        endpoint_id: strangersEndpoint,
        campaign_id: strangersCampaign,
      });
      const owners = fillPath(path, namesOf(own));
      const first = await eventually(
        async () => {
          const answer = await owner.call("GET", `${owners}?limit=1`);
          const isOnePage = id === "listSenderIds" || id === "listWebhookDeliveries";
          return (answer.body.next_cursor !== null || isOnePage) && answer;
        },
        { what: `a second page of ${id}` },
      );
      const cursor = first.body.next_cursor ?? "bm8gY3Vyc29yIGF0IGFsbCwgcmVhbGx5";
      const values = filterValues(own, freeNames(), cursor);
      for (const { name, in: place, schema } of parameters) {
        if (place !== "query") continue;
        const choices = schema.items?.enum ?? schema.enum;
        const pair = choices === undefined ? values[name] : [choices[0] ?? "", choices[0] ?? ""];
        expect(pair, `${id} has a filter ${name} without a case`).to.be.an("array");
        const [owned = "", nobodys = ""] = pair ?? [];
        const ask = (value: string, limit = "") =>
          stranger.call("GET", `${target}?${name}=${encodeURIComponent(value)}${limit}`);
        // Fill the caches.
        await owner.call("GET", `${owners}?${name}=${encodeURIComponent(owned)}`);
        const answer = await ask(owned);
        expectNothingOfOwner(answer, `${id}?${name}`);
        if (name === "cursor") {
          expect(answer.status, answer.text).to.equal(422);
          const same = await ask(owned, "&limit=1");
          expect(same.status, "with the filters that it was made for").to.equal(422);
        }
        if (["created_after", "received_after", "limit"].includes(name)) continue;
        const unknown = await ask(nobodys);
        expect(comparable(answer, own), `${id}?${name}`).to.deep.equal(comparable(unknown, own));
        for (const choice of choices ?? []) expectNothingOfOwner(await ask(choice), choice);
      }
    }
  });

  it("operations without an id return nothing of another tenant", async () => {
    const reads = operations.filter(({ method, path }) => method === "GET" && !path.includes("{"));
    for (const { id, path } of reads) {
      const shown = await owner.call("GET", path);
      expect(shown.status, id).to.equal(200);
      expect(shown.headers.get("cache-control"), id).to.equal("no-store");
      const answer = await stranger.call("GET", path);
      expect(answer.status, id).to.equal(200);
      expectNothingOfOwner(answer, id);
    }
    const [ownersRows, strangersRows] = await Promise.all(
      [owner, stranger].map(({ call }) => call("GET", "/v1/messages")),
    );
    expect(ownersRows?.body.data.map(({ id }: { id: string }) => id)).to.include(own.message);
    expect(strangersRows?.body.data).to.deep.equal([]);
    const deliveries = `/v1/webhook-endpoints/${strangersEndpoint}/deliveries`;
    expect((await stranger.call("GET", deliveries)).body.data, "events").to.deep.equal([]);
  });

  it("an idempotency key belongs to its tenant: the same key of another tenant is another request", async () => {
    const url = rest.stack.receiver.url;
    const makers = operations.filter(
      ({ path, parameters }) =>
        !path.includes("{") && parameters.some(({ name }) => name === "Idempotency-Key"),
    );
    expect(makers.length).to.be.at.least(5);
    for (const [at, { id, method, path, example }] of makers.entries()) {
      const key = `shared-key-${at}`;
      const [given, field] = ownFields(path, url);
      const body = (mine: object) => ({ ...(example as object), ...given, ...mine });
      const isBatch = path.endsWith("/batch");
      const ofOwner = body(isBatch ? {} : { [field]: OWNERS.reference });
      const ofStranger = isBatch
        ? body({ messages: [{ to: "08031110009", body: "The stranger's own" }] })
        : body({ [field]: "strangers" });
      const first = await owner.call(method, path, { key, body: ofOwner });
      expect(first.status, `${id}: ${first.text}`).to.be.within(201, 202);
      const second = await stranger.call(method, path, { key, body: ofStranger });
      expect(second.status, `${id}: ${second.text}`).to.equal(first.status);
      expect(second.headers.get("idempotent-replayed"), id).to.equal(null);
      expectNothingOfOwner(second, id);
      const same = await stranger.call(method, path, { key, body: ofOwner });
      expect(same.body.code, `${id}: checked by one's own first body`).to.equal(
        "idempotency_key_reused",
      );
    }
  });

  it("another tenant's sender ID is refused like an unknown one", async () => {
    const sends = operations.filter(
      ({ method, path }) => method === "POST" && /messages(\/bulk|\/batch)?$/.test(path),
    );
    expect(sends.length).to.be.at.least(3);
    for (const { id, method, path, example } of sends) {
      const send = (from: string) =>
        stranger.call(method, path, { body: { ...(example as object), from } });
      const foreign = await send(OWNERS.sender);
      expect(foreign.body.code, `${id}: ${foreign.text}`).to.equal("sender_id_not_approved");
      const unknown = await send("Nobody Had");
      expect(comparable(foreign, own)).to.deep.equal(comparable(unknown, own));
    }
  });

  it("the ids are valid: every operation succeeds for their owner", async () => {
    const rank = ({ method }: OpenApiOperation) => (method === "DELETE" ? 1 : 0);
    const ordered = withNames().sort((a, b) => rank(a) - rank(b));
    const since = new Date(Date.now() - 60_000).toISOString();
    for (const { id, method, path, example } of ordered) {
      const isRecovery = id === "recoverWebhookDeliveries";
      const body = isRecovery ? { since } : id === "updateWebhookEndpoint" ? {} : example;
      const answer = await owner.call(method, fillPath(path, namesOf(own)), { body });
      expect(answer.status, `${id}: ${answer.text}`).to.not.equal(404);
      expect(answer.status, `${id}: ${answer.text}`).to.be.below(500);
    }
  });
});
