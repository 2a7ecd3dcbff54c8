/** Sign-in, roles, isolation and cross-site requests of the operators' console, on a whole stack. */
import { expect } from "chai";
import { OperatorRole } from "../../../proto/gen/sms/v1/operator_pb.js";
import { permittedMethods, ruleOf } from "../../../services/operator-console/domain/role-table.ts";
import { OPERATOR_ROLES } from "../../../services/shared/core/operator-roles.ts";
import { WIRE_OPERATOR_ROLE } from "../../../services/shared/rpc/operator-role.ts";
import {
  API,
  type OperatorBrowser,
  openOperatorBrowser,
  operatorToken,
} from "../../support/operator-browser.ts";
import { type Customer, oneProcessStack, type RestStack } from "../../support/rest.ts";
import { RPC_SERVICES } from "../../support/rpc-services.ts";
import type { TestStack } from "../../support/stack.ts";

describe("the operators' console", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;

  before(async function () {
    this.timeout(240_000);
    rest = await oneProcessStack();
    customer = await rest.addCustomer();
  });

  async function signedIn(person: string, role: OperatorRole): Promise<OperatorBrowser> {
    const browser = openOperatorBrowser(rest.stack.operator_console);
    const token = await operatorToken(rest, person, role);
    const answer = await browser.call("POST", `${API}/session`, { body: { token } });
    expect(answer.status, answer.text).to.equal(201);
    return browser;
  }

  it("a link signs in once, and the session has the person, the role and its methods", async () => {
    const token = await operatorToken(rest, "ada@example.org", OperatorRole.SUPPORT);
    const browser = openOperatorBrowser(rest.stack.operator_console);
    const opened = await browser.call("POST", `${API}/session`, { body: { token } });
    expect(opened.status, opened.text).to.equal(201);
    expect(opened.headers.get("set-cookie")).to.match(
      /^__Host-sms_operator=ops_[\w-]{43}; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$/,
    );
    const { body } = await browser.call("GET", `${API}/session`);
    expect(body.data).to.deep.include({ name: "ada@example.org", role: "support" });
    expect(body.data.methods).to.include("sms.v1.TenantService/ListTenants");
    expect(body.data.methods).to.not.include("sms.v1.TenantService/UpdateTenant");
    const again = openOperatorBrowser(rest.stack.operator_console);
    expect((await again.call("POST", `${API}/session`, { body: { token } })).status).to.equal(404);
  });

  it("each role may call what the table permits, and no role anything else", async () => {
    const methods = RPC_SERVICES.flatMap(({ typeName, methods: all }) =>
      all.map(({ name }) => `${typeName}/${name}`),
    );
    for (const role of OPERATOR_ROLES) {
      const browser = await signedIn(`${role}@example.org`, WIRE_OPERATOR_ROLE[role]);
      for (const method of methods) {
        // No request is valid or finds anything: only the refusal of the role matters.
        const body = { nothing: true };
        const { status, text } = await browser.call("POST", `${API}/rpc/${method}`, { body });
        const rule = ruleOf(method);
        const may = rule !== undefined && "roles" in rule && rule.roles.includes(role);
        expect(status, `${role} ${method}: ${text}`).to.equal(may ? 422 : 403);
      }
    }
    expect(permittedMethods()).to.not.have.length(0);
  });

  it("a tenant is suspended by an operator, and the trail names the person", async () => {
    const { tenantId } = customer;
    const person = "grace@example.org";
    const browser = await signedIn(person, OperatorRole.OPERATOR);
    const listed = await browser.rpc("TenantService/ListTenants", { limit: 1000 });
    expect(listed.body.tenants.map(({ id }: { id: string }) => id)).to.include(tenantId);
    const done = await browser.rpc("TenantService/UpdateTenant", { tenantId, suspended: true });
    expect(done.body.tenant).to.include({ id: tenantId, suspended: true });
    const { records } = await rest.tenants.listAuditRecords({ tenantId, method: "UpdateTenant" });
    expect(records[0]?.actor?.name).to.equal(person);
    const resumed = await browser.rpc("TenantService/UpdateTenant", { tenantId, suspended: false });
    expect(resumed.body.tenant).to.include({ suspended: false });
  });

  it("tenants are found by a part of their name, in any case", async () => {
    const { tenant } = await rest.tenants.createTenant({ name: "Büro $Tern [a-z]" });
    const browser = await signedIn("finder@example.org", OperatorRole.SUPPORT);
    for (const nameContains of ["büro", "$tern", "[A-Z]"]) {
      const { body } = await browser.rpc("TenantService/ListTenants", { nameContains });
      const found = body.tenants.map(({ id }: { id: string }) => id);
      expect(found, nameContains).to.deep.equal([tenant?.id]);
    }
  });

  it("a connector's state may be changed, and its password and address not", async () => {
    const browser = await signedIn("grace@example.org", OperatorRole.OPERATOR);
    for (const fields of [["smpp"], ["state", "http"], ["smpp.tls"], []]) {
      const connector = { id: "smsc", smpp: { host: "203.0.113.9", password: "x" } };
      const request = { id: "smsc", fields, connector };
      const { status, body } = await browser.rpc("RoutingService/UpdateConnector", request);
      expect(status, fields.join()).to.equal(422);
      expect(body.errors[0].field).to.equal("fields");
    }
  });

  it("the gateway refuses an operator's cookie, and this console a tenant's", async () => {
    const operator = await signedIn("ada@example.org", OperatorRole.ADMIN);
    const { gateway, operator_console } = rest.stack;
    const atGateway = { at: new URL(gateway).origin };
    expect((await operator.call("GET", "/v1/messages", atGateway)).status).to.equal(401);
    expect((await operator.call("GET", "/console/api/session", atGateway)).status).to.equal(401);
    const secret = operator.cookie.slice(operator.cookie.indexOf("=") + 1);
    const renamed = { cookie: `__Host-sms_session=${secret.replace("ops_", "ses_")}` };
    const forged = await operator.call("GET", "/v1/messages", { ...atGateway, headers: renamed });
    expect(forged.status).to.equal(401);

    const { tenantId } = customer;
    const { url } = await rest.tenants.createPortalLink({ tenantId, displayName: "Ada" });
    const token = url.slice(url.indexOf("#") + 1);
    const tenant = openOperatorBrowser(operator_console);
    const body = { token };
    expect((await tenant.call("POST", `${API}/session`, { body })).status).to.equal(404);
    const opened = await tenant.call("POST", "/console/api/session", { ...atGateway, body });
    expect(opened.status, opened.text).to.equal(201);
    expect((await tenant.call("GET", `${API}/session`)).status).to.equal(401);
    const own = tenant.cookie.slice(tenant.cookie.indexOf("=") + 1);
    const headers = { cookie: `__Host-sms_operator=${own.replace("ses_", "ops_")}` };
    expect((await tenant.call("GET", `${API}/session`, { headers })).status).to.equal(401);
    const operators = await operatorToken(rest, "ada@example.org", OperatorRole.ADMIN);
    const wrong = { ...atGateway, body: { token: operators } };
    expect((await tenant.call("POST", "/console/api/session", wrong)).status).to.equal(404);
  });

  it("a request of another origin, or without the console's header, is refused", async () => {
    const browser = await signedIn("ada@example.org", OperatorRole.ADMIN);
    const path = `${API}/rpc/sms.v1.TenantService/ListTenants`;
    for (const headers of [
      { "sms-console": "" },
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { origin: new URL(rest.stack.gateway).origin },
    ] as Record<string, string>[]) {
      const answer = await browser.call("POST", path, { body: {}, headers });
      expect(answer.body.code, JSON.stringify(headers)).to.equal("origin_not_allowed");
    }
    const form = { "content-type": "text/plain" };
    const typed = await browser.call("POST", path, { body: {}, headers: form });
    expect(typed.body.code).to.equal("unsupported_media_type");
  });

  it("a removed operator, and one who signs out, is refused at the next request", async () => {
    const browser = await signedIn("gone@example.org", OperatorRole.ADMIN);
    const tab = openOperatorBrowser(rest.stack.operator_console);
    tab.cookie = browser.cookie;
    await rest.tenants.removeOperator({ person: "gone@example.org" });
    expect((await browser.rpc("TenantService/ListTenants")).status).to.equal(401);
    const other = await signedIn("other@example.org", OperatorRole.ADMIN);
    tab.cookie = other.cookie;
    expect((await other.call("DELETE", `${API}/session`)).status).to.equal(204);
    expect((await tab.rpc("TenantService/ListTenants")).status).to.equal(401);
  });

  it("the pages name a policy without inline code or frames, and every answer has it", async () => {
    for (const path of ["/operators", "/operators/api/session", "/nothing"]) {
      const response = await fetch(new URL(path, rest.stack.operator_console));
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy, path).to.contain("frame-ancestors 'none'").and.not.contain("unsafe");
      expect(response.headers.get("x-frame-options"), path).to.equal("DENY");
      await response.text();
    }
  });

  it("a body that is too large, no JSON or of an unknown field is refused", async () => {
    const browser = await signedIn("ada@example.org", OperatorRole.ADMIN);
    const long = { idOrName: "x".repeat(70_000) };
    expect((await browser.rpc("TenantService/GetTenant", long)).status).to.equal(413);
    expect((await browser.rpc("TenantService/GetTenant", [])).status).to.equal(400);
    expect((await browser.rpc("TenantService/GetTenant", { idOrNam: "x" })).status).to.equal(422);
    expect((await browser.rpc("TenantService/GetTenant", { idOrName: "?" })).status).to.equal(404);
    expect((await browser.rpc("Nothing/Here")).status).to.equal(404);
  });
});
