/** The second factor of people who sign in to the console (docs/contract.md#console), on a whole stack. */
import { expect } from "chai";
import { MongoClient } from "mongodb";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { codeOf, stepAt } from "../../../services/tenant/domain/totp.ts";
import { fromBase32 } from "../../support/base32.ts";
import {
  CONSOLE_API as API,
  BROWSER_SETTINGS,
  type ConsoleBrowser,
  openConsoleBrowser,
  openWith,
  signedInBrowser,
} from "../../support/console-browser.ts";
import { type Mailbox, openMailbox } from "../../support/mailbox.ts";
import { type Customer, oneProcessStack, type RestStack } from "../../support/rest.ts";
import type { TestStack } from "../../support/stack.ts";

const FACTOR = `${API}/second-factor`;

describe("the second factor", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let mailbox: Mailbox;
  let owner: Customer;
  let links = 0;

  before(async function () {
    this.timeout(240_000);
    rest = await oneProcessStack(BROWSER_SETTINGS);
    mailbox = openMailbox(rest.stack.dir);
    owner = await rest.addCustomer();
  });

  const openBrowser = () => openConsoleBrowser(rest.stack.gateway);

  /** A person who has joined. */
  async function join(email: string, role = Role.VIEWER, { tenantId } = owner) {
    const { person } = await rest.tenants.invitePerson({ tenantId, email, role });
    const browser = openBrowser();
    await openWith(browser, await mailbox.tokenFor(email, "inv"));
    return { browser, email, id: person?.id ?? "" };
  }

  /** Turns the factor on. The code of the present step is used up; `next` is the following one. */
  async function turnOn(browser: ConsoleBrowser) {
    const begun = await browser.call("POST", FACTOR);
    expect(begun.status, begun.text).to.equal(201);
    const secret = fromBase32(begun.body.data.secret);
    const step = stepAt(Date.now());
    const code = codeOf(secret, step);
    const enabled = await browser.call("POST", `${FACTOR}/enable`, { body: { code } });
    expect(enabled.status, enabled.text).to.equal(200);
    const codes = enabled.body.data.codes as string[];
    return { code, next: codeOf(secret, step + 1), codes, secretText: begun.body.data.secret };
  }

  /** A new link for the person. */
  async function link(email: string): Promise<string> {
    const before = mailbox.count(email);
    links += 1;
    await rest.tenants.requestSignIn({ email, address: `203.0.113.${links}` });
    return mailbox.tokenFor(email, "sgn", before + 1);
  }

  const open = (browser: ConsoleBrowser, token: string, code?: string) =>
    browser.call("POST", `${API}/session`, {
      body: code === undefined ? { token } : { token, code },
    });

  it("is asked for at the sign-in, and a code works once", async () => {
    const { browser, email } = await join("ada@example.org");
    const { code, next } = await turnOn(browser);
    const second = openBrowser();
    const token = await link(email);
    const asked = await open(second, token);
    expect(asked.status, asked.text).to.equal(200);
    expect(asked.body.data).to.deep.equal({ object: "second_factor_request" });
    expect(second.cookie, "no session without the code").to.equal("");
    const replayed = await open(second, token, code);
    expect(replayed.status, "the code that turned it on").to.equal(422);
    expect(replayed.body.errors[0].field).to.equal("code");
    const opened = await open(second, token, next);
    expect(opened.status, opened.text).to.equal(201);
    expect((await second.call("GET", "/v1/balance")).status).to.equal(200);
    expect((await open(openBrowser(), token, next)).status, "the link is used up").to.equal(404);
    const again = await open(openBrowser(), await link(email), next);
    expect(again.status, "a code that signed in").to.equal(422);
  });

  it("is on only after a right code of the secret that was shown last", async () => {
    const { browser, email } = await join("bea@example.org");
    const first = fromBase32((await browser.call("POST", FACTOR)).body.data.secret);
    await browser.call("POST", FACTOR);
    const body = { code: codeOf(first, stepAt(Date.now())) };
    const refused = await browser.call("POST", `${FACTOR}/enable`, { body });
    expect(refused.status, refused.text).to.equal(422);
    expect((await browser.call("GET", FACTOR)).body.data.enabled).to.equal(false);
    expect((await open(openBrowser(), await link(email))).status).to.equal(201);
  });

  it("a recovery code signs in once, also when two browsers send it at the same moment", async () => {
    const { browser, email } = await join("cai@example.org");
    const { codes } = await turnOn(browser);
    const [code = ""] = codes;
    const tokens = [await link(email), await link(email)];
    const answers = await Promise.all(tokens.map((token) => open(openBrowser(), token, code)));
    const statuses = answers.map(({ status }) => status);
    expect(
      statuses.filter((one) => one === 201),
      String(statuses),
    ).to.have.length(1);
    const { data } = (await browser.call("GET", FACTOR)).body;
    expect(data).to.include({ enabled: true, recovery_codes_left: 9 });
  });

  it("delays repeated codes longer and longer, also a right one", async () => {
    const { browser, email } = await join("dov@example.org");
    const { next } = await turnOn(browser);
    const token = await link(email);
    const statuses: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      statuses.push((await open(openBrowser(), token, "000000")).status);
    }
    expect(statuses).to.include(429).and.not.include(201);
    const waiting = await open(openBrowser(), token, next);
    expect(waiting.status, waiting.text).to.equal(429);
    expect(Number(waiting.headers.get("retry-after"))).to.be.within(1, 900);
  });

  it("is turned off with a code alone", async () => {
    const { browser, email } = await join("eve@example.org");
    const { codes } = await turnOn(browser);
    const again = await browser.call("POST", FACTOR);
    expect(again.body.code, "no new secret while it is on").to.equal("invalid_state_transition");
    const off = (code: string) => browser.call("POST", `${FACTOR}/disable`, { body: { code } });
    expect((await off("ABCD-ABCD-ABCD-ABCD")).status).to.equal(422);
    expect((await browser.call("GET", FACTOR)).body.data.enabled).to.equal(true);
    expect((await off(codes[0] ?? "")).status).to.equal(204);
    expect((await open(openBrowser(), await link(email))).status).to.equal(201);
  });

  it("an owner resets a member's, unless it protects other accounts too", async () => {
    const boss = await signedInBrowser(rest, owner);
    const { browser, email, id } = await join("fay@example.org");
    await turnOn(browser);
    const people = (await boss.call("GET", `${API}/people`)).body.data;
    expect(people.find((one: { id: string }) => one.id === id).second_factor).to.equal(true);
    const other = await rest.addCustomer();
    await rest.tenants.invitePerson({ tenantId: other.tenantId, email, role: Role.VIEWER });
    const path = `${API}/people/${id}/second-factor`;
    const foreign = await signedInBrowser(rest, await rest.addCustomer());
    expect((await foreign.call("DELETE", path)).status, "of a stranger").to.equal(404);
    // An invitation alone changes nothing: any account can send one.
    expect((await boss.call("DELETE", path)).status).to.equal(204);
    const token = await mailbox.tokenFor(email, "inv", 2);
    await openWith(browser, token);
    await turnOn(browser);
    const refused = await boss.call("DELETE", path);
    expect(refused.body.code, refused.text).to.equal("invalid_state_transition");
    const { tenantId } = owner;
    await rest.tenants.resetSecondFactor({ tenantId, personId: id, inAllTenants: true });
    expect((await browser.call("GET", FACTOR)).body.data.enabled).to.equal(false);
  });

  it("is not for the session of a portal link, which belongs to no person", async () => {
    const portal = await signedInBrowser(rest, owner, Role.OWNER);
    expect((await portal.call("GET", FACTOR)).body.data).to.include({ available: false });
    expect((await portal.call("POST", FACTOR)).status).to.equal(409);
  });

  it("is encrypted at rest, and in the audit trail without its secret", async () => {
    const { browser, id } = await join("gus@example.org", Role.DEVELOPER);
    const { codes, secretText } = await turnOn(browser);
    const mongo = await MongoClient.connect(rest.stack.mongodb_uri);
    try {
      const db = mongo.db("sms_tenant");
      const stored = await db.collection<{ _id: string }>("second_factors").findOne({ _id: id });
      const text = JSON.stringify(stored);
      const bytes = Buffer.from(fromBase32(secretText));
      for (const form of [secretText, bytes.toString("hex"), bytes.toString("base64")]) {
        expect(text).to.not.contain(form);
      }
      for (const code of codes) expect(text).to.not.contain(code);
    } finally {
      await mongo.close();
    }
    const trail = await browser.call("GET", "/v1/audit-entries?action=second_factor.enabled");
    const entry = trail.body.data.find((one: { subject: string }) => one.subject === id);
    expect(entry.actor).to.include({ type: "person", id: "gus@example.org" });
    expect(entry.after).to.deep.equal({ second_factor: true });
  });
});
