/** The role table of the operators' console against the RPC descriptors and the list of its caller. */
import { expect } from "chai";
import {
  mayCall,
  permittedMethods,
  ROLE_TABLE,
  ruleOf,
} from "../../../services/operator-console/domain/role-table.ts";
import { methodsOf } from "../../../services/shared/caller-methods.ts";
import { OPERATOR_ROLES } from "../../../services/shared/core/operator-roles.ts";
import { RPC_SERVICES } from "../../support/rpc-services.ts";
import { repositoryFiles } from "../../support/source-files.ts";

const ALL = RPC_SERVICES.flatMap(({ typeName, methods }) =>
  methods.map((method) => ({ name: `${typeName}/${method.name}`, method })),
);

/** The console calls these itself, and a page of the carrier. */
const OWN = [
  "sms.v1.TenantService/GetOperatorSignInMethods",
  "sms.v1.TenantService/BeginOperatorOidcSignIn",
  "sms.v1.TenantService/CompleteOperatorOidcSignIn",
  "sms.v1.TenantService/OpenOperatorSession",
  "sms.v1.TenantService/AuthenticateOperator",
  "sms.v1.TenantService/ListOperatorSessions",
  "sms.v1.TenantService/EndOperatorSession",
  "sms.v1.Carrier/ListUnmatchedReceipts",
];

describe("the role table of the operators' console", () => {
  it("permits or refuses every method of every service, so that none is forgotten", () => {
    const rows = Object.entries(ROLE_TABLE).flatMap(([typeName, methods]) =>
      Object.keys(methods).map((name) => `${typeName}/${name}`),
    );
    expect(rows).to.have.members(ALL.map(({ name }) => name));
  });

  it("permits exactly the methods that its caller has and a page uses", () => {
    expect(methodsOf(["operator-console"])).to.have.members([...permittedMethods(), ...OWN]);
    const pages = repositoryFiles().filter(({ path }) => path.startsWith("console/operators/"));
    const code = pages.map(({ text }) => text).join("\n");
    for (const method of permittedMethods()) {
      expect(code, method).to.contain(`"${method.slice("sms.v1.".length)}"`);
    }
  });

  it("permits no stream, and nothing by the name of a member of every object", () => {
    const streams = ALL.filter(({ method }) => method.methodKind !== "unary");
    expect(streams).to.not.have.length(0);
    for (const { name } of streams) expect(ruleOf(name), name).to.have.property("refused");
    for (const name of ["constructor/name", "sms.v1.TenantService/toString", "", "/"]) {
      expect(ruleOf(name), name).to.equal(undefined);
      expect(mayCall("admin", name), name).to.equal(false);
    }
  });

  it("lets every role read, support change nothing, and each change to one other role", () => {
    for (const name of permittedMethods()) {
      const roles = OPERATOR_ROLES.filter((role) => mayCall(role, name));
      if (mayCall("support", name)) {
        expect(name).to.match(/\/(Get|List|Find|Explain)/);
        expect(roles).to.deep.equal([...OPERATOR_ROLES]);
      } else {
        expect(roles, name).to.have.length(2);
        expect(roles, name).to.include("admin");
      }
    }
  });

  it("lets no role move money alone, sign in as a tenant or give a role", () => {
    for (const name of [
      ...["WalletService/FundWallet", "WalletService/AdjustWallet"],
      ...["TenantService/CreatePortalLink", "TenantService/OpenSession"],
      ...["TenantService/CreateOperatorLink", "TenantService/CreateApiKey"],
      "RoutingService/GetConnectorSettings",
    ]) {
      expect(ruleOf(`sms.v1.${name}`), name).to.have.property("refused");
    }
  });
});
