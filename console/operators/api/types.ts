/** The parts of the services' messages that the pages show (proto/sms/v1). */

export type Tenant = {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly emailVerified: boolean;
  readonly rateLimit: number;
  readonly burst: number;
  readonly bulkMax: number;
  readonly currency: string;
  readonly plan: string;
  readonly redactBodies: boolean;
  readonly createdAtMs: string;
};

export type ApiKey = {
  readonly id: string;
  readonly name: string;
  readonly mode: string;
  readonly scopes: readonly string[];
  readonly hint: string;
  readonly createdAtMs: string;
  readonly revokedAtMs: string;
  readonly expiresAtMs: string;
  readonly lastUsedAtMs: string;
};

export type Person = {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly joinedAtMs: string;
};

export type CheckResult = {
  readonly id: string;
  readonly tenantId: string;
  readonly person: string;
  readonly startedAtMs: string;
  readonly finishedAtMs: string;
  readonly ok: boolean;
  readonly breaches: readonly {
    readonly invariant: number;
    readonly what: string;
    readonly ids: readonly string[];
  }[];
  readonly unlisted: string;
  readonly unfinished: readonly string[];
  readonly compared: Readonly<Record<string, string>>;
};

export type Operator = {
  readonly person: string;
  readonly role: string;
  readonly createdAtMs: string;
  readonly lastSignInAtMs: string;
};

export type Wallet = {
  readonly currency: string;
  readonly balance: string;
  readonly held: string;
  readonly available: string;
  readonly frozen: boolean;
};

export type Funding = {
  readonly id: string;
  readonly tenantId: string;
  readonly amount: string;
  readonly currency: string;
  readonly reason: string;
  readonly state: string;
  readonly requestedBy: string;
  readonly requestedAtMs: string;
  readonly decidedBy: string;
  readonly failure: string;
};

export type Entry = {
  readonly id: string;
  readonly kind: string;
  readonly currency: string;
  readonly postings: readonly { readonly account: string; readonly amount: string }[];
  readonly reference: string;
  readonly reason: string;
  readonly actor: string;
  readonly balanceAfter: string;
  readonly createdAtMs: string;
};

export type SenderId = {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly status: string;
  readonly trafficClass: string;
  readonly useCase: string;
  readonly sample: string;
  readonly updatedAtMs: string;
};

export type Connector = {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly ratePerSecond: number;
};

export type BindHealth = {
  readonly connectorId: string;
  readonly bind: string;
  readonly link: string;
  readonly windowUsed: number;
  readonly window: number;
  readonly submitsPerSecond: number;
  readonly throttled: string;
  readonly answerMsP99: number;
  readonly lastError: string;
  readonly reportedAtMs: string;
};

export type DeliveryHealth = {
  readonly connectorId: string;
  readonly country: string;
  readonly state: string;
  readonly rate?: number;
};

export type QueueStats = {
  readonly connectorId: string;
  readonly waiting: string;
  readonly oldestWaitingMs: string;
  readonly sending: string;
};

export type Route = {
  readonly id: string;
  readonly name: string;
  readonly connectorId: string;
  readonly enabled: boolean;
  readonly priority: number;
  readonly weight: number;
  readonly senderIds: readonly string[];
  readonly plans: readonly string[];
  readonly tenantIds: readonly string[];
  readonly prices: readonly { readonly prefix: string; readonly price: string }[];
  readonly trafficClasses: readonly string[];
};

export type ExplainedRoute = {
  readonly route: Route;
  readonly chosen: boolean;
  readonly why: string;
  readonly matchedPrefix: string;
  readonly price: string;
};

export type QuietHours = {
  readonly country: string;
  readonly trafficClass: string;
  readonly timeZone: string;
  readonly windows: readonly { readonly fromMinute: number; readonly untilMinute: number }[];
};

export type Reason = { readonly code: string; readonly message: string };

export type Message = {
  readonly id: string;
  readonly tenantId: string;
  readonly mode: string;
  readonly source: string;
  readonly campaignId: string;
  readonly status: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: string;
  readonly segments: number;
  readonly heldAmount: string;
  readonly amount?: string;
  readonly currency: string;
  readonly clientReference: string;
  readonly error?: Reason;
  readonly createdAtMs: string;
  readonly claimedAtMs: string;
  readonly history: readonly {
    readonly status: string;
    readonly occurredAtMs: string;
    readonly error?: Reason;
  }[];
  readonly routeId: string;
  readonly connectorId: string;
  readonly carrierCode: string;
  readonly trafficClass: string;
};

export type Delivery = {
  readonly id: string;
  readonly endpointId: string;
  readonly eventType: string;
  readonly status: string;
  readonly nextAttemptAtMs: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly startedAtMs: string;
    readonly httpStatus: number;
    readonly error: string;
  }[];
};

export type DeadLetter = {
  readonly id: string;
  readonly subject: string;
  readonly reason: string;
  readonly createdAtMs: string;
};

export type InboundMessage = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly connectorId: string;
  readonly receivedAtMs: string;
};

export type AuditRecord = {
  readonly id: string;
  readonly createdAtMs: string;
  readonly method: string;
  readonly caller: string;
  readonly actor?: { readonly name: string; readonly address: string };
  readonly tenantId: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
};
