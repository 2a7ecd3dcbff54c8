/** The calls of the console, by subject. */
import { call, data, download } from "./http.ts";
import type {
  Account,
  ApiKey,
  AuditEntry,
  Balance,
  Campaign,
  CampaignEstimate,
  CampaignImport,
  CampaignPreview,
  CampaignRecipient,
  Delivery,
  DeliveryWithBody,
  Endpoint,
  InboundMessage,
  ListedSession,
  Message,
  MessagePreview,
  One,
  OwnSession,
  Page,
  Person,
  RoleName,
  SecondFactor,
  SecondFactorSecret,
  SenderId,
  SendResult,
  SignInMethods,
  Suppression,
  SuppressionImport,
  TimelineEntry,
  Usage,
  WalletEntry,
} from "./types.ts";

const OWN = "/console/api";

export const session = {
  ask: (email: string) => call("POST", `${OWN}/sign-in`, { body: { email } }),
  methods: () => data(call<One<SignInMethods>>("GET", `${OWN}/sign-in`)),
  beginOidc: () => data(call<One<{ readonly url: string }>>("POST", `${OWN}/oidc`)),
  /** Answers a `second_factor_request` when a code is needed too. */
  open: (token: string, code: string) =>
    data(
      call<One<{ readonly object: string }>>("POST", `${OWN}/session`, {
        body: code === "" ? { token } : { token, code },
      }),
    ),
  own: (signal?: AbortSignal) =>
    data(call<One<OwnSession>>("GET", `${OWN}/session`, signal === undefined ? {} : { signal })),
  end: () => call("DELETE", `${OWN}/session`),
  switchTenant: (tenant_id: string) =>
    call("POST", `${OWN}/session/tenant`, { body: { tenant_id } }),
  list: () => data(call<One<ListedSession[]>>("GET", `${OWN}/sessions`)),
  endOther: (id: string) => call("DELETE", `${OWN}/sessions/${id}`),
};

export const secondFactor = {
  get: () => data(call<One<SecondFactor>>("GET", `${OWN}/second-factor`)),
  begin: () => data(call<One<SecondFactorSecret>>("POST", `${OWN}/second-factor`)),
  enable: (code: string) =>
    data(
      call<One<{ readonly codes: readonly string[] }>>("POST", `${OWN}/second-factor/enable`, {
        body: { code },
      }),
    ),
  disable: (code: string) => call("POST", `${OWN}/second-factor/disable`, { body: { code } }),
  reset: (personId: string) => call("DELETE", `${OWN}/people/${personId}/second-factor`),
};

export const people = {
  list: () => data(call<One<Person[]>>("GET", `${OWN}/people`)),
  invite: (email: string, role: RoleName) =>
    data(call<One<Person>>("POST", `${OWN}/people`, { body: { email, role } })),
  changeRole: (id: string, role: RoleName) =>
    call("PATCH", `${OWN}/people/${id}`, { body: { role } }),
  remove: (id: string) => call("DELETE", `${OWN}/people/${id}`),
};

export type MessageFilter = {
  readonly to?: string | undefined;
  readonly status?: string | readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly client_reference?: string | undefined;
  readonly campaign_id?: string | undefined;
  readonly source?: string | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
};

/** The statuses of messages that did not arrive. */
export const NOT_DELIVERED = ["undelivered", "expired", "rejected", "failed"] as const;

export const messages = {
  list: (filter: MessageFilter, cursor?: string, limit = 50) =>
    call<Page<Message>>("GET", "/v1/messages", { query: { ...filter, cursor, limit } }),
  get: (id: string) => data(call<One<Message>>("GET", `/v1/messages/${encodeURIComponent(id)}`)),
  timeline: (id: string) =>
    data(
      call<One<{ readonly entries: readonly TimelineEntry[] }>>(
        "GET",
        `/v1/messages/${encodeURIComponent(id)}/timeline`,
      ),
    ),
  cancel: (key: string, id: string) => call("POST", `/v1/messages/${id}/cancel`, { key }),
  preview: (body: { from: string; to: string; body: string }) =>
    data(call<One<MessagePreview>>("POST", "/v1/sms/messages/preview", { body })),
  send: (key: string, body: { to: string[]; from: string; body: string; send_at?: string }) =>
    data(call<One<SendResult>>("POST", "/v1/sms/messages/bulk", { key, body })),
};

export const wallet = {
  balance: () => data(call<One<Balance>>("GET", "/v1/balance")),
  entries: (query: WalletFilter, cursor?: string) =>
    call<Page<WalletEntry>>("GET", "/v1/wallet/entries", {
      query: { ...query, cursor, limit: 50 },
    }),
  entriesFile: (query: WalletFilter) => download("/v1/wallet/entries", { query }),
};

export type WalletFilter = {
  readonly kind?: string | undefined;
  readonly campaign_id?: string | undefined;
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
};

export const usage = {
  get: (query: {
    group_by?: string;
    created_after?: string;
    created_before?: string;
    time_zone?: string;
  }) => data(call<One<Usage>>("GET", "/v1/usage", { query })),
};

export const keys = {
  list: (cursor?: string) =>
    call<Page<ApiKey>>("GET", "/v1/api-keys", { query: { cursor, limit: 50 } }),
  create: (
    key: string,
    body: { scopes: string[]; name: string | null; expires_at: string | null },
  ) => data(call<One<ApiKey>>("POST", "/v1/api-keys", { key, body })),
  revoke: (id: string) => call("DELETE", `/v1/api-keys/${id}`),
};

export const account = {
  get: () => data(call<One<Account>>("GET", "/v1/account")),
  change: (body: object) => data(call<One<Account>>("PATCH", "/v1/account", { body })),
};

export const audit = {
  list: (query: { action?: string }, cursor?: string) =>
    call<Page<AuditEntry>>("GET", "/v1/audit-entries", { query: { ...query, cursor, limit: 50 } }),
};

export const senderIds = {
  list: (query: { status?: string; usable?: string } = {}, cursor?: string) =>
    call<Page<SenderId>>("GET", "/v1/sender-ids", { query: { ...query, cursor, limit: 100 } }),
  request: (key: string, body: { name: string; use_case: string; sample: string }) =>
    data(call<One<SenderId>>("POST", "/v1/sender-ids", { key, body })),
};

const hook = (id: string) => `/v1/webhook-endpoints/${id}`;
export const webhooks = {
  list: () => data(call<One<Endpoint[]>>("GET", "/v1/webhook-endpoints")),
  get: (id: string) => data(call<One<Endpoint>>("GET", hook(id))),
  create: (key: string, body: { url: string; event_types?: string[]; description?: string }) =>
    data(call<One<Endpoint>>("POST", "/v1/webhook-endpoints", { key, body })),
  change: (id: string, body: object) => data(call<One<Endpoint>>("PATCH", hook(id), { body })),
  remove: (id: string) => call("DELETE", hook(id)),
  rotate: (key: string, id: string) =>
    data(call<One<Endpoint>>("POST", `${hook(id)}/rotate-secret`, { key })),
  test: (key: string, id: string) =>
    data(call<One<Delivery>>("POST", `${hook(id)}/test`, { key, body: {} })),
  deliveries: (id: string, query: { status?: string; event_type?: string }, cursor?: string) =>
    call<Page<Delivery>>("GET", `${hook(id)}/deliveries`, {
      query: { ...query, cursor, limit: 50 },
    }),
  delivery: (id: string, deliveryId: string) =>
    data(call<One<DeliveryWithBody>>("GET", `${hook(id)}/deliveries/${deliveryId}`)),
  resend: (key: string, id: string, deliveryId: string) =>
    call("POST", `${hook(id)}/deliveries/${deliveryId}/resend`, { key }),
  recover: (key: string, id: string, since: string) =>
    data(call<One<{ recovered: number }>>("POST", `${hook(id)}/recover`, { key, body: { since } })),
};

const campaign = (id: string) => `/v1/campaigns/${encodeURIComponent(id)}`;
export const campaigns = {
  list: (query: { status?: string }, cursor?: string) =>
    call<Page<Campaign>>("GET", "/v1/campaigns", { query: { ...query, cursor, limit: 50 } }),
  get: (id: string) => data(call<One<Campaign>>("GET", campaign(id))),
  create: (key: string, body: object) =>
    data(call<One<Campaign>>("POST", "/v1/campaigns", { key, body })),
  remove: (id: string) => call("DELETE", campaign(id)),
  addCsv: (key: string, id: string, csv: Blob) =>
    data(call<One<CampaignImport>>("POST", `${campaign(id)}/recipients`, { key, csv })),
  clear: (id: string) => call("DELETE", `${campaign(id)}/recipients`),
  recipients: (id: string, query: { status?: string }, cursor?: string) =>
    call<Page<CampaignRecipient>>("GET", `${campaign(id)}/recipients`, {
      query: { ...query, cursor, limit: 50 },
    }),
  estimate: (key: string, id: string) =>
    data(call<One<CampaignEstimate>>("POST", `${campaign(id)}/estimate`, { key })),
  preview: (key: string, id: string) =>
    data(call<One<CampaignPreview[]>>("POST", `${campaign(id)}/preview`, { key })),
  test: (key: string, id: string, to: string[]) =>
    call("POST", `${campaign(id)}/test`, { key, body: { to } }),
  act: (key: string, id: string, action: "start" | "pause" | "resume" | "cancel") =>
    data(call<One<Campaign>>("POST", `${campaign(id)}/${action}`, { key })),
};

export const inbound = {
  list: (query: { from?: string }, cursor?: string) =>
    call<Page<InboundMessage>>("GET", "/v1/inbound-messages", {
      query: { ...query, cursor, limit: 50 },
    }),
};

export const suppressions = {
  list: (query: { number?: string }, cursor?: string) =>
    call<Page<Suppression>>("GET", "/v1/suppressions", { query: { ...query, cursor, limit: 50 } }),
  add: (number: string, reason: string) =>
    data(
      call<One<SuppressionImport>>("POST", "/v1/suppressions", {
        body: { suppressions: [{ number, reason: reason === "" ? null : reason }] },
      }),
    ),
  addCsv: (csv: Blob) => data(call<One<SuppressionImport>>("POST", "/v1/suppressions", { csv })),
  remove: (number: string, sender_id: string | null) =>
    call("DELETE", `/v1/suppressions/${encodeURIComponent(number)}`, {
      query: { sender_id: sender_id ?? undefined },
    }),
};
