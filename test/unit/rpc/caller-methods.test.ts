import { expect } from "chai";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import {
  CALLER_METHODS,
  methodsOf,
  OPERATOR,
  SMOKE_TEST,
} from "../../../services/shared/caller-methods.ts";
import { repositoryFiles } from "../../support/source-files.ts";

const SERVICES = [
  TenantService,
  SenderIdService,
  WalletService,
  RoutingService,
  MessagingService,
  WebhookService,
  CampaignService,
  ConsentService,
];
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

describe("the methods of each caller", () => {
  it("exist in the protocol", () => {
    const known = SERVICES.flatMap(({ typeName, methods }) =>
      methods.map(({ name }) => `${typeName}/${name}`),
    );
    known.push("sms.v1.Carrier/ListUnmatchedReceipts");
    for (const caller of Object.keys(CALLER_METHODS)) {
      expect(known, caller).to.include.members(methodsOf([caller]));
    }
  });

  it("are named in the caller's own code, so that none stays after its last use", () => {
    const files = repositoryFiles();
    for (const caller of Object.keys(CALLER_METHODS)) {
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
      for (const method of OPERATORS_ALONE) {
        expect(methodsOf([caller]), caller).to.not.include(`sms.v1.${method}`);
      }
    }
  });
});
