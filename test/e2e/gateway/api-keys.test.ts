/** `docs/contract.md#api-keys`: a customer makes, sees and revokes keys with a key. */
import { createHash } from "node:crypto";
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { SCOPES } from "../../../services/shared/core/scopes.ts";
import { eventually } from "../../support/poll.ts";
import type { RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/api-keys";

describe("REST: API keys", function () {
  this.timeout(30_000);
  const { rest, customer, call } = useRestSuite({ perTest: true });

  async function create(body: object = { scopes: ["balance:read"] }, options: RestCall = {}) {
    const answer = await call("POST", PATH, { body, ...options });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.data;
  }

  it("a key works at once, has what was asked for, and shows its secret once", async () => {
    const expires = new Date(Date.now() + 86_400_000).toISOString();
    const answer = await call("POST", PATH, {
      body: {
        scopes: ["balance:read", "messages:read"],
        name: "Reports",
        allowed_networks: ["127.0.0.0/8", "::1"],
        expires_at: expires,
      },
    });
    const { secret, ...made } = answer.body.data;
    expect(secret).to.match(/^sk_live_/);
    expect(made).to.deep.include({
      ...{ object: "api_key", name: "Reports", mode: "live", status: "active" },
      scopes: ["messages:read", "balance:read"],
      allowed_networks: ["127.0.0.0/8", "::1"],
      hint: secret.slice(-4),
      ...{ expires_at: expires, last_used_at: null, revoked_at: null },
    });
    expect(answer.headers.get("location")).to.equal(`${PATH}/${made.id}`);
    expect((await call("GET", `${PATH}/${made.id}`)).body.data).to.deep.equal(made);
    expect((await call("GET", PATH)).body.data[0]).to.deep.equal(made);
    expect((await rest.call("GET", "/v1/balance", { apiKey: secret })).status).to.equal(200);
    const refused = await rest.call("GET", PATH, { apiKey: secret });
    expect(refused.body.code).to.equal("insufficient_scope");
  });

  it("all faults of a request are named together", async () => {
    const body = {
      scopes: ["messages:delete"],
      name: "n".repeat(101),
      expires_at: "tomorrow",
      colour: "red",
    };
    const refused = await call("POST", `${PATH}?nonsense=1`, { body, key: "no key!" });
    expect(refused.status, refused.text).to.equal(422);
    const fields = refused.body.errors.map(({ field }: { field: string }) => field).sort();
    expect(fields).to.deep.equal([
      "Idempotency-Key",
      "colour",
      "expires_at",
      "name",
      "nonsense",
      "scopes[0]",
    ]);
    const late = await call("POST", PATH, {
      body: {
        scopes: ["balance:read"],
        allowed_networks: ["10.0.0.0/33"],
        expires_at: "2020-01-01T00:00:00Z",
      },
    });
    expect(late.body.errors).to.have.length(2);
    expect(late.body.errors[0]).to.include({ field: "allowed_networks", code: "invalid_format" });
    expect(late.body.errors[1]).to.include({ field: "expires_at", code: "out_of_range" });
  });

  it("a key never makes a more powerful one, for each scope that it lacks", async () => {
    const apiKey = await customer.addKey({ scopes: ["keys:manage", "balance:read"] });
    for (const scope of SCOPES) {
      const answer = await call("POST", PATH, { apiKey, body: { scopes: [scope] } });
      const isHeld = scope === "keys:manage" || scope === "balance:read";
      expect(answer.status, `${scope}: ${answer.text}`).to.equal(isHeld ? 201 : 422);
      if (!isHeld) expect(answer.body.errors[0]).to.include({ field: "scopes" });
    }
  });

  it("a revoked maker makes no key, although the gateway still knows it", async () => {
    const { id, secret: apiKey } = await create({ scopes: ["keys:manage"] });
    expect((await rest.call("GET", PATH, { apiKey })).status).to.equal(200);
    const { tenantId } = customer;
    const fingerprint = new Uint8Array();
    await rest.tenants.revokeApiKey({ tenantId, keyId: id });
    const issue = rest.tenants.issueApiKey({
      ...{ tenantId, makerKeyId: id, mode: 1, fingerprint },
      scopes: ["keys:manage"],
    });
    const error = await issue.then(() => undefined).catch((thrown: Error) => thrown);
    expect(String(error)).to.contain("not valid");
  });

  it("test and live keys do not see, make or revoke each other", async () => {
    const live = await create();
    const apiKey = customer.testKey;
    const made = await call("POST", PATH, { apiKey, body: { scopes: ["messages:send"] } });
    expect(made.body.data).to.include({ mode: "test" });
    expect(made.body.data.secret).to.match(/^sk_test_/);
    const test = made.body.data.id;
    const idsOf = async (options: RestCall) =>
      (await call("GET", PATH, options)).body.data.map(({ id }: { id: string }) => id);
    expect(await idsOf({}))
      .to.include(live.id)
      .and.not.include(test);
    expect(await idsOf({ apiKey }))
      .to.include(test)
      .and.not.include(live.id);
    for (const [id, options] of [
      [test, {}],
      [live.id, { apiKey }],
    ] as const) {
      expect((await call("GET", `${PATH}/${id}`, options)).status).to.equal(404);
      expect((await call("DELETE", `${PATH}/${id}`, options)).status).to.equal(404);
      expect((await call("DELETE", `${PATH}/${id}?x=1`, options)).status).to.equal(404);
    }
  });

  it("a revoked key is refused within 5 seconds, stays listed, and is revoked once", async () => {
    const { id, secret: apiKey } = await create();
    const read = () => rest.call("GET", "/v1/balance", { apiKey });
    expect((await read()).status).to.equal(200);
    expect((await call("DELETE", `${PATH}/${id}`)).status).to.equal(204);
    await eventually(async () => (await read()).status === 401, { timeoutMs: 5000 });
    const { revoked_at, status } = (await call("GET", `${PATH}/${id}`)).body.data;
    expect(status).to.equal("revoked");
    expect((await call("DELETE", `${PATH}/${id}`)).status, "a repeat").to.equal(204);
    expect((await call("GET", `${PATH}/${id}`)).body.data.revoked_at).to.equal(revoked_at);
  });

  it("a repeat under an idempotency key returns the first secret, stored encrypted", async () => {
    const body = { scopes: ["balance:read"], name: "Once" };
    const first = await call("POST", PATH, { body, key: "make-once" });
    const second = await call("POST", PATH, { body, key: "make-once" });
    expect(second.headers.get("idempotent-replayed")).to.equal("true");
    expect(second.body.data).to.deep.equal(first.body.data);
    const other = await call("POST", PATH, { body: { ...body, name: "Twice" }, key: "make-once" });
    expect(other.body.code).to.equal("idempotency_key_reused");
    const { data } = (await call("GET", PATH)).body;
    expect(data.filter(({ name }: { name: string }) => name === "Once")).to.have.length(1);
    await expectNowhere(first.body.data.secret);
  });

  it("the audit trail has the change, its maker and no secret", async () => {
    const { id, secret } = await create();
    const { records } = await rest.tenants.listAuditRecords({ tenantId: customer.tenantId });
    const [record] = records.filter(({ subject }) => subject === id);
    expect(record?.method).to.equal("sms.v1.TenantService/IssueApiKey");
    expect(record?.actor?.name).to.match(/^api_key:key_/);
    expect(JSON.stringify(record, (_, part) => String(part))).to.not.contain(secret);
  });

  it("pages show each key once, newest first", async () => {
    const made = [];
    for (let count = 0; count < 4; count += 1) made.unshift((await create()).id);
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = (await call("GET", `${PATH}?limit=2${cursor}`)).body;
      seen.push(...page.data.map(({ id }: { id: string }) => id));
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect(seen.slice(0, 4)).to.deep.equal(made);
    expect(new Set(seen).size).to.equal(seen.length);
  });

  it("the last use is shown to about a minute, and not written for each request", async () => {
    const { id, secret: apiKey } = await create();
    const since = Date.now();
    const lastUsed = async () => (await call("GET", `${PATH}/${id}`)).body.data.last_used_at;
    await rest.call("GET", "/v1/balance", { apiKey });
    const first = await eventually(async () => (await lastUsed()) ?? false, { what: "a use" });
    expect(Date.parse(first)).to.be.within(since - 1000, Date.now() + 1000);
    for (let count = 0; count < 20; count += 1) await rest.call("GET", "/v1/balance", { apiKey });
    expect(await lastUsed()).to.equal(first);
  });

  /** Checks that no document of the tenant service has the secret, and that the hash is there. */
  async function expectNowhere(secret: string): Promise<void> {
    const client = new MongoClient(rest.stack.mongodb_uri);
    try {
      const db = client.db("sms_tenant");
      const hash = createHash("sha256").update(secret).digest();
      expect(await db.collection("api_keys").countDocuments({ hash })).to.equal(1);
      for (const { name } of await db.listCollections().toArray()) {
        for await (const document of db.collection(name).find()) {
          const text = JSON.stringify(document, (_, part) =>
            part?._bsontype === "Binary" ? Buffer.from(part.buffer).toString("latin1") : part,
          );
          expect(text, name).to.not.contain(secret);
          expect(text, name).to.not.contain(Buffer.from(secret).toString("base64"));
        }
      }
    } finally {
      await client.close();
    }
  }
});
