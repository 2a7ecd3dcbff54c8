import { expect } from "chai";
import {
  CALLER_METHODS,
  methodsOf,
  OPERATOR,
  SMOKE_TEST,
} from "../../../services/shared/caller-methods.ts";
import { SERVICE_ADDRESSES } from "../../../services/shared/service-addresses.ts";
import { RPC_SERVICES } from "../../support/rpc-services.ts";
import { repositoryFiles } from "../../support/source-files.ts";

const CODE: Readonly<Record<string, RegExp>> = {
  gateway: /^gateway\//,
  [OPERATOR]: /^services\/smsctl\//,
  [SMOKE_TEST]: /^deploy\/smoke-test\.ts$/,
};
/** Moves or makes money, keys or routes, or decides about them: an operator's work. */
const OPERATORS_ALONE = [
  ...["WalletService/FundWallet", "WalletService/AdjustWallet", "WalletService/UpdateWallet"],
  ...[
    "SenderIdService/ReviewSenderId",
    "RoutingService/CreateRoute",
    "RoutingService/ImportPrices",
  ],
  ...["RoutingService/CreateConnector", "TenantService/UpdateTenant"],
];

const CONSOLE = "operator-console";
/** The operators' console calls the rest of them, for a person with a role. */
const BY_COMMAND_ALONE = OPERATORS_ALONE.filter((method) => !/Review|UpdateTenant/.test(method));

describe("the methods of each caller", () => {
  it("are of services that all have a place in the list of interfaces", () => {
    const listed = RPC_SERVICES.map(({ typeName }) => typeName);
    expect(listed).to.have.members(Object.keys(SERVICE_ADDRESSES));
  });

  it("exist in the protocol", () => {
    const known = RPC_SERVICES.flatMap(({ typeName, methods }) =>
      methods.map(({ name }) => `${typeName}/${name}`),
    );
    known.push("sms.v1.Carrier/ListUnmatchedReceipts", "sms.v1.Carrier/ListInboundUrls");
    for (const caller of Object.keys(CALLER_METHODS)) {
      expect(known, caller).to.include.members(methodsOf([caller]));
    }
  });

  it("are named in the caller's own code, so that none stays after its last use", () => {
    const files = repositoryFiles();
    // The pages of the operators' console name its methods: test/unit/operator-console.
    for (const caller of Object.keys(CALLER_METHODS).filter((one) => one !== CONSOLE)) {
      const folder = CODE[caller] ?? new RegExp(`^services/${caller}/`);
      const code = files.filter(({ path }) => folder.test(path)).map(({ text }) => text);
      for (const method of methodsOf([caller])) {
        if (method.startsWith("sms.v1.Carrier/")) continue;
        const name = method.replace(/^.*\/(.)/, (_all, first: string) => first.toLowerCase());
        const isUsed = code.some((text) => new RegExp(`\\.${name}\\b|"${name}"`).test(text));
        expect(isUsed, `${caller} ${method}`).to.equal(true);
      }
    }
  });

  it("leave money, keys, routes and reviews to operators", () => {
    for (const caller of Object.keys(CALLER_METHODS).filter((name) => name !== OPERATOR)) {
      const others = caller === CONSOLE ? BY_COMMAND_ALONE : OPERATORS_ALONE;
      for (const method of others) {
        expect(methodsOf([caller]), caller).to.not.include(`sms.v1.${method}`);
      }
    }
  });
});
