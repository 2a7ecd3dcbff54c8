/**
 * The methods that each caller uses, by RPC interface. Servers permit exactly these where `RPC_CALLERS` lists them,
 * as in the chart, in compose.yaml and in the development stack. A client of a service or of `smsctl` fails on any
 * other method, so no test passes with a method that is missing here.
 */
type MethodsByInterface = Readonly<Record<string, readonly string[]>>;

/** Callers that are no service: `smsctl` and the pod of `helm test`. */
export const OPERATOR = "operator";
export const SMOKE_TEST = "test";

export const CALLER_METHODS: Readonly<Record<string, MethodsByInterface>> = {
  gateway: {
    "sms.v1.TenantService": [
      "AuthenticateMany",
      ...["RequestSignIn", "OpenSession", "AuthenticateSessions", "SwitchTenant"],
      ...["ListMemberships", "ListSessions", "EndSession"],
      ...["ListPeople", "InvitePerson", "ChangeRole", "RemovePerson"],
      ...["GetSecondFactor", "BeginSecondFactor", "EnableSecondFactor", "DisableSecondFactor"],
      ...["ResetSecondFactor", "GetSignInMethods", "BeginOidcSignIn", "CompleteOidcSignIn"],
      ...["IssueApiKey", "GetApiKey", "ListApiKeys", "RevokeApiKey"],
      ...["GetTenants", "UpdateAccount", "ListAuditRecords"],
    ],
    "sms.v1.SenderIdService": ["ListSenderIds", "RequestSenderId", "ListAuditRecords"],
    "sms.v1.WalletService": [
      ...["GetWallet", "ListEntries", "SetLowBalanceThreshold", "ListAuditRecords"],
    ],
    "sms.v1.MessagingService": [
      ...["SendMany", "SendEach", "LookupSend", "GetMessage", "ListMessages"],
      ...["CancelMessage", "GetUsage", "EstimateSend", "ListAuditRecords"],
    ],
    "sms.v1.WebhookService": [
      ...["CreateEndpoint", "GetEndpoint", "ListEndpoints", "UpdateEndpoint", "DeleteEndpoint"],
      ...["RotateSecret", "ListDeliveries", "GetDelivery", "ResendDelivery", "RecoverDeliveries"],
      ...["SendTestEvent", "CheckKey", "ListMessageDeliveries", "ReadEvents", "ListAuditRecords"],
    ],
    "sms.v1.CampaignService": [
      ...["CreateCampaign", "UpdateCampaign", "DeleteCampaign", "GetCampaign", "ListCampaigns"],
      ...["AddRecipients", "ListRecipients", "ClearRecipients", "EstimateCampaign"],
      ...["PreviewCampaign", "SendCampaignTest", "StartCampaign", "PauseCampaign"],
      ...["ResumeCampaign", "CancelOpenCampaign", "ListAuditRecords"],
    ],
    "sms.v1.ConsentService": [
      ...["ListInboundMessages", "GetInboundMessage"],
      ...["ListSuppressions", "AddSuppressions", "RemoveSuppression", "ListAuditRecords"],
    ],
  },
  messaging: {
    "sms.v1.TenantService": ["GetTenants"],
    "sms.v1.SenderIdService": ["ResolveSenderIds"],
    "sms.v1.WalletService": ["PlaceHolds", "ReleaseReservation"],
    "sms.v1.RoutingService": ["GetRouteTable"],
    "sms.v1.ConsentService": ["GetSuppressionTable", "CheckSuppressions"],
  },
  wallet: { "sms.v1.MessagingService": ["ResolveReservations"] },
  "sender-id": { "sms.v1.TenantService": ["GetTenant"] },
  carrier: {
    "sms.v1.MessagingService": [
      ...["ClaimMany", "ListWaitingConnectors", "ReportOutcomes", "RecordReceipts"],
      ...["RenewClaims", "RecoverClaims"],
    ],
    "sms.v1.RoutingService": ["ListConnectors", "GetConnectorSettings", "ReportConnectorHealth"],
    "sms.v1.ConsentService": ["RecordInbound", "ConfirmInbound"],
  },
  consent: { "sms.v1.MessagingService": ["SendMessages"] },
  campaign: {
    "sms.v1.TenantService": ["GetTenant"],
    "sms.v1.WalletService": ["GetWallet"],
    "sms.v1.MessagingService": ["SendMessages", "LookupSend", "EstimateSend", "CancelCampaign"],
  },
  "operator-console": {
    "sms.v1.TenantService": [
      ...["OpenOperatorSession", "AuthenticateOperator", "ListOperatorSessions"],
      ...["GetOperatorSignInMethods", "BeginOperatorOidcSignIn", "CompleteOperatorOidcSignIn"],
      ...["EndOperatorSession", "GetTenant", "GetTenants", "ListTenants", "UpdateTenant"],
      ...["ListApiKeys", "RevokeApiKey", "ListPeople", "RemovePerson", "ListOperators"],
      ...["ListChecks", "ListAuditRecords"],
    ],
    "sms.v1.SenderIdService": [
      ...["ListSenderIds", "ListAllSenderIds", "ReviewSenderId", "ListAuditRecords"],
    ],
    "sms.v1.WalletService": [
      ...["GetWallet", "ListEntries", "RequestFunding", "DecideFunding", "ListFundings"],
      ...["ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    ],
    "sms.v1.RoutingService": [
      ...["ListConnectors", "UpdateConnector", "ListRoutes", "UpdateRoute", "Explain"],
      ...["ListQuietHours", "ListAuditRecords"],
    ],
    "sms.v1.MessagingService": ["FindMessages", "GetQueueStats", "ListAuditRecords"],
    "sms.v1.WebhookService": [
      ...["ListMessageDeliveries", "ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    ],
    "sms.v1.CampaignService": ["ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    "sms.v1.ConsentService": ["ListInboundMessages", "ListSuppressions", "ListAuditRecords"],
    "sms.v1.Carrier": ["ListUnmatchedReceipts"],
  },
  [OPERATOR]: {
    "sms.v1.TenantService": [
      ...["CreateTenant", "GetTenant", "ListTenants", "UpdateTenant"],
      ...["CreateApiKey", "ListApiKeys", "RevokeApiKey", "ListAuditRecords"],
      ...["CreatePortalLink", "ListPeople", "InvitePerson", "RemovePerson", "ResetSecondFactor"],
      ...["CreateOperatorLink", "ListOperators", "RemoveOperator", "RecordCheck"],
    ],
    "sms.v1.SenderIdService": [
      ...["CreateSenderId", "ListSenderIds", "ReviewSenderId", "ListAuditRecords"],
    ],
    "sms.v1.WalletService": [
      ...["CreateWallet", "GetWallet", "GetReservation", "FundWallet", "AdjustWallet"],
      ...["UpdateWallet", "ListEntries", "ListAuditEntries", "CheckWallets", "StreamSettlements"],
      ...["StreamReservations", "ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    ],
    "sms.v1.RoutingService": [
      ...["CreateConnector", "UpdateConnector", "ListConnectors", "RemoveConnector"],
      ...["CreateRoute", "UpdateRoute", "RemoveRoute", "ListRoutes", "ImportPrices", "Explain"],
      ...["ListQuietHours", "SetQuietHours", "RemoveQuietHours", "ListAuditRecords"],
    ],
    "sms.v1.MessagingService": [
      ...["GetMessage", "ListMessages", "CancelMessage", "CancelCampaign", "StreamCharges"],
      ...["CheckMessages", "GetQueueStats", "SendMessages", "ListAuditRecords", "FindMessages"],
    ],
    "sms.v1.WebhookService": [
      ...["CreateEndpoint", "GetEndpoint", "ListEndpoints", "UpdateEndpoint", "DeleteEndpoint"],
      ...["RotateSecret", "ListDeliveries", "ResendDelivery", "RecoverDeliveries"],
      ...["SendTestEvent", "ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    ],
    "sms.v1.CampaignService": [
      ...["GetCampaign", "ListCampaigns", "ListRecipients", "FindRecipients", "PauseCampaign"],
      ...["ResumeCampaign", "CancelOpenCampaign", "CheckCampaigns"],
      ...["ListDeadLetters", "ReplayDeadLetters", "ListAuditRecords"],
    ],
    "sms.v1.ConsentService": [
      ...["ListInboundMessages", "GetInboundMessage", "ListSuppressions", "AddSuppressions"],
      ...["RemoveSuppression", "CreateInboundNumber", "ListInboundNumbers"],
      ...["RemoveInboundNumber", "SetKeywords", "GetKeywords", "ListAuditRecords"],
      "CheckInbound",
    ],
    // Pages of the ops port.
    "sms.v1.Carrier": ["ListUnmatchedReceipts", "ListInboundUrls"],
  },
  [SMOKE_TEST]: {
    "sms.v1.TenantService": ["CreateTenant", "GetTenant", "CreateApiKey", "RevokeApiKey"],
    "sms.v1.SenderIdService": ["CreateSenderId"],
    "sms.v1.WebhookService": [
      ...["CreateEndpoint", "ListEndpoints", "DeleteEndpoint", "ListDeliveries"],
    ],
  },
};

/** The methods of these callers together (`sms.v1.WalletService/GetWallet`), of one interface or of all. */
export function methodsOf(callers: readonly string[], typeName?: string): string[] {
  const names = callers.flatMap((caller) =>
    Object.entries(CALLER_METHODS[caller] ?? {})
      .filter(([name]) => typeName === undefined || name === typeName)
      .flatMap(([name, methods]) => methods.map((method) => `${name}/${method}`)),
  );
  return [...new Set(names)].sort();
}
