/**
 * What each RPC does to stored data. Every method has a row: the test fails for a new method without one.
 */

/** Methods that change nothing. */
export const READING = [
  "MessagingService/LookupSend",
  "MessagingService/GetMessage",
  "MessagingService/ListMessages",
  "MessagingService/ListWaitingConnectors",
  "MessagingService/StreamCharges",
  "MessagingService/CheckMessages",
  "MessagingService/GetQueueStats",
  "MessagingService/ListAuditRecords",
  "RoutingService/ListConnectors",
  "RoutingService/GetConnectorSettings",
  "RoutingService/ListRoutes",
  "RoutingService/GetRouteTable",
  "RoutingService/Explain",
  "RoutingService/ListAuditRecords",
  "SenderIdService/ListSenderIds",
  "SenderIdService/ResolveSenderId",
  "SenderIdService/ResolveSenderIds",
  "SenderIdService/ListAuditRecords",
  "TenantService/GetTenant",
  "TenantService/GetTenants",
  "TenantService/ListTenants",
  "TenantService/ListApiKeys",
  "TenantService/Authenticate",
  "TenantService/AuthenticateMany",
  "TenantService/ListAuditRecords",
  "WalletService/GetWallet",
  "WalletService/GetReservation",
  "WalletService/ListEntries",
  "WalletService/ListAuditEntries",
  "WalletService/ListAuditRecords",
  "WalletService/CheckWallets",
  "WalletService/StreamSettlements",
  "WalletService/StreamReservations",
  "WalletService/ListDeadLetters",
  "WebhookService/GetEndpoint",
  "WebhookService/ListEndpoints",
  "WebhookService/ListDeliveries",
  "WebhookService/GetDelivery",
  "WebhookService/CheckKey",
  "WebhookService/ListDeadLetters",
  "WebhookService/ListAuditRecords",
] as const;

/** Methods that leave an entry in the audit trail whenever they change something. */
export const AUDITED = [
  "MessagingService/CancelMessage",
  "MessagingService/CancelCampaign",
  "RoutingService/CreateConnector",
  "RoutingService/UpdateConnector",
  "RoutingService/RemoveConnector",
  "RoutingService/CreateRoute",
  "RoutingService/UpdateRoute",
  "RoutingService/RemoveRoute",
  "RoutingService/ImportPrices",
  "SenderIdService/CreateSenderId",
  "SenderIdService/ReviewSenderId",
  "TenantService/CreateTenant",
  "TenantService/UpdateTenant",
  "TenantService/CreateApiKey",
  "TenantService/RevokeApiKey",
  "WalletService/CreateWallet",
  "WalletService/FundWallet",
  "WalletService/AdjustWallet",
  "WalletService/UpdateWallet",
  "WalletService/ReplayDeadLetters",
  "WebhookService/CreateEndpoint",
  "WebhookService/UpdateEndpoint",
  "WebhookService/DeleteEndpoint",
  "WebhookService/RotateSecret",
  "WebhookService/ResendDelivery",
  "WebhookService/RecoverDeliveries",
  "WebhookService/SendTestEvent",
  "WebhookService/ReplayDeadLetters",
] as const;

/** One of them. */
export type AuditedMethod = (typeof AUDITED)[number];

const SEND = "the message and its history are the record, with its source and request";
const LEDGER = "the append-only ledger is the record, with the reservation or the message";
const CLAIM = "the message's history is the record, with its connector";

/** Methods of the message path, whose effects are records by themselves. */
export const RECORDED: Readonly<Record<string, string>> = {
  "MessagingService/SendMessages": SEND,
  "MessagingService/SendMany": SEND,
  "MessagingService/SendEach": SEND,
  "MessagingService/ClaimMessages": CLAIM,
  "MessagingService/ClaimMany": CLAIM,
  "MessagingService/ReportOutcomes": CLAIM,
  "MessagingService/RecordReceipts": CLAIM,
  "MessagingService/RenewClaims": CLAIM,
  "MessagingService/RecoverClaims": CLAIM,
  "MessagingService/ResolveReservations": "a tombstone names the reservation that never was a send",
  "WalletService/PlaceHold": LEDGER,
  "WalletService/PlaceHolds": LEDGER,
  "WalletService/SettleMessages": LEDGER,
  "WalletService/ReleaseReservation": LEDGER,
  "RoutingService/ReportConnectorHealth": "health is measured again every second and not kept",
};
