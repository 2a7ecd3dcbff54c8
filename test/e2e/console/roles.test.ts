/** Each operation of the OpenAPI document, called by a session of each role (docs/contract.md#console). */
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { Role } from "../../../proto/gen/sms/v1/identity_pb.js";
import { ROLES } from "../../../services/shared/core/roles.ts";
import { SCOPES } from "../../../services/shared/core/scopes.ts";
import { scopesOf } from "../../../services/tenant/domain/role-scopes.ts";
import {
  BROWSER_SETTINGS,
  CONSOLE_API,
  type ConsoleBrowser,
  signedInBrowser,
} from "../../support/console-browser.ts";
import { freeNames } from "../../support/isolation-world.ts";
import { fillPath, type OpenApiOperation, operationsOf } from "../../support/openapi-operations.ts";
import { ROLES_OF_OPERATION } from "../../support/operation-roles.ts";
import { type Customer, oneProcessStack, type RestStack } from "../../support/rest.ts";
import type { TestStack } from "../../support/stack.ts";

/** Routes of the console that need the scope of people, which no key has. */
const OWNERS_ROUTES = [
  ["GET", "/people"],
  ["POST", "/people"],
  ["PATCH", "/people/usr_01M7ZT1N7Y5V51BPMMDFK33YKG"],
  ["DELETE", "/people/usr_01M7ZT1N7Y5V51BPMMDFK33YKG"],
] as const;

const WIRE = {
  owner: Role.OWNER,
  developer: Role.DEVELOPER,
  sender: Role.SENDER,
  finance: Role.FINANCE,
  viewer: Role.VIEWER,
} as const;

describe("the roles of the console", function () {
  this.timeout(60_000);
  let rest: RestStack<TestStack>;
  let customer: Customer;
  let operations: OpenApiOperation[];

  before(async function () {
    this.timeout(240_000);
    rest = await oneProcessStack(BROWSER_SETTINGS);
    customer = await rest.addCustomer();
    operations = operationsOf((await rest.call("GET", "/openapi.json")).body);
  });

  /** Ids that nothing has: a call that is allowed finds nothing, so one role's calls change nothing for the next. */
  function call(browser: ConsoleBrowser, { method, path, example }: OpenApiOperation) {
    const free = freeNames();
    const filled = fillPath(path, {
      message_id: free.message,
      endpoint_id: free.endpoint,
      delivery_id: free.delivery,
      campaign_id: free.draft,
      inbound_message_id: free.inbound,
      api_key_id: free.apiKey,
      number: "+2348031112226",
    });
    return browser.call(method, filled, example === undefined ? {} : { body: example });
  }

  it("every operation of the document says which roles may call it, and no row is for another", () => {
    const ids = operations.map(({ id }) => id).sort();
    expect(Object.keys(ROLES_OF_OPERATION).sort()).to.deep.equal(ids);
  });

  for (const role of ROLES) {
    it(`a session of the role ${role} is allowed and refused as the contract says`, async () => {
      const browser = await signedInBrowser(rest, customer, WIRE[role]);
      for (const operation of operations) {
        const answer = await call(browser, operation);
        const what = `${role} calls ${operation.id}: ${answer.status} ${answer.text}`;
        if (ROLES_OF_OPERATION[operation.id]?.includes(role) === true) {
          expect(answer.status, what).to.not.be.oneOf([401, 403]);
          expect(answer.status, what).to.be.below(500);
          if (operation.method === "GET" && !operation.path.includes("{")) {
            expect(answer.status, what).to.equal(200);
          }
        } else {
          expect(answer.status, what).to.equal(403);
          expect(answer.body.code, what).to.equal("insufficient_scope");
        }
      }
      for (const [method, path] of OWNERS_ROUTES) {
        const options = method === "GET" ? {} : { body: {} };
        const answer = await browser.call(method, `${CONSOLE_API}${path}`, options);
        expect(answer.status === 403, `${role} calls ${method} ${path}`).to.equal(role !== "owner");
      }
    });
  }

  it("the contract's table of roles is the one of the code", () => {
    const contract = readFileSync("docs/contract.md", "utf8");
    const rows = contract.slice(contract.indexOf("| role | scopes |")).split("\n");
    const scopesIn = (role: string) => {
      const row = rows.find((line) => line.startsWith(`| ${role} |`)) ?? "";
      return row.match(/[a-z_]+:[a-z]+/g) ?? [];
    };
    const people = "people:manage";
    expect([...scopesOf("owner")].sort()).to.deep.equal([...SCOPES, people].sort());
    // Its row names the exceptions, and one scope that it has.
    const lacks = new Set([...scopesIn("developer"), people]);
    expect(lacks.delete("usage:read")).to.equal(true);
    const developers = SCOPES.filter((one) => !lacks.has(one));
    expect([...scopesOf("developer")].sort()).to.deep.equal([...developers].sort());
    for (const role of ["sender", "finance", "viewer"] as const) {
      expect([...scopesOf(role)].sort(), role).to.deep.equal(scopesIn(role).sort());
    }
  });
});
