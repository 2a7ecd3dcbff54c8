/** Sign-in through a real OpenID Connect provider (docs/contract.md#console), on a whole stack. */
import { expect } from "chai";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { codeOf, stepAt } from "../../../services/tenant/domain/totp.ts";
import { fromBase32 } from "../../support/base32.ts";
import {
  CONSOLE_API as API,
  BROWSER_SETTINGS,
  openConsoleBrowser,
} from "../../support/console-browser.ts";
import { type OidcServer, signInAt, startOidcServer } from "../../support/oidc-server.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const COOKIE = "__Host-sms_oidc";

describe("sign-in through OpenID Connect", function () {
  this.timeout(60_000);
  let provider: OidcServer;
  let rest: RestStack<TestStack>;
  let owner: Customer;

  before(async function () {
    this.timeout(240_000);
    provider = await startOidcServer();
    rest = await openRestStack(
      {
        ...BROWSER_SETTINGS,
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: provider.clientId,
        OIDC_CLIENT_SECRET: provider.clientSecret,
        OIDC_NAME: "Example ID",
      },
      { processes: ONE_PROCESS },
    );
    const origin = rest.stack.gateway.replace("127.0.0.1", "localhost");
    await provider.serve(`${origin}${API}/oidc/callback`);
    owner = await rest.addCustomer();
  });
  after(async function () {
    this.timeout(60_000);
    await rest?.close();
    await provider?.close();
  });

  const openBrowser = () => openConsoleBrowser(rest.stack.gateway);

  async function invite(email: string): Promise<void> {
    const { tenantId } = owner;
    await rest.tenants.invitePerson({ tenantId, email, role: Role.VIEWER });
    provider.account = { email, isVerified: true };
  }

  /** Begins a sign-in: the cookie of the browser, and the address of the provider. */
  async function begin() {
    const answer = await openBrowser().call("POST", `${API}/oidc`);
    expect(answer.status, answer.text).to.equal(201);
    const [set = ""] = answer.headers.getSetCookie();
    expect(set).to.match(
      /^__Host-sms_oidc=oid_[\w-]{43}; Path=\/; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
    );
    return { cookie: set.slice(0, set.indexOf(";")), url: new URL(answer.body.data.url) };
  }

  /** Follows the provider's redirection; returns where the gateway leads. */
  async function comeBack(query: string, cookie: string): Promise<string> {
    const headers = { cookie, origin: "", "sec-fetch-site": "cross-site" };
    const answer = await openBrowser().call("GET", `${API}/oidc/callback${query}`, { headers });
    expect(answer.status, answer.text).to.equal(303);
    expect(answer.headers.get("referrer-policy")).to.equal("no-referrer");
    expect(answer.headers.getSetCookie().join()).to.contain(`${COOKIE}=; Path=/; Max-Age=0;`);
    return answer.headers.get("location") ?? "";
  }

  async function signIn(): Promise<string> {
    const { cookie, url } = await begin();
    return comeBack((await signInAt(provider, url)).search, cookie);
  }

  const open = (token: string, code?: string) =>
    openBrowser().call("POST", `${API}/session`, {
      body: code === undefined ? { token } : { token, code },
    });

  it("the sign-in page knows the provider's name", async () => {
    const { body } = await openBrowser().call("GET", `${API}/sign-in`);
    expect(body.data).to.deep.equal({ object: "sign_in_methods", email: true, oidc: "Example ID" });
  });

  it("an invited person with a verified address gets a session, with PKCE, state and nonce", async () => {
    await invite("ada@example.org");
    const { cookie, url } = await begin();
    expect(url.searchParams.get("code_challenge_method")).to.equal("S256");
    for (const name of ["code_challenge", "state", "nonce"]) {
      expect(url.searchParams.get(name)?.length, name).to.be.at.least(32);
    }
    const location = await comeBack((await signInAt(provider, url)).search, cookie);
    const [, token = ""] = /^\/console\/sign-in#(oil_[\w-]{43})$/.exec(location) ?? [];
    const opened = await open(token);
    expect(opened.status, `${location} ${opened.text}`).to.equal(201);
    expect(opened.body.data).to.include({ name: "ada@example.org", role: "viewer" });
    expect((await open(token)).status, "the link works once").to.equal(404);
  });

  it("a person who is not invited, or whose address is not verified, gets no session", async () => {
    provider.account = { email: "stranger@example.org", isVerified: true };
    expect(await signIn()).to.equal("/console/sign-in?refused=not_found");
    await invite("bea@example.org");
    provider.account = { email: "bea@example.org", isVerified: false };
    expect(await signIn()).to.equal("/console/sign-in?refused=email_not_verified");
  });

  it("the second factor is asked for here too", async () => {
    await invite("cai@example.org");
    const browser = openBrowser();
    const body = { token: (await signIn()).split("#")[1] };
    expect((await browser.call("POST", `${API}/session`, { body })).status).to.equal(201);
    const begun = await browser.call("POST", `${API}/second-factor`);
    const secret = fromBase32(begun.body.data.secret);
    const step = stepAt(Date.now());
    const code = codeOf(secret, step);
    await browser.call("POST", `${API}/second-factor/enable`, { body: { code } });
    const token = (await signIn()).split("#")[1] ?? "";
    expect((await open(token)).body.data).to.deep.equal({ object: "second_factor_request" });
    expect((await open(token, codeOf(secret, step + 1))).status).to.equal(201);
  });

  it("a return from the provider works once, for its own browser, state, code and issuer", async () => {
    await invite("dov@example.org");
    const refused = "/console/sign-in?refused=refused";
    const first = await begin();
    const { search } = await signInAt(provider, first.url);
    const other = await begin();
    const others = await signInAt(provider, other.url);

    expect(await comeBack(search, ""), "no cookie").to.equal(refused);
    expect(await comeBack(search, `${COOKIE}=oid_${"A".repeat(43)}`), "unknown").to.equal(refused);
    // Login CSRF: a victim's browser, which began a sign-in of its own, follows the attacker's address.
    expect(await comeBack(search, other.cookie), "another browser's").to.equal(refused);

    // Code injection: a stolen code in an answer with the right state.
    const third = await begin();
    const injected = (await signInAt(provider, third.url)).searchParams;
    injected.set("code", others.searchParams.get("code") ?? "");
    expect(await comeBack(`?${injected}`, third.cookie), "a stolen code").to.equal(refused);

    for (const [name, value] of [
      ["state", "forged"],
      ["iss", "https://evil.example"],
      ["code", "forged"],
    ] as const) {
      const begun = await begin();
      const changed = (await signInAt(provider, begun.url)).searchParams;
      changed.set(name, value);
      expect(await comeBack(`?${changed}`, begun.cookie), name).to.equal(refused);
    }

    expect(await comeBack(search, first.cookie)).to.match(/^\/console\/sign-in#oil_/);
    expect(await comeBack(search, first.cookie), "a second time").to.equal(refused);
  });

  it("leads only to the sign-in page, for any address", async () => {
    for (const query of [
      "",
      "?error=access_denied&error_description=x",
      "?redirect_uri=https://evil.example&return_to=//evil.example",
      "?code=%0d%0aLocation:%20https://evil.example",
      `?${"x".repeat(4000)}`,
    ]) {
      const { cookie } = await begin();
      expect(await comeBack(query, cookie), query).to.equal("/console/sign-in?refused=refused");
    }
  });

  it("another site cannot begin a sign-in", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { "sms-console": "" }]) {
      const answer = await openBrowser().call("POST", `${API}/oidc`, { headers });
      expect(answer.status).to.equal(403);
    }
  });
});
