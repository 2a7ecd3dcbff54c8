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
        | "CAMPAIGN_GRPC";
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
};

/** The services that each service calls; tenant, routing, webhook and the simulator call none. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  gateway: ["tenant", "messaging", "wallet", "sender-id", "webhook", "campaign"],
  messaging: ["tenant", "sender-id", "wallet", "routing"],
  wallet: ["messaging"],
  "sender-id": ["tenant"],
  carrier: ["messaging", "routing"],
  campaign: ["tenant", "wallet", "messaging"],
};

/** The address settings of services that these call and that run in other processes. */
export function addressesNeeded(names: readonly string[]): ReadonlySet<string> {
  const callees = new Set(names.flatMap((name) => CALLS[name] ?? []));
  const settings = Object.values(SERVICE_ADDRESSES)
    .filter(({ name }) => callees.has(name) && !names.includes(name))
    .map(({ setting }) => setting);
  return new Set(settings);
}
