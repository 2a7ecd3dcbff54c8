/**
 * Which role may call which RPC through the console. Every method of every service has a row: it is permitted to
 * roles, or refused with the reason. The process does not start without a row, and `caller-methods.ts` permits this
 * process exactly the methods that some role may call.
 */
import type { OperatorRole } from "../../shared/core/operator-roles.ts";

/** Permits a method to roles, or refuses it with the reason. */
export type Rule =
  | {
      readonly roles: readonly OperatorRole[];
      /** For a method whose request lists the changed fields in `fields`: the fields that it may list. */
      readonly onlyFields?: readonly string[];
    }
  | { readonly refused: string };

const READ: Rule = { roles: ["support", "operator", "finance", "admin"] };
const CHANGE: Rule = { roles: ["operator", "admin"] };
const FUND: Rule = { roles: ["finance", "admin"] };
const changeOnly = (...onlyFields: string[]): Rule => ({
  roles: ["operator", "admin"],
  onlyFields,
});

const COMMAND_LINE: Rule = { refused: "smsctl does it; no page needs it" };
const CUSTOMERS: Rule = { refused: "customers do it, through the gateway" };
const SERVICES: Rule = { refused: "services call each other with it" };
const CHECKS: Rule = { refused: "smsctl check streams it" };
const SIGN_IN: Rule = {
  refused: "the console calls it itself, to sign in or for the session of the cookie",
};
const AS_TENANT: Rule = { refused: "it would sign an operator in as a tenant" };
const ALONE: Rule = { refused: "one person alone could fund any amount; RequestFunding does it" };

/** The rows by interface and method. */
export const ROLE_TABLE: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  "sms.v1.TenantService": {
    CreateTenant: COMMAND_LINE,
    GetTenant: READ,
    GetTenants: READ,
    ListTenants: READ,
    UpdateTenant: CHANGE,
    UpdateAccount: CUSTOMERS,
    CreateApiKey: COMMAND_LINE,
    IssueApiKey: CUSTOMERS,
    GetApiKey: CUSTOMERS,
    ListApiKeys: READ,
    RevokeApiKey: CHANGE,
    Authenticate: SERVICES,
    AuthenticateMany: SERVICES,
    RequestSignIn: CUSTOMERS,
    CreatePortalLink: AS_TENANT,
    OpenSession: AS_TENANT,
    AuthenticateSessions: SERVICES,
    SwitchTenant: AS_TENANT,
    ListMemberships: CUSTOMERS,
    ListSessions: CUSTOMERS,
    EndSession: CUSTOMERS,
    ListPeople: READ,
    InvitePerson: COMMAND_LINE,
    ChangeRole: CUSTOMERS,
    RemovePerson: CHANGE,
    GetSecondFactor: CUSTOMERS,
    BeginSecondFactor: CUSTOMERS,
    EnableSecondFactor: CUSTOMERS,
    DisableSecondFactor: CUSTOMERS,
    ResetSecondFactor: COMMAND_LINE,
    GetSignInMethods: CUSTOMERS,
    BeginOidcSignIn: CUSTOMERS,
    CompleteOidcSignIn: AS_TENANT,
    CreateOperatorLink: { refused: "a session could give itself another role; smsctl does it" },
    GetOperatorSignInMethods: SIGN_IN,
    BeginOperatorOidcSignIn: SIGN_IN,
    CompleteOperatorOidcSignIn: SIGN_IN,
    OpenOperatorSession: SIGN_IN,
    AuthenticateOperator: SIGN_IN,
    ListOperatorSessions: SIGN_IN,
    EndOperatorSession: SIGN_IN,
    ListOperators: READ,
    RecordCheck: COMMAND_LINE,
    ListChecks: READ,
    RemoveOperator: COMMAND_LINE,
    ListAuditRecords: READ,
  },
  "sms.v1.SenderIdService": {
    CreateSenderId: COMMAND_LINE,
    RequestSenderId: CUSTOMERS,
    ListSenderIds: READ,
    ListAllSenderIds: READ,
    ResolveSenderId: SERVICES,
    ResolveSenderIds: SERVICES,
    ReviewSenderId: CHANGE,
    ListAuditRecords: READ,
  },
  "sms.v1.WalletService": {
    CreateWallet: COMMAND_LINE,
    GetWallet: READ,
    PlaceHold: SERVICES,
    PlaceHolds: SERVICES,
    SettleMessages: SERVICES,
    ReleaseReservation: SERVICES,
    GetReservation: COMMAND_LINE,
    FundWallet: ALONE,
    RequestFunding: FUND,
    DecideFunding: FUND,
    ListFundings: READ,
    AdjustWallet: ALONE,
    UpdateWallet: COMMAND_LINE,
    SetLowBalanceThreshold: CUSTOMERS,
    ListEntries: READ,
    ListAuditEntries: COMMAND_LINE,
    CheckWallets: CHECKS,
    StreamSettlements: CHECKS,
    StreamReservations: CHECKS,
    ListDeadLetters: READ,
    ReplayDeadLetters: CHANGE,
    ListAuditRecords: READ,
  },
  "sms.v1.RoutingService": {
    CreateConnector: COMMAND_LINE,
    UpdateConnector: changeOnly("state", "rate_per_second"),
    ListConnectors: READ,
    RemoveConnector: COMMAND_LINE,
    GetConnectorSettings: SERVICES,
    CreateRoute: COMMAND_LINE,
    UpdateRoute: changeOnly("enabled", "priority", "weight"),
    RemoveRoute: COMMAND_LINE,
    ListRoutes: READ,
    ImportPrices: COMMAND_LINE,
    GetRouteTable: SERVICES,
    ListQuietHours: READ,
    SetQuietHours: COMMAND_LINE,
    RemoveQuietHours: COMMAND_LINE,
    Explain: READ,
    ReportConnectorHealth: SERVICES,
    ListAuditRecords: READ,
  },
  "sms.v1.MessagingService": {
    SendMessages: CUSTOMERS,
    SendMany: CUSTOMERS,
    SendEach: CUSTOMERS,
    EstimateSend: CUSTOMERS,
    LookupSend: CUSTOMERS,
    GetUsage: CUSTOMERS,
    GetMessage: { refused: "FindMessages reads it, and leaves an entry in the audit trail" },
    ListMessages: { refused: "FindMessages reads it, and leaves an entry in the audit trail" },
    CancelMessage: COMMAND_LINE,
    CancelCampaign: COMMAND_LINE,
    ClaimMessages: SERVICES,
    ClaimMany: SERVICES,
    ListWaitingConnectors: SERVICES,
    ReportOutcomes: SERVICES,
    RecordReceipts: SERVICES,
    RenewClaims: SERVICES,
    RecoverClaims: SERVICES,
    ResolveReservations: SERVICES,
    StreamCharges: CHECKS,
    CheckMessages: CHECKS,
    FindMessages: READ,
    GetQueueStats: READ,
    ListAuditRecords: READ,
  },
  "sms.v1.WebhookService": {
    CreateEndpoint: CUSTOMERS,
    GetEndpoint: CUSTOMERS,
    ListEndpoints: CUSTOMERS,
    UpdateEndpoint: CUSTOMERS,
    DeleteEndpoint: CUSTOMERS,
    RotateSecret: CUSTOMERS,
    ListDeliveries: CUSTOMERS,
    GetDelivery: CUSTOMERS,
    ListMessageDeliveries: READ,
    ReadEvents: CUSTOMERS,
    ResendDelivery: CUSTOMERS,
    RecoverDeliveries: CUSTOMERS,
    SendTestEvent: CUSTOMERS,
    CheckKey: CUSTOMERS,
    ListDeadLetters: READ,
    ReplayDeadLetters: CHANGE,
    ListAuditRecords: READ,
  },
  "sms.v1.CampaignService": {
    CreateCampaign: CUSTOMERS,
    UpdateCampaign: CUSTOMERS,
    DeleteCampaign: CUSTOMERS,
    GetCampaign: CUSTOMERS,
    ListCampaigns: CUSTOMERS,
    AddRecipients: CUSTOMERS,
    ListRecipients: CUSTOMERS,
    ClearRecipients: CUSTOMERS,
    EstimateCampaign: CUSTOMERS,
    PreviewCampaign: CUSTOMERS,
    SendCampaignTest: CUSTOMERS,
    StartCampaign: CUSTOMERS,
    PauseCampaign: CUSTOMERS,
    ResumeCampaign: CUSTOMERS,
    CancelOpenCampaign: CUSTOMERS,
    CheckCampaigns: CHECKS,
    FindRecipients: CHECKS,
    ListDeadLetters: READ,
    ReplayDeadLetters: CHANGE,
    ListAuditRecords: READ,
  },
  "sms.v1.ConsentService": {
    RecordInbound: SERVICES,
    ConfirmInbound: SERVICES,
    GetSuppressionTable: SERVICES,
    CheckSuppressions: SERVICES,
    ListInboundMessages: READ,
    GetInboundMessage: CUSTOMERS,
    ListSuppressions: READ,
    AddSuppressions: CUSTOMERS,
    RemoveSuppression: CUSTOMERS,
    CreateInboundNumber: COMMAND_LINE,
    ListInboundNumbers: COMMAND_LINE,
    RemoveInboundNumber: COMMAND_LINE,
    SetKeywords: COMMAND_LINE,
    GetKeywords: COMMAND_LINE,
    CheckInbound: CHECKS,
    ListAuditRecords: READ,
  },
};

/** Whether a role may call a method, `sms.v1.WalletService/GetWallet`. */
export function mayCall(role: OperatorRole, method: string): boolean {
  const rule = ruleOf(method);
  return rule !== undefined && "roles" in rule && rule.roles.includes(role);
}

/** The row of a method; undefined when there is none. */
export function ruleOf(method: string): Rule | undefined {
  const [typeName = "", name = ""] = method.split("/");
  const rows = Object.hasOwn(ROLE_TABLE, typeName) ? ROLE_TABLE[typeName] : undefined;
  return rows !== undefined && Object.hasOwn(rows, name) ? rows[name] : undefined;
}

/** All methods that some role may call. */
export function permittedMethods(): string[] {
  return Object.entries(ROLE_TABLE).flatMap(([typeName, rows]) =>
    Object.entries(rows)
      .filter(([, rule]) => "roles" in rule)
      .map(([name]) => `${typeName}/${name}`),
  );
}
