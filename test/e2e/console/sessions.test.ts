/** Sign-in, sessions, roles and people of the console (docs/contract.md#console), on a whole stack. */
import { expect } from "chai";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import {
  CONSOLE_API as API,
  BROWSER_SETTINGS,
  type ConsoleBrowser,
  openConsoleBrowser,
  portalToken,
  signedInBrowser,
} from "../../support/console-browser.ts";
import { type Mailbox, openMailbox } from "../../support/mailbox.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, oneProcessStack, type RestStack } from "../../support/rest.ts";
import type { TestStack } from "../../support/stack.ts";

describe("the console's sessions", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let mailbox: Mailbox;
  let owner: Customer;

  before(async function () {
    this.timeout(240_000);
    rest = await oneProcessStack(BROWSER_SETTINGS);
    mailbox = openMailbox(rest.stack.dir);
    owner = await rest.addCustomer();
  });

  const openBrowser = (address?: string) => openConsoleBrowser(rest.stack.gateway, address);
  const signedIn = (customer: Customer, role: Role) => signedInBrowser(rest, customer, role);

  it("a portal link signs in once, and the session shows its name and role", async () => {
    const token = await portalToken(rest, owner, Role.VIEWER);
    const browser = openBrowser();
    const opened = await browser.call("POST", `${API}/session`, { body: { token } });
    expect(opened.status).to.equal(201);
    expect(opened.headers.get("set-cookie")).to.match(
      /^__Host-sms_session=ses_[\w-]{43}; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$/,
    );
    const own = await browser.call("GET", `${API}/session`);
    expect(own.body.data).to.deep.include({ object: "session", name: "Ada", role: "viewer" });
    expect(own.body.data.tenant).to.include({ id: owner.tenantId, currency: "NGN" });
    expect(own.body.data.memberships).to.have.length(1);
    const again = await openBrowser().call("POST", `${API}/session`, { body: { token } });
    expect(again.status, again.text).to.equal(404);
  });

  it("of fifteen browsers that use one link at once, one is signed in", async () => {
    const token = await portalToken(rest, owner, Role.VIEWER);
    const answers = await Promise.all(
      Array.from({ length: 15 }, () =>
        openBrowser().call("POST", `${API}/session`, { body: { token } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
  });

  it("a session sends as quick_send, in the mode that it names", async () => {
    const browser = await signedIn(owner, Role.SENDER);
    const body = { to: "08031234567", from: owner.sender, body: "From the console" };
    for (const mode of ["live", "test"]) {
      const headers = { "sms-mode": mode };
      const sent = await browser.call("POST", "/v1/sms/messages", { body, headers });
      expect(sent.status, sent.text).to.equal(202);
      const found = await browser.call("GET", `/v1/messages/${sent.body.data.id}`, { headers });
      expect(found.body.data).to.include({ source: "quick_send", mode });
    }
  });

  it("a change without the console's header, or from another origin, is refused", async () => {
    const browser = await signedIn(owner, Role.OWNER);
    const body = { to: "08031234567", from: owner.sender, body: "Forged" };
    for (const headers of [
      { "sms-console": "" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ] as Record<string, string>[]) {
      const answer = await browser.call("POST", "/v1/sms/messages", { body, headers });
      expect(answer.status, JSON.stringify(headers)).to.equal(403);
      expect(answer.body.code).to.equal("origin_not_allowed");
    }
    const signOut = await browser.call("DELETE", `${API}/session`, {
      headers: { origin: "https://evil.example" },
    });
    expect(signOut.status).to.equal(403);
  });

  it("an invited person joins by mail, and is out within five seconds of being removed", async () => {
    const boss = await signedIn(owner, Role.OWNER);
    const email = "grace@example.org";
    const invitation = { body: { email: "Grace@Example.org ", role: "viewer" } };
    const invited = await boss.call("POST", `${API}/people`, invitation);
    expect(invited.status, invited.text).to.equal(201);
    expect(invited.body.data).to.include({ email, role: "viewer", joined_at: null });
    const token = await mailbox.tokenFor(email, "inv");
    const grace = openBrowser();
    expect((await grace.call("POST", `${API}/session`, { body: { token } })).status).to.equal(201);
    expect((await grace.call("GET", "/v1/messages")).status).to.equal(200);
    const again = await boss.call("POST", `${API}/people`, invitation);
    expect(again.body.code).to.equal("already_exists");

    const path = `${API}/people/${invited.body.data.id}`;
    const changed = await boss.call("PATCH", path, { body: { role: "sender" } });
    expect(changed.body.data).to.include({ role: "sender" });
    await eventually(async () => {
      const { body } = await grace.call("GET", `${API}/session`);
      return body.data.role === "sender";
    });

    expect((await boss.call("DELETE", path)).status).to.equal(204);
    const removedMs = Date.now();
    await eventually(async () => (await grace.call("GET", "/v1/messages")).status === 401);
    expect(Date.now() - removedMs).to.be.below(5000);
    expect((await boss.call("DELETE", path)).status).to.equal(404);
  });

  it("a link by mail verifies an owner's address, and strangers learn nothing", async () => {
    const fresh = await rest.addCustomer({ emailVerified: false });
    const email = "lin@example.org";
    const { tenantId } = fresh;
    await rest.tenants.invitePerson({ tenantId, email, role: Role.OWNER });
    const known = await openBrowser().call("POST", `${API}/sign-in`, { body: { email } });
    const unknown = await openBrowser().call("POST", `${API}/sign-in`, {
      body: { email: "stranger@example.org" },
    });
    expect(unknown.status).to.equal(known.status);
    expect(unknown.text).to.equal(known.text);
    expect(known.status).to.equal(202);
    const token = await mailbox.tokenFor(email, "sgn");
    expect(mailbox.count("stranger@example.org")).to.equal(0);
    const lin = openBrowser();
    expect((await lin.call("POST", `${API}/session`, { body: { token } })).status).to.equal(201);
    const { tenant } = await rest.tenants.getTenant({ idOrName: tenantId });
    expect(tenant?.emailVerified).to.equal(true);
  });

  it("further links for one address must wait, longer each time", async () => {
    const ask = () =>
      openBrowser().call("POST", `${API}/sign-in`, { body: { email: "often@example.org" } });
    const statuses = [];
    for (let at = 0; at < 5; at += 1) statuses.push((await ask()).status);
    expect(statuses).to.include(429);
    const refused = await ask();
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 900);
  });

  it("the IPv6 addresses of one network count as one caller", async () => {
    const ask = (address: string, email: string) =>
      openBrowser(address).call("POST", `${API}/sign-in`, { body: { email } });
    const statuses = [];
    for (let at = 1; at <= 5; at += 1) {
      statuses.push((await ask(`2001:db8:7:7::${at}`, `many${at}@example.org`)).status);
    }
    expect(statuses).to.deep.equal([202, 202, 202, 429, 429]);
    expect((await ask("2001:db8:7:8::1", "many@example.org")).status).to.equal(202);
    const tries = Array.from({ length: 30 }, (_, at) =>
      openBrowser(`2001:db8:7:9::${at}`).call("POST", `${API}/session`, { body: { token: "x" } }),
    );
    const answers = (await Promise.all(tries)).map(({ status }) => status);
    expect(new Set(answers)).to.deep.equal(new Set([404, 429]));
  });

  it("of two owners who are removed at the same time, one stays", async () => {
    const fresh = await rest.addCustomer();
    const { tenantId } = fresh;
    const invite = (email: string) =>
      rest.tenants.invitePerson({ tenantId, email, role: Role.OWNER });
    const [first, second] = [await invite("one@example.org"), await invite("two@example.org")];
    const ids = [first.person?.id ?? "", second.person?.id ?? ""];
    const removed = await Promise.allSettled(
      ids.map((personId) => rest.tenants.removePerson({ tenantId, personId })),
    );
    expect(removed.filter(({ status }) => status === "fulfilled")).to.have.length(1);
    const { people } = await rest.tenants.listPeople({ tenantId });
    expect(people.map(({ role }) => role)).to.deep.equal([Role.OWNER]);
  });

  it("a session is listed and ended by its person, and by no other", async () => {
    const a = await signedIn(owner, Role.VIEWER);
    const b = await signedIn(owner, Role.VIEWER);
    const idOf = async (one: ConsoleBrowser) =>
      (await one.call("GET", `${API}/session`)).body.data.id;
    const foreign = await a.call("DELETE", `${API}/sessions/${await idOf(b)}`);
    expect(foreign.status).to.equal(404);
    const listed = await a.call("GET", `${API}/sessions`);
    expect(listed.body.data).to.have.length(1);
    expect(listed.body.data[0]).to.include({ current: true, role: "viewer" });
    expect((await a.call("DELETE", `${API}/session`)).status).to.equal(204);
    expect((await a.call("GET", "/v1/messages")).status).to.equal(401);
    expect((await b.call("GET", "/v1/messages")).status).to.equal(200);
  });

  it("no provider signs people in where none is configured", async () => {
    const browser = openBrowser();
    const { body } = await browser.call("GET", `${API}/sign-in`);
    expect(body.data).to.deep.equal({ object: "sign_in_methods", email: true, oidc: null });
    expect((await browser.call("POST", `${API}/oidc`)).status).to.equal(404);
  });

  it("an API key has no session", async () => {
    const answer = await rest.call("GET", `${API}/session`, { apiKey: owner.apiKey });
    expect(answer.status).to.equal(401);
  });
});
