import { CALLER_METHODS } from "./caller-methods.ts";

/** The service behind each RPC interface, and the setting with its address. */
export const SERVICE_ADDRESSES: Readonly<
  Record<
    string,
    {
      readonly name: string;
      readonly setting:
        | "TENANT_GRPC"
        | "SENDER_ID_GRPC"
        | "WALLET_GRPC"
        | "ROUTING_GRPC"
        | "MESSAGING_GRPC"
        | "WEBHOOK_GRPC"
        | "CAMPAIGN_GRPC"
        | "CONSENT_GRPC";
    }
  >
> = {
  "sms.v1.TenantService": { name: "tenant", setting: "TENANT_GRPC" },
  "sms.v1.SenderIdService": { name: "sender-id", setting: "SENDER_ID_GRPC" },
  "sms.v1.WalletService": { name: "wallet", setting: "WALLET_GRPC" },
  "sms.v1.RoutingService": { name: "routing", setting: "ROUTING_GRPC" },
  "sms.v1.MessagingService": { name: "messaging", setting: "MESSAGING_GRPC" },
  "sms.v1.WebhookService": { name: "webhook", setting: "WEBHOOK_GRPC" },
  "sms.v1.CampaignService": { name: "campaign", setting: "CAMPAIGN_GRPC" },
  "sms.v1.ConsentService": { name: "consent", setting: "CONSENT_GRPC" },
};

/** The address settings of services that these call and that run in other processes. */
export function addressesNeeded(names: readonly string[]): ReadonlySet<string> {
  const interfaces = names.flatMap((name) => Object.keys(CALLER_METHODS[name] ?? {}));
  const settings = interfaces.flatMap((typeName) => {
    const callee = SERVICE_ADDRESSES[typeName];
    return callee === undefined || names.includes(callee.name) ? [] : [callee.setting];
  });
  return new Set(settings);
}
