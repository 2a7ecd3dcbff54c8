/** The commands on a wallet. Each wallet has one queue, which runs them in order. */
import type { AuditSource } from "../../shared/core/audit.ts";
import type { Entry } from "./entry.ts";
import type { Wallet } from "./wallet.ts";

/** The operator who acts, and the network address, as the caller states them. */
export type Actor = {
  readonly name: string;
  readonly address: string;
  /** The authenticated caller and its request; absent from commands of no request. */
  readonly source?: AuditSource;
};

/** Places the hold of one send, all or nothing. Idempotent by reservation id. */
export type HoldCommand = {
  readonly kind: "hold";
  readonly reservationId: string;
  readonly amount: bigint;
  readonly messageCount: number;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
  /** Empty for a send of no campaign. A repeated hold is not compared by it. */
  readonly campaignId: string;
};

/** Captures or releases one message's part of a hold. Idempotent by message id. */
export type SettleCommand = {
  readonly kind: "settle";
  readonly messageId: string;
  readonly reservationId: string;
  readonly heldAmount: bigint;
  readonly capturedAmount: bigint;
};

/** Releases the open amount of a reservation that messaging has fenced. */
export type ReleaseCommand = { readonly kind: "release"; readonly reservationId: string };

/** Adds money. Idempotent by reference. */
export type FundCommand = {
  readonly kind: "fund";
  readonly amount: bigint;
  readonly reference: string;
  readonly actor: Actor;
};

/** Corrects a balance, up or down. Idempotent by reference. */
export type AdjustCommand = {
  readonly kind: "adjust";
  readonly amount: bigint;
  readonly reason: string;
  readonly reference: string;
  readonly actor: Actor;
};

/** Changes settings of a wallet; absent ones keep their value. */
export type UpdateCommand = {
  readonly kind: "update";
  readonly lowBalanceThreshold?: bigint | undefined;
  readonly frozen?: boolean | undefined;
  readonly actor: Actor;
};

/** Anything that changes a wallet. */
export type Command =
  | HoldCommand
  | SettleCommand
  | ReleaseCommand
  | FundCommand
  | AdjustCommand
  | UpdateCommand;

/** The result of each kind of command on success. */
export type CommandResults = {
  readonly hold: { readonly currency: string; readonly available: bigint };
  readonly settle: {
    /** False: the message has a settlement, and nothing moved. */
    readonly isNew: boolean;
    /** True: the first settlement has other amounts, and stays. */
    readonly differs: boolean;
  };
  readonly release: { readonly releasedAmount: bigint };
  readonly fund: FundingResult;
  readonly adjust: FundingResult;
  readonly update: { readonly wallet: Wallet };
};

/** The result of a funding or an adjustment. */
export type FundingResult = {
  readonly wallet: Wallet;
  readonly entry: Entry;
  /** True when the reference belongs to an earlier, equal movement. */
  readonly replayed: boolean;
};

/** The result of any command. */
export type CommandResult = CommandResults[Command["kind"]];
