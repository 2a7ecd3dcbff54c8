/** `docs/contract.md#webhook-endpoints`: every operation over REST, on the real service. */
import { expect } from "chai";
import { HOSTILE_URLS } from "../../support/hostile-urls.ts";
import { eventually } from "../../support/poll.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/webhook-endpoints";

/** Every operation on one endpoint. */
const ONE_ENDPOINT = [
  ["GET", "", undefined],
  ["PATCH", "", { status: "disabled" }],
  ["PATCH", "", { nonsense: 1 }],
  ["DELETE", "", undefined],
  ["POST", "/rotate-secret", undefined],
  ["POST", "/test", undefined],
  ["POST", "/recover", { since: "2026-11-01T00:00:00Z" }],
  ["GET", "/deliveries", undefined],
  ["GET", "/deliveries?limit=0", undefined],
  ["POST", `/deliveries/whd_${"0".repeat(26)}/resend`, undefined],
] as const;

describe("REST: webhook endpoints", function () {
  this.timeout(30_000);
  const { rest, customer, call } = useRestSuite({ perTest: true });
  let url: string;

  before(async function () {
    this.timeout(120_000);
    url = rest.stack.receiver.url;
  });

  async function create(more: Record<string, unknown> = {}) {
    const answer = await call("POST", PATH, { body: { url, ...more } });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.data;
  }

  it("creation applies defaults and shows the secret once; the endpoint can be read and listed", async () => {
    const answer = await call("POST", PATH, { body: { url } });
    const { secret, ...made } = answer.body.data;
    expect(secret).to.match(/^whsec_/);
    expect(made).to.include({ object: "webhook_endpoint", url, status: "enabled" });
    expect(made).to.deep.include({ event_types: ["message.status_changed"], sources: [] });
    expect(answer.headers.get("location")).to.equal(`${PATH}/${made.id}`);
    expect((await call("GET", `${PATH}/${made.id}`)).body.data).to.deep.equal(made);
    expect((await call("GET", PATH)).body).to.deep.equal({ data: [made], next_cursor: null });
  });

  for (const wrong of [
    "http://example.com/",
    "https://example.com:444/",
    "https://127.0.0.2:8443/",
    "https://user:pass@example.com/",
    "ftp://example.com/",
    "example.com",
    "https://localhost.invalid/",
  ]) {
    it(`the URL ${wrong} is refused at the field url, at creation and at update`, async () => {
      const refused = await call("POST", PATH, { body: { url: wrong } });
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.body.errors[0].field).to.equal("url");
      const { id } = await create();
      const kept = await call("PATCH", `${PATH}/${id}`, { body: { url: wrong } });
      expect(kept.status).to.equal(422);
      expect(kept.body.errors[0].field).to.equal("url");
    });
  }

  it(`all ${HOSTILE_URLS.length} hostile URLs are refused with the same response`, async () => {
    expect(HOSTILE_URLS.length).to.be.at.least(80);
    const { id } = await create();
    const refusals = new Set<string>();
    for (const hostile of HOSTILE_URLS) {
      for (const [method, path] of [
        ["POST", PATH],
        ["PATCH", `${PATH}/${id}`],
      ] as const) {
        const refused = await call(method, path, { body: { url: hostile } });
        expect(refused.status, `${method} ${hostile}`).to.equal(422);
        const { code, errors } = refused.body;
        const long = hostile.length > 2048;
        if (!long) refusals.add(JSON.stringify([code, errors]));
        expect(errors[0].field).to.equal("url");
      }
    }
    expect(refusals.size).to.equal(1);
    const { data } = (await call("GET", PATH)).body;
    expect(data.map((endpoint: { url: string }) => endpoint.url)).to.deep.equal([url]);
  });

  it("a change updates only the given members; empty and invalid changes are refused", async () => {
    const { id } = await create({ description: "mine" });
    // This operation ignores the key, even a malformed one.
    const disabled = await call("PATCH", `${PATH}/${id}`, {
      body: { status: "disabled" },
      key: "no key",
    });
    expect(disabled.body.data).to.include({ status: "disabled", url, description: "mine" });
    const enabled = await call("PATCH", `${PATH}/${id}`, {
      body: { status: "enabled", event_types: ["message.sent", "webhook.test"], sources: ["api"] },
    });
    expect(enabled.body.data).to.deep.include({
      status: "enabled",
      event_types: ["message.sent", "webhook.test"],
      sources: ["api"],
      disabled_reason: null,
    });
    for (const body of [
      {},
      { status: "paused" },
      { event_types: ["message.gone"] },
      { urll: url },
    ]) {
      const refused = await call("PATCH", `${PATH}/${id}`, { body });
      expect(refused.status, JSON.stringify(body)).to.equal(422);
    }
  });

  it("rotation shows the new secret once", async () => {
    const { id, secret } = await create();
    const rotated = await call("POST", `${PATH}/${id}/rotate-secret`);
    expect(rotated.status).to.equal(200);
    expect(rotated.body.data.secret)
      .to.match(/^whsec_/)
      .and.not.equal(secret);
    expect((await call("GET", `${PATH}/${id}`)).body.data).to.not.have.property("secret");
  });

  it("a test event is attempted, shown with its attempt, and can be resent and recovered", async () => {
    const { id } = await create();
    const sent = await call("POST", `${PATH}/${id}/test`);
    expect(sent.status, sent.text).to.equal(202);
    expect(sent.body.data.event_type).to.equal("webhook.test");
    // The receiver of the stack has another secret, and refuses.
    const attempted = (count: number) =>
      eventually(
        async () => {
          const { body } = await call("GET", `${PATH}/${id}/deliveries?event_type=webhook.test`);
          const [delivery] = body.data;
          return delivery?.attempts.length === count && delivery;
        },
        { timeoutMs: 15_000 },
      );
    const delivery = await attempted(1);
    expect(delivery).to.include({ id: sent.body.data.id, status: "pending" });
    expect(delivery.attempts[0]).to.include({ number: 1, http_status: 400 });
    const resent = await call("POST", `${PATH}/${id}/deliveries/${delivery.id}/resend`);
    expect(resent.status, resent.text).to.equal(202);
    expect((await attempted(2)).attempts[1]).to.include({ number: 2, http_status: 400 });
    const since = new Date(Date.now() - 60_000).toISOString();
    const recovered = await call("POST", `${PATH}/${id}/recover`, { body: { since } });
    expect(recovered.status, recovered.text).to.equal(202);
    expect(recovered.body.data).to.include({ object: "webhook_recovery", recovered: 0 });
    expect((await call("POST", `${PATH}/${id}/recover`)).status, "since is required").to.equal(422);
  });

  it("creation repeated with a key makes one endpoint and shows the same secret", async () => {
    const options = { key: "hook-1", body: { url } };
    const first = await call("POST", PATH, options);
    const again = await call("POST", PATH, options);
    expect(again.status).to.equal(201);
    expect(again.text).to.equal(first.text);
    expect(again.headers.get("idempotent-replayed")).to.equal("true");
    const misspelt = await call("POST", `${PATH}?more=1`, options);
    expect(misspelt.text, "a repeat, whatever its query").to.equal(first.text);
    expect((await call("GET", PATH)).body.data).to.have.length(1);
    for (const body of [{ url, description: "x" }, { url: 1 }, {}]) {
      const reused = await call("POST", PATH, { key: "hook-1", body });
      expect(reused.body.code, "even an invalid one").to.equal("idempotency_key_reused");
    }
  });

  it("resending an unknown delivery is not_found before any other fault", async () => {
    const { id } = await create();
    const path = `${PATH}/${id}/deliveries/whd_${"0".repeat(26)}/resend`;
    await call("PATCH", `${PATH}/${id}`, { body: { status: "disabled" } });
    for (const options of [{}, { body: { more: 1 } }, { key: "no key!" }]) {
      const answer = await call("POST", path, options);
      expect(answer.status, JSON.stringify(options)).to.equal(404);
    }
  });

  it("each mode has five endpoints of its own, and never the other mode's", async () => {
    const keys = [customer.apiKey, customer.testKey];
    const made: string[][] = [];
    for (const apiKey of keys) {
      const statuses: number[] = [];
      for (let count = 0; count < 6; count += 1) {
        // The same idempotency keys: they belong to a mode too.
        const answer = await call("POST", PATH, { apiKey, key: `mode-${count}`, body: { url } });
        statuses.push(answer.status);
        expect(answer.headers.get("idempotent-replayed")).to.equal(null);
        if (count === 5) expect(answer.body.errors[0].code).to.equal("too_many");
      }
      expect(statuses).to.deep.equal([201, 201, 201, 201, 201, 422]);
      const { data } = (await call("GET", PATH, { apiKey })).body;
      made.push(data.map(({ id }: { id: string }) => id));
    }
    expect(new Set(made.flat()).size).to.equal(10);
    for (const [at, apiKey] of keys.entries()) {
      const other = made[1 - at]?.[0] ?? "";
      for (const [method, tail, body] of ONE_ENDPOINT) {
        const answer = await customer.call(method, `${PATH}/${other}${tail}`, { apiKey, body });
        expect(answer.status, `${method} ${tail}`).to.equal(404);
      }
      const mine = await call("GET", `${PATH}/${made[at]?.[0]}`, { apiKey });
      expect(mine.body.data).to.include({ status: "enabled" });
    }
  });

  it("deleted, unknown, malformed and foreign endpoints are not_found", async () => {
    const { id } = await create();
    expect((await call("DELETE", `${PATH}/${id}`)).status).to.equal(204);
    const stranger = await rest.addCustomer();
    const { body } = await stranger.call("POST", PATH, { body: { url } });
    for (const one of [id, `whe_${"0".repeat(26)}`, "whe_1", body.data.id]) {
      for (const [method, tail, payload] of ONE_ENDPOINT) {
        const answer = await customer.call(method, `${PATH}/${one}${tail}`, { body: payload });
        expect(answer.status, `${method} ${one}${tail}`).to.equal(404);
      }
    }
    expect((await stranger.call("GET", `${PATH}/${body.data.id}`)).status).to.equal(200);
  });
});
