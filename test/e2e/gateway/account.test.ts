/** `docs/contract.md#account` and `docs/contract.md#audit-trail`. */
import { expect } from "chai";
import { runInCall } from "../../../services/shared/rpc/call-context.ts";
import type { RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

type Entry = { readonly id: string; readonly action: string; readonly [name: string]: unknown };

describe("REST: the account and its audit trail", function () {
  this.timeout(30_000);
  const { rest, customer, checkedCall, call } = useRestSuite({ perTest: true });

  const change = (body: object) => call("PATCH", "/v1/account", { body });
  const entries = async (query = "", options: RestCall = {}): Promise<Entry[]> => {
    const answer = await call("GET", `/v1/audit-entries${query}`, options);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body.data;
  };

  it("shows the state, the limits and the settings", async () => {
    const { data } = (await call("GET", "/v1/account")).body;
    expect(data).to.include({
      ...{ id: customer.tenantId, object: "account", status: "active", email_verified: true },
      ...{ currency: "NGN", low_balance_threshold: "0.0000", redact_bodies: false },
      ...{ quiet_hours: "hold" },
      ...{ requests_per_second: 5000, requests_burst: 10_000, bulk_recipients_max: 1000 },
    });
    await rest.tenants.updateTenant({ tenantId: customer.tenantId, suspended: true });
    expect((await call("GET", "/v1/account")).body.data.status).to.equal("suspended");
  });

  it("a change updates only the given settings", async () => {
    const first = await change({ low_balance_threshold: "12.5" });
    expect(first.body.data).to.include({ low_balance_threshold: "12.5000", redact_bodies: false });
    const strict = await change({ quiet_hours: "reject" });
    expect(strict.body.data).to.include({ quiet_hours: "reject", redact_bodies: false });
    const second = await change({ redact_bodies: true });
    expect(second.body.data).to.include({ quiet_hours: "reject" });
    expect(second.body.data).to.include({ low_balance_threshold: "12.5000", redact_bodies: true });
    expect((await call("GET", "/v1/balance")).body.data.low_balance_threshold).to.equal("12.5000");
    const { tenant } = await rest.tenants.getTenant({ idOrName: customer.tenantId });
    expect(tenant?.redactBodies).to.equal(true);
  });

  it("wrong changes are refused with every fault, and change nothing", async () => {
    for (const [body, fields] of [
      [{}, [""]],
      [
        { low_balance_threshold: "-1", redact_bodies: "yes", name: "New" },
        ["low_balance_threshold", "name", "redact_bodies"],
      ],
      [{ low_balance_threshold: 5 }, ["low_balance_threshold"]],
      [{ low_balance_threshold: "9999999999999" }, ["low_balance_threshold"]],
      [{ suspended: false }, ["suspended"]],
    ] as const) {
      const refused = await change(body);
      expect(refused.status, refused.text).to.equal(422);
      const names = refused.body.errors.map(({ field }: { field: string }) => field).sort();
      expect(names).to.deep.equal(fields);
    }
    const poor = await rest.addCustomer({ hasNoWallet: true });
    const body = { low_balance_threshold: "1", redact_bodies: true };
    const refused = await checkedCall(poor, "PATCH", "/v1/account", { body });
    expect(refused.body.errors[0]).to.include({ field: "low_balance_threshold" });
    const shown = (await checkedCall(poor, "GET", "/v1/account")).body.data;
    expect(shown).to.include({ low_balance_threshold: null, redact_bodies: false });
  });

  it("the trail merges the changes of all services, newest first, without gaps between pages", async () => {
    await change({ low_balance_threshold: "7" });
    await call("POST", "/v1/api-keys", { body: { scopes: ["balance:read"] } });
    const { url } = rest.stack.receiver;
    await call("POST", "/v1/webhook-endpoints", { body: { url } });
    const draft = { name: "Draft", from: "Acme", body: "Hi" };
    await call("POST", "/v1/campaigns", { body: draft });
    await call("POST", "/v1/suppressions", { body: { suppressions: [{ number: "08031234567" }] } });
    const request = { name: "Shop", use_case: "updates", sample: "Hi" };
    await call("POST", "/v1/sender-ids", { body: request });
    const all = await entries("?limit=100");
    expect(all.slice(0, 6).map(({ action }) => action)).to.deep.equal([
      "sender_id.requested",
      "suppression.added",
      "campaign.created",
      "webhook_endpoint.created",
      "api_key.created",
      "wallet.updated",
    ]);
    expect(all.map(({ id }) => id)).to.deep.equal(
      all
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    );
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = (await call("GET", `/v1/audit-entries?limit=2${cursor}`)).body;
      seen.push(...page.data.map(({ id }: Entry) => id));
      cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
    } while (cursor !== "");
    expect(seen).to.deep.equal(all.map(({ id }) => id));
  });

  it("an entry has the key, its address and the change, and filters find it", async () => {
    await change({ low_balance_threshold: "7" });
    const [entry] = await entries("?action=wallet.updated");
    expect(entry).to.deep.include({
      before: { low_balance_threshold: "0.0000" },
      after: { low_balance_threshold: "7.0000" },
    });
    const actor = entry?.actor as { type: string; id: string; address: string };
    expect(actor.type).to.equal("api_key");
    expect(actor.address).to.match(/127\.0\.0\.1|::1/);
    const ofKey = await entries(`?actor=api_key:${actor.id}`);
    expect(ofKey.map(({ id }) => id)).to.include(entry?.id);
    const at = String(entry?.created_at);
    expect((await entries(`?created_after=${at}`)).map(({ id }) => id)).to.include(entry?.id);
    expect((await entries(`?created_before=${at}`)).map(({ id }) => id)).to.not.include(entry?.id);
    expect(await entries("?action=campaign.started")).to.deep.equal([]);
    expect(await entries("", { apiKey: customer.testKey }), "of a test key").to.deep.equal([]);
    const wrong = await call("GET", "/v1/audit-entries?action=nothing&actor=ada&limit=0");
    expect(wrong.body.errors.map(({ field }: { field: string }) => field).sort()).to.deep.equal([
      ...["action", "actor", "limit"],
    ]);
  });

  it("operators are not named, and neither secrets nor their price plan are shown", async () => {
    const { tenantId } = customer;
    const person = { actorName: "smsctl:ada@ops", actorAddress: "10.9.8.7", requestId: "req_ops" };
    await runInCall(person, () =>
      rest.tenants.updateTenant({ tenantId, plan: "secret-plan", rateLimit: 60 }),
    );
    const made = await call("POST", "/v1/webhook-endpoints", {
      body: { url: rest.stack.receiver.url },
    });
    const answer = await call("GET", "/v1/audit-entries?limit=100");
    const [changed] = answer.body.data.filter(({ action }: Entry) => action === "account.updated");
    expect(changed.actor).to.deep.equal({ type: "operator", id: null, address: null });
    expect(changed.after).to.include({ rate_limit: 60 });
    for (const hidden of ["ada", "10.9.8.7", "secret-plan", made.body.data.secret, "sk_live_"]) {
      expect(answer.text).to.not.contain(hidden);
    }
  });
});
