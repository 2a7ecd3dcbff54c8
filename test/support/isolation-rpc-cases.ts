/**
 * The tenant isolation of each RPC. Every method has a row: the test fails for a new method without one.
 */
import { KeyedOperation } from "../../proto/gen/sms/v1/webhook_pb.js";

/** The ids of the owner's resources, by name. */
export type Owned = {
  readonly message: string;
  readonly scheduled: string;
  readonly reservation: string;
  /** The campaign of a message. */
  readonly campaign: string;
  /** A draft with a recipient. */
  readonly draft: string;
  readonly doomedDraft: string;
  /** A message from a handset, and the number that it was sent to. */
  readonly inbound: string;
  readonly inboundNumber: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly endpoint: string;
  readonly doomed: string;
  readonly delivery: string;
  /** A person of the account, no owner. */
  readonly person: string;
  /** An API key that nothing uses, and one that makes others. */
  readonly apiKey: string;
  readonly makerKey: string;
  /** An idempotency key used for a send and for the creation of an endpoint. */
  readonly key: string;
};

/** Builds a request of a tenant about a resource in `own`. */
type MakeRequest = (tenantId: string, own: Owned) => Record<string, unknown>;

/** The isolation rule of a method. */
export type RpcCase =
  /** Takes a tenant and a resource of it: another tenant's resource gets the response of an unknown one. */
  | { readonly kind: "thing"; readonly request: MakeRequest }
  /** Takes a tenant: the response has nothing of another tenant. `shows` must be in the owner's response. */
  | { readonly kind: "list"; readonly request: MakeRequest; readonly shows?: keyof Owned }
  /** Takes no tenant, or ids made by the service. The text names the allowed callers. */
  | { readonly kind: "internal"; readonly why: string };

const thing = (request: MakeRequest): RpcCase => ({ kind: "thing", request });
const list = (shows: keyof Owned | undefined, request: MakeRequest): RpcCase =>
  shows === undefined ? { kind: "list", request } : { kind: "list", request, shows };
const internal = (why: string): RpcCase => ({ kind: "internal", why });
const onlyTenant: MakeRequest = (tenantId) => ({ tenantId });
const endpoint: MakeRequest = (tenantId, own) => ({ tenantId, endpointId: own.endpoint });
const draft: MakeRequest = (tenantId, own) => ({ tenantId, mode: 1, campaignId: own.draft });

const CARRIERS = "carriers serve all tenants; the gateway never calls it";
const OPERATORS = "operators look after all tenants; the gateway never calls it";
const OWN_NAMES = "reservation ids are made by messaging; no tenant can name one";
const OWN_SESSION = "the gateway names the session of the cookie; test/e2e/console tries others";
const OWN_SETTINGS = "it changes settings of the tenant it names, which the gateway authenticated";
const MAKES = "it makes something new for the tenant it names, and reads nothing";

/** By `Service/Method`, in call order: methods that end a resource come after those that read it. */
export const RPC_CASES: Readonly<Record<string, RpcCase>> = {
  "MessagingService/SendMessages": internal(MAKES),
  "MessagingService/SendMany": internal(MAKES),
  "MessagingService/SendEach": internal(MAKES),
  "MessagingService/EstimateSend": internal("it prices what its caller names, and stores nothing"),
  "MessagingService/LookupSend": thing((tenantId, own) => ({
    tenantId,
    endpoint: 1,
    idempotencyKey: own.key,
    fingerprint: new Uint8Array(32).fill(9),
  })),
  "MessagingService/GetMessage": thing((tenantId, own) => ({ tenantId, messageId: own.message })),
  "MessagingService/GetUsage": list("campaign", (tenantId) => ({
    ...{ tenantId, mode: 1, groupBy: [6] },
    fromMs: BigInt(Math.floor(Date.now() / 900_000) * 900_000 - 900_000),
    toMs: BigInt(Math.ceil((Date.now() + 1) / 900_000) * 900_000),
  })),
  "MessagingService/ListMessages": list("message", (tenantId) => ({
    tenantId,
    mode: 1,
    limit: 50,
  })),
  "MessagingService/FindMessages": internal(OPERATORS),
  "MessagingService/CancelMessage": thing((tenantId, own) => ({
    tenantId,
    mode: 1,
    messageId: own.scheduled,
  })),
  "MessagingService/CancelCampaign": thing((tenantId, own) => ({
    tenantId,
    campaignId: own.campaign,
  })),
  "MessagingService/ClaimMessages": internal(CARRIERS),
  "MessagingService/ClaimMany": internal(CARRIERS),
  "MessagingService/ListWaitingConnectors": internal(CARRIERS),
  "MessagingService/ReportOutcomes": internal(CARRIERS),
  "MessagingService/RecordReceipts": internal(CARRIERS),
  "MessagingService/RenewClaims": internal(CARRIERS),
  "MessagingService/RecoverClaims": internal(CARRIERS),
  "MessagingService/ResolveReservations": internal(OWN_NAMES),
  "MessagingService/StreamCharges": list("message", onlyTenant),
  "MessagingService/CheckMessages": list(undefined, onlyTenant),
  "MessagingService/GetQueueStats": internal(OPERATORS),
  "MessagingService/ListAuditRecords": list(undefined, onlyTenant),

  "CampaignService/CreateCampaign": internal(MAKES),
  "CampaignService/GetCampaign": thing(draft),
  "CampaignService/ListCampaigns": list("draft", (tenantId) => ({ tenantId, limit: 50 })),
  "CampaignService/UpdateCampaign": thing((tenantId, own) => ({
    ...draft(tenantId, own),
    content: { name: "changed" },
    fields: ["name"],
  })),
  "CampaignService/AddRecipients": thing((tenantId, own) => ({
    ...draft(tenantId, own),
    rows: [{ to: "+2348031112224" }],
  })),
  "CampaignService/ListRecipients": thing(draft),
  "CampaignService/EstimateCampaign": thing(draft),
  "CampaignService/PreviewCampaign": thing(draft),
  "CampaignService/SendCampaignTest": thing((tenantId, own) => ({
    ...draft(tenantId, own),
    to: ["+2348031112224"],
  })),
  "CampaignService/ClearRecipients": thing(draft),
  "CampaignService/StartCampaign": thing(draft),
  "CampaignService/PauseCampaign": thing(draft),
  "CampaignService/ResumeCampaign": thing(draft),
  "CampaignService/DeleteCampaign": thing((tenantId, own) => ({
    ...{ tenantId, mode: 1 },
    campaignId: own.doomedDraft,
  })),
  "CampaignService/CancelOpenCampaign": thing(draft),
  "CampaignService/CheckCampaigns": list(undefined, onlyTenant),
  "CampaignService/FindRecipients": thing((tenantId, own) => ({
    ...draft(tenantId, own),
    numbers: ["+2348030000001"],
  })),
  "CampaignService/ListDeadLetters": internal(OPERATORS),
  "CampaignService/ReplayDeadLetters": internal(OPERATORS),
  "CampaignService/ListAuditRecords": list("draft", onlyTenant),

  "ConsentService/RecordInbound": internal(CARRIERS),
  "ConsentService/ConfirmInbound": internal(CARRIERS),
  "ConsentService/GetSuppressionTable": list(undefined, onlyTenant),
  "ConsentService/CheckSuppressions": list(undefined, (tenantId) => ({
    tenantId,
    numbers: ["+2348031112226"],
  })),
  "ConsentService/ListInboundMessages": list("inbound", (tenantId) => ({ tenantId, limit: 50 })),
  "ConsentService/GetInboundMessage": thing((tenantId, own) => ({ tenantId, id: own.inbound })),
  "ConsentService/ListSuppressions": list(undefined, (tenantId) => ({ tenantId, limit: 50 })),
  "ConsentService/AddSuppressions": internal(MAKES),
  "ConsentService/RemoveSuppression": thing((tenantId) => ({
    tenantId,
    number: "+2348031112226",
  })),
  "ConsentService/CreateInboundNumber": internal(OPERATORS),
  "ConsentService/ListInboundNumbers": list(undefined, onlyTenant),
  "ConsentService/RemoveInboundNumber": thing((tenantId, own) => ({
    tenantId,
    id: own.inboundNumber,
  })),
  "ConsentService/SetKeywords": internal(OPERATORS),
  "ConsentService/GetKeywords": list(undefined, onlyTenant),
  "ConsentService/CheckInbound": list(undefined, onlyTenant),
  "ConsentService/ListAuditRecords": list(undefined, onlyTenant),

  "WalletService/CreateWallet": internal(MAKES),
  "WalletService/GetWallet": list(undefined, onlyTenant),
  "WalletService/PlaceHold": internal(OWN_NAMES),
  "WalletService/PlaceHolds": internal(OWN_NAMES),
  "WalletService/SettleMessages": internal(OWN_NAMES),
  "WalletService/GetReservation": thing((tenantId, own) => ({
    tenantId,
    reservationId: own.reservation,
  })),
  "WalletService/ReleaseReservation": thing((tenantId, own) => ({
    tenantId,
    reservationId: own.reservation,
  })),
  "WalletService/FundWallet": internal(MAKES),
  "WalletService/RequestFunding": internal(OPERATORS),
  "WalletService/DecideFunding": internal(OPERATORS),
  "WalletService/ListFundings": internal(OPERATORS),
  "WalletService/AdjustWallet": internal(MAKES),
  "WalletService/UpdateWallet": internal(MAKES),
  "WalletService/SetLowBalanceThreshold": internal(OWN_SETTINGS),
  "WalletService/ListEntries": list("reservation", (tenantId) => ({ tenantId, limit: 50 })),
  "WalletService/ListAuditEntries": list(undefined, (tenantId) => ({ tenantId, limit: 50 })),
  "WalletService/CheckWallets": list(undefined, onlyTenant),
  "WalletService/StreamSettlements": list("message", onlyTenant),
  "WalletService/StreamReservations": internal(OPERATORS),
  "WalletService/ListDeadLetters": internal(OPERATORS),
  "WalletService/ReplayDeadLetters": internal(OPERATORS),
  "WalletService/ListAuditRecords": list(undefined, onlyTenant),

  "SenderIdService/CreateSenderId": internal(MAKES),
  "SenderIdService/RequestSenderId": internal(MAKES),
  "SenderIdService/ListAllSenderIds": internal(OPERATORS),
  "SenderIdService/ListSenderIds": list("senderId", (tenantId) => ({ tenantId, limit: 50 })),
  "SenderIdService/ResolveSenderId": thing((tenantId, own) => ({ tenantId, name: own.senderName })),
  "SenderIdService/ResolveSenderIds": list("senderId", (tenantId, own) => ({
    requests: [{ tenantId, name: own.senderName }],
  })),
  "SenderIdService/ReviewSenderId": thing((tenantId, own) => ({
    tenantId,
    idOrName: own.senderId,
    review: 1,
  })),
  "SenderIdService/ListAuditRecords": list("senderId", onlyTenant),

  "TenantService/RequestSignIn": internal("anybody may ask for a link to their own address"),
  "TenantService/CreatePortalLink": internal(OPERATORS),
  "TenantService/OpenSession": internal("the link names the tenant"),
  "TenantService/CreateOperatorLink": internal(OPERATORS),
  "TenantService/OpenOperatorSession": internal(OPERATORS),
  "TenantService/AuthenticateOperator": internal(OPERATORS),
  "TenantService/ListOperatorSessions": internal(OPERATORS),
  "TenantService/EndOperatorSession": internal(OPERATORS),
  "TenantService/ListOperators": internal(OPERATORS),
  "TenantService/RecordCheck": internal(OPERATORS),
  "TenantService/ListChecks": internal(OPERATORS),
  "TenantService/RemoveOperator": internal(OPERATORS),
  "TenantService/AuthenticateSessions": internal("the session names the tenant"),
  "TenantService/SwitchTenant": internal(OWN_SESSION),
  "TenantService/ListMemberships": internal(OWN_SESSION),
  "TenantService/ListSessions": internal(OWN_SESSION),
  "TenantService/EndSession": internal(OWN_SESSION),
  "TenantService/GetSecondFactor": internal(OWN_SESSION),
  "TenantService/BeginSecondFactor": internal(OWN_SESSION),
  "TenantService/EnableSecondFactor": internal(OWN_SESSION),
  "TenantService/DisableSecondFactor": internal(OWN_SESSION),
  "TenantService/GetSignInMethods": internal("it says how people sign in to the installation"),
  "TenantService/BeginOidcSignIn": internal("any person may begin to sign in"),
  "TenantService/CompleteOidcSignIn": internal("the provider names the person"),
  "TenantService/GetOperatorSignInMethods": internal(OPERATORS),
  "TenantService/BeginOperatorOidcSignIn": internal(OPERATORS),
  "TenantService/CompleteOperatorOidcSignIn": internal(OPERATORS),
  "TenantService/InvitePerson": internal(MAKES),
  "TenantService/ListPeople": list("person", onlyTenant),
  "TenantService/ChangeRole": thing((tenantId, own) => ({
    tenantId,
    personId: own.person,
    role: 5,
  })),
  "TenantService/ResetSecondFactor": thing((tenantId, own) => ({
    tenantId,
    personId: own.person,
  })),
  "TenantService/RemovePerson": thing((tenantId, own) => ({ tenantId, personId: own.person })),

  "TenantService/CreateTenant": internal(OPERATORS),
  "TenantService/GetTenant": internal(OPERATORS),
  "TenantService/GetTenants": internal(OPERATORS),
  "TenantService/ListTenants": internal(OPERATORS),
  "TenantService/UpdateTenant": internal(OPERATORS),
  "TenantService/UpdateAccount": internal(OWN_SETTINGS),
  "TenantService/CreateApiKey": internal(MAKES),
  "TenantService/IssueApiKey": thing((tenantId, own) => ({
    ...{ tenantId, makerKeyId: own.makerKey, mode: 1 },
    scopes: ["balance:read"],
  })),
  "TenantService/GetApiKey": thing((tenantId, own) => ({ tenantId, keyId: own.apiKey })),
  "TenantService/ListApiKeys": list("apiKey", (tenantId) => ({ tenantId, limit: 50 })),
  "TenantService/RevokeApiKey": thing((tenantId, own) => ({ tenantId, keyId: own.apiKey })),
  "TenantService/Authenticate": internal("who has the key is the tenant"),
  "TenantService/AuthenticateMany": internal("who has the key is the tenant"),
  "TenantService/ListAuditRecords": list("apiKey", onlyTenant),

  "RoutingService/CreateConnector": internal(OPERATORS),
  "RoutingService/UpdateConnector": internal(OPERATORS),
  "RoutingService/ListConnectors": internal(OPERATORS),
  "RoutingService/RemoveConnector": internal(OPERATORS),
  "RoutingService/GetConnectorSettings": internal(CARRIERS),
  "RoutingService/CreateRoute": internal(OPERATORS),
  "RoutingService/UpdateRoute": internal(OPERATORS),
  "RoutingService/RemoveRoute": internal(OPERATORS),
  "RoutingService/ListRoutes": internal(OPERATORS),
  "RoutingService/ImportPrices": internal(OPERATORS),
  "RoutingService/GetRouteTable": internal("messaging prices every tenant's messages by it"),
  "RoutingService/Explain": internal(OPERATORS),
  "RoutingService/ListQuietHours": internal(OPERATORS),
  "RoutingService/SetQuietHours": internal(OPERATORS),
  "RoutingService/RemoveQuietHours": internal(OPERATORS),
  "RoutingService/ReportConnectorHealth": internal(CARRIERS),
  "RoutingService/ListAuditRecords": list(undefined, onlyTenant),

  "WebhookService/CreateEndpoint": internal(MAKES),
  "WebhookService/GetEndpoint": thing(endpoint),
  "WebhookService/ListEndpoints": list("endpoint", onlyTenant),
  "WebhookService/UpdateEndpoint": thing((tenantId, own) => ({
    ...endpoint(tenantId, own),
    description: "changed",
  })),
  "WebhookService/RotateSecret": thing(endpoint),
  "WebhookService/ListDeliveries": thing((tenantId, own) => ({
    ...endpoint(tenantId, own),
    limit: 50,
  })),
  "WebhookService/GetDelivery": thing((tenantId, own) => ({
    ...endpoint(tenantId, own),
    deliveryId: own.delivery,
  })),
  "WebhookService/ListMessageDeliveries": list("endpoint", (tenantId, own) => ({
    ...{ tenantId, messageId: own.message },
  })),
  "WebhookService/ReadEvents": list(undefined, onlyTenant),
  "WebhookService/ResendDelivery": thing((tenantId, own) => ({
    ...endpoint(tenantId, own),
    deliveryId: own.delivery,
  })),
  "WebhookService/RecoverDeliveries": thing((tenantId, own) => ({
    ...endpoint(tenantId, own),
    sinceMs: BigInt(Date.now() - 60_000),
  })),
  "WebhookService/SendTestEvent": thing(endpoint),
  "WebhookService/CheckKey": thing((tenantId, own) => ({
    tenantId,
    operation: KeyedOperation.CREATE_ENDPOINT,
    idempotencyKey: own.key,
    fingerprint: new Uint8Array(32).fill(8),
  })),
  "WebhookService/DeleteEndpoint": thing((tenantId, own) => ({ tenantId, endpointId: own.doomed })),
  "WebhookService/ListDeadLetters": internal(OPERATORS),
  "WebhookService/ReplayDeadLetters": internal(OPERATORS),
  "WebhookService/ListAuditRecords": list("endpoint", onlyTenant),
};
