/** Operators sign in through a real OpenID Connect provider (docs/operators.md#sign-in), on a whole stack. */
import { expect } from "chai";
import { OperatorRole } from "../../../proto/gen/sms/v1/operator_pb.js";
import { type OidcServer, signInAt, startOidcServer } from "../../support/oidc-server.ts";
import { API, openOperatorBrowser, operatorToken } from "../../support/operator-browser.ts";
import { openRestStack, type RestStack } from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const REFUSED = "/operators/sign-in?refused=";

describe("operators' sign-in through OpenID Connect", function () {
  this.timeout(60_000);
  let provider: OidcServer;
  let rest: RestStack<TestStack>;
  let origin: string;

  before(async function () {
    this.timeout(240_000);
    provider = await startOidcServer();
    rest = await openRestStack(
      {
        OPERATOR_OIDC_ISSUER: provider.issuer,
        OPERATOR_OIDC_CLIENT_ID: provider.clientId,
        OPERATOR_OIDC_CLIENT_SECRET: provider.clientSecret,
        OPERATOR_OIDC_NAME: "Staff ID",
      },
      { processes: ONE_PROCESS },
    );
    origin = rest.stack.operator_console;
    await provider.serve(`${origin.replace("127.0.0.1", "localhost")}${API}/oidc/callback`);
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
    await provider?.close();
  });

  /** `smsctl` has made a link for the person, who does not use it. */
  const appoint = (person: string, role: OperatorRole) => operatorToken(rest, person, role);

  async function begin() {
    const browser = openOperatorBrowser(origin);
    const answer = await browser.call("POST", `${API}/oidc`);
    expect(answer.status, answer.text).to.equal(201);
    expect(answer.headers.get("set-cookie")).to.match(
      /^__Host-sms_operator_oidc=oid_[\w-]{43}; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
    );
    return { cookie: browser.cookie, url: new URL(answer.body.data.url) };
  }

  /** Follows the provider's redirection; returns where the console leads. */
  async function comeBack(query: string, cookie: string): Promise<string> {
    const headers = { cookie, "sec-fetch-site": "cross-site" };
    const address = `${origin}${API}/oidc/callback${query}`;
    const answer = await fetch(address, { redirect: "manual", headers });
    expect(answer.status, await answer.text()).to.equal(303);
    expect(answer.headers.get("referrer-policy")).to.equal("no-referrer");
    return answer.headers.get("location") ?? "";
  }

  async function signIn(email: string, isVerified = true): Promise<string> {
    provider.account = { email, isVerified };
    const { cookie, url } = await begin();
    return comeBack((await signInAt(provider, url)).search, cookie);
  }

  it("the sign-in page knows the provider's name, without a session", async () => {
    const { body } = await openOperatorBrowser(origin).call("GET", `${API}/sign-in`);
    expect(body.data).to.deep.equal({ object: "sign_in_methods", oidc: "Staff ID" });
  });

  it("an operator gets a session with the stored role, by a link that works once", async () => {
    await appoint("ada@example.org", OperatorRole.FINANCE);
    const [path, token = ""] = (await signIn("Ada@Example.org")).split("#");
    expect(path).to.equal("/operators/sign-in");
    const browser = openOperatorBrowser(origin);
    const opened = await browser.call("POST", `${API}/session`, { body: { token } });
    expect(opened.status, opened.text).to.equal(201);
    expect(opened.body.data).to.include({ name: "ada@example.org", role: "finance" });
    const again = await openOperatorBrowser(origin).call("POST", `${API}/session`, {
      body: { token },
    });
    expect(again.status).to.equal(404);
  });

  it("a person of the provider who is no operator gets no session, nor a removed one", async () => {
    expect(await signIn("stranger@example.org")).to.equal(`${REFUSED}not_found`);
    await appoint("bea@example.org", OperatorRole.ADMIN);
    expect(await signIn("bea@example.org", false)).to.equal(`${REFUSED}email_not_verified`);
    const [, token = ""] = (await signIn("bea@example.org")).split("#");
    await rest.tenants.removeOperator({ person: "bea@example.org" });
    const body = { token };
    const late = await openOperatorBrowser(origin).call("POST", `${API}/session`, { body });
    expect(late.status, "the link of a removed operator").to.equal(404);
    expect(await signIn("bea@example.org")).to.equal(`${REFUSED}not_found`);
    const { operators } = await rest.tenants.listOperators({});
    const known = operators.map(({ person }) => person);
    expect(known).to.not.include("stranger@example.org").and.not.include("bea@example.org");
  });

  it("a return is good once, and for the browser that began", async () => {
    await appoint("cai@example.org", OperatorRole.SUPPORT);
    provider.account = { email: "cai@example.org", isVerified: true };
    const own = await begin();
    const { search } = await signInAt(provider, own.url);
    const other = await begin();
    expect(await comeBack(search, "")).to.equal(`${REFUSED}refused`);
    expect(await comeBack(search, other.cookie)).to.equal(`${REFUSED}refused`);
    expect(await comeBack(search, own.cookie)).to.match(/^\/operators\/sign-in#opl_/);
    expect(await comeBack(search, own.cookie)).to.equal(`${REFUSED}refused`);
    expect(await comeBack("?return_to=//evil.example", other.cookie)).to.equal(`${REFUSED}refused`);
  });

  it("another site cannot begin a sign-in, and the tenants' console has no part in it", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { "sms-console": "" }]) {
      const answer = await openOperatorBrowser(origin).call("POST", `${API}/oidc`, { headers });
      expect(answer.status).to.equal(403);
    }
    const path = "/console/api/sign-in";
    const { body } = await rest.call("GET", path, { headers: { origin: rest.stack.gateway } });
    expect(body.data.oidc).to.equal(null);
    const [, token = ""] = (await signIn("ada@example.org")).split("#");
    const opened = await rest.call("POST", "/console/api/session", {
      headers: { origin: rest.stack.gateway, "sms-console": "1" },
      body: { token },
    });
    expect(opened.status, "an operator's link opens no session of a tenant").to.equal(404);
  });
});
