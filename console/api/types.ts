/** The parts of the API's answers that the console shows (docs/contract.md). Amounts are texts and stay texts. */

export type Page<T> = { readonly data: readonly T[]; readonly next_cursor: string | null };
export type One<T> = { readonly data: T };
export type Fault = { readonly code: string; readonly message: string };

export type RoleName = "owner" | "developer" | "sender" | "finance" | "viewer";

export type OwnSession = {
  readonly id: string;
  readonly name: string;
  readonly role: RoleName;
  readonly scopes: readonly string[];
  readonly tenant: {
    readonly id: string;
    readonly name: string;
    readonly currency: string;
    readonly suspended: boolean;
    readonly email_verified: boolean;
    readonly bulk_max: number;
  };
  readonly memberships: readonly {
    readonly tenant_id: string;
    readonly name: string;
    readonly role: RoleName;
  }[];
  readonly expires_at: string;
};

export type ListedSession = {
  readonly id: string;
  readonly current: boolean;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly address: string;
  readonly user_agent: string;
};

export type Person = {
  readonly id: string;
  readonly email: string;
  readonly role: RoleName;
  readonly invited_at: string;
  readonly joined_at: string | null;
  readonly second_factor: boolean;
};

export type SignInMethods = {
  readonly email: boolean;
  /** The provider's name; null when there is none. */
  readonly oidc: string | null;
};

export type SecondFactor = {
  /** False for the session of a portal link, which belongs to no person. */
  readonly available: boolean;
  readonly enabled: boolean;
  readonly enabled_at: string | null;
  readonly recovery_codes_left: number;
};

export type SecondFactorSecret = { readonly secret: string; readonly uri: string };

export type Message = {
  readonly id: string;
  readonly mode: string;
  readonly status: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: string;
  readonly segments: number;
  readonly held_amount: string;
  readonly unit_price: string | null;
  readonly amount: string | null;
  readonly currency: string;
  readonly client_reference: string | null;
  readonly campaign_id: string | null;
  readonly source: string;
  readonly error: Fault | null;
  readonly scheduled_at: string | null;
  readonly created_at: string;
  readonly sent_at: string | null;
  readonly completed_at: string | null;
  readonly status_history?: readonly {
    readonly status: string;
    readonly occurred_at: string;
    readonly error: Fault | null;
  }[];
};

export type MessagePreview = {
  readonly unit_price: string | null;
  readonly amount: string | null;
  readonly currency: string;
  readonly refusal: { readonly field: string; readonly message: string } | null;
};

export type SendResult = {
  readonly accepted: number;
  readonly rejected: number;
  readonly segments: number;
  readonly held_amount: string;
  readonly currency: string;
  readonly messages: readonly {
    readonly id: string;
    readonly input: string;
    readonly to: string | null;
    readonly status: string;
    readonly error: Fault | null;
  }[];
};

export type Balance = {
  readonly currency: string;
  readonly balance: string;
  readonly held: string;
  readonly available: string;
  readonly low_balance_threshold: string;
  readonly as_of: string;
};

export type SenderId = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly usable: boolean;
  readonly rejection_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type Campaign = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly pause_reason: string | null;
  readonly from: string;
  readonly body: string;
  readonly send_at: string | null;
  readonly rate_per_second: number | null;
  readonly budget_amount: string | null;
  readonly currency: string;
  readonly progress: Readonly<
    Record<
      | "total"
      | "rejected"
      | "waiting"
      | "queued"
      | "sent"
      | "delivered"
      | "undelivered"
      | "expired"
      | "failed"
      | "cancelled",
      number
    >
  > & { readonly held_amount: string; readonly charged_amount: string };
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
};

export type CampaignRecipient = {
  readonly index: number;
  readonly to: string;
  readonly status: string;
  readonly message_id: string | null;
  readonly error: Fault | null;
};

export type RowFault = {
  readonly line: number;
  readonly field: string;
  readonly code: string;
  readonly message: string;
};

export type CampaignImport = {
  readonly taken: number;
  readonly rejected: number;
  readonly duplicates: number;
  readonly faults: readonly RowFault[];
};

export type CampaignEstimate = {
  readonly recipients: number;
  readonly rejected: number;
  readonly segments: number;
  readonly amount: string;
  readonly available_amount: string;
  readonly currency: string;
  readonly countries: readonly {
    readonly country: string;
    readonly recipients: number;
    readonly segments: number;
    readonly amount: string;
  }[];
};

export type CampaignPreview = {
  readonly index: number;
  readonly to: string;
  readonly body: string | null;
  readonly segments: number;
  readonly error: Fault | null;
};

export type InboundMessage = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly complete: boolean;
  readonly action: string | null;
  readonly received_at: string;
};

export type Suppression = {
  readonly number: string;
  readonly sender_id: string | null;
  readonly source: string;
  readonly reason: string | null;
  readonly created_at: string;
};

export type SuppressionImport = {
  readonly added: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly faults: readonly RowFault[];
};

export type Endpoint = {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly event_types: readonly string[];
  readonly description: string | null;
  readonly disabled_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly secret?: string;
};

export type Delivery = {
  readonly id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: string;
  readonly next_attempt_at: string | null;
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly attempts: readonly {
    readonly number: number;
    readonly started_at: string;
    readonly duration_ms: number;
    readonly http_status: number | null;
    readonly error: string | null;
    readonly answer: string | null;
  }[];
};

export type DeliveryWithBody = Delivery & { readonly body: string | null };

export type ApiKey = {
  readonly id: string;
  readonly name: string | null;
  readonly mode: string;
  readonly scopes: readonly string[];
  readonly hint: string | null;
  readonly status: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
  readonly secret?: string;
};

export type WalletEntry = {
  readonly id: string;
  readonly kind: string;
  readonly amount: string;
  readonly currency: string;
  readonly balance_after: string;
  readonly message_id: string | null;
  readonly reference: string | null;
  readonly memo: string | null;
  readonly campaign_id: string | null;
  readonly created_at: string;
};

export type UsageGroup = {
  readonly day?: string;
  readonly hour?: string;
  readonly status?: string;
  readonly country?: string | null;
  readonly sender_id?: string;
  readonly api_key_id?: string | null;
  readonly campaign_id?: string | null;
  readonly messages: number;
  readonly segments: number;
  readonly amount: string;
};

export type Usage = {
  readonly currency: string;
  readonly as_of: string;
  readonly total: { readonly messages: number; readonly segments: number; readonly amount: string };
  readonly groups: readonly UsageGroup[];
};

export type AuditEntry = {
  readonly id: string;
  readonly action: string;
  readonly actor: {
    readonly type: string;
    readonly id: string | null;
    readonly address: string | null;
  };
  readonly subject: string | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
};

export type TimelineEntry = {
  readonly at: string;
  readonly type: string;
  readonly status?: string;
  readonly error?: Fault | null;
  readonly amount?: string;
  readonly currency?: string;
  readonly endpoint_id?: string;
  readonly delivery_id?: string;
  readonly event_type?: string;
  readonly attempt?: number;
  readonly duration_ms?: number;
  readonly http_status?: number | null;
  readonly failure?: string | null;
};

export type Account = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly email_verified: boolean;
  readonly currency: string;
  readonly low_balance_threshold: string | null;
  readonly redact_bodies: boolean;
  readonly quiet_hours: string;
  readonly requests_per_second: number;
  readonly bulk_recipients_max: number;
  readonly created_at: string;
};
