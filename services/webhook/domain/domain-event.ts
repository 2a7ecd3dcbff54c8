/** Changes of messages, wallets and sender IDs, as the event stream reports them. */
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";

/** A message after its change. Amounts are in 1/10,000; an instant of 0 is not set. */
export type MessageView = {
  readonly id: string;
  readonly mode: "live" | "test";
  readonly status: MessageStatus;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly encoding: "gsm7" | "ucs2";
  readonly segments: number;
  readonly heldAmount: bigint;
  readonly unitPrice: bigint | undefined;
  readonly amount: bigint | undefined;
  readonly currency: string;
  readonly clientReference: string;
  readonly campaignId: string;
  readonly source: MessageSourceName;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly scheduledAtMs: number;
  readonly createdAtMs: number;
  readonly sentAtMs: number;
  readonly completedAtMs: number;
  readonly updatedAtMs: number;
  /** Whether funds were ever held for it. */
  readonly hasHold: boolean;
};

/** A wallet after its change. */
export type WalletView = {
  readonly currency: string;
  readonly balance: bigint;
  readonly held: bigint;
  readonly available: bigint;
  readonly lowBalanceThreshold: bigint;
  readonly asOfMs: number;
};

/** A sender ID after its change. */
export type SenderIdView = {
  readonly id: string;
  readonly name: string;
  readonly status: "pending" | "approved" | "rejected" | "suspended";
  readonly rejectionReason: string;
  /** Whether messages can be sent from it: approved, and its tenant active. */
  readonly isUsable: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** A campaign after its change, as the REST API shows it. Amounts are in 1/10,000; an instant of 0 is not set. */
export type CampaignView = {
  readonly id: string;
  readonly mode: "live" | "test";
  readonly name: string;
  readonly status: string;
  readonly pauseReason: string;
  readonly from: string;
  readonly body: string;
  readonly sendAtMs: number;
  /** 0 is not set. */
  readonly ratePerSecond: number;
  readonly budget: bigint | undefined;
  readonly quietHours: "hold" | "reject" | undefined;
  readonly clientReference: string;
  readonly currency: string;
  readonly progress: Readonly<Record<string, number>>;
  readonly heldAmount: bigint;
  readonly chargedAmount: bigint;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly updatedAtMs: number;
};

/** A message from a handset. */
export type InboundView = {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly encoding: "gsm7" | "ucs2";
  readonly parts: number;
  readonly partsReceived: number;
  readonly action: string | undefined;
  readonly receivedAtMs: number;
};

/** A number that opted out or in. */
export type SuppressionView = {
  readonly number: string;
  readonly sender: string;
  readonly source: string;
  readonly reason: string;
  readonly createdAtMs: number;
};

/** One committed change. */
export type DomainEvent = {
  /** `evt_` + ULID; the same in every report of the change. */
  readonly id: string;
  readonly tenantId: string;
  readonly occurredAtMs: number;
  /**
   * When the change was recorded: later than it happened when a receipt is backdated. Endpoints
   * receive events recorded since they were enabled.
   */
  readonly recordedAtMs: number;
} & (
  | {
      readonly kind: "message";
      readonly message: MessageView;
      readonly previousStatus: MessageStatus;
      /** Whether the body must be removed as soon as possible. */
      readonly redacts?: boolean;
    }
  | {
      readonly kind: "wallet";
      readonly type: string;
      readonly wallet: WalletView;
      readonly amount: bigint;
      readonly reference: string;
    }
  | { readonly kind: "sender_id"; readonly type: string; readonly senderId: SenderIdView }
  | { readonly kind: "inbound"; readonly message: InboundView }
  | {
      readonly kind: "suppression";
      readonly type: string;
      readonly suppression: SuppressionView;
      readonly inboundMessageId: string;
    }
  | {
      readonly kind: "campaign";
      readonly type: string;
      readonly campaign: CampaignView;
      readonly previousStatus: string;
    }
);
