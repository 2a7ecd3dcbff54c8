/** What can be asked of a wallet. All of it goes through one queue per wallet, in order. */
import type { Entry } from "./entry.ts";
import type { Wallet } from "./wallet.ts";

/** Who does an operator's action, and from where, as the caller states it. */
export type Actor = { readonly name: string; readonly address: string };

/** Sets funds aside for one send, all or nothing. The id makes a repeat harmless. */
export type HoldCommand = {
  readonly kind: "hold";
  readonly reservationId: string;
  readonly amount: bigint;
  readonly messageCount: number;
  readonly firstMessageId: string;
  readonly lastMessageId: string;
};

/** Captures or releases one message's part of a hold. The message id makes a repeat harmless. */
export type SettleCommand = {
  readonly kind: "settle";
  readonly messageId: string;
  readonly reservationId: string;
  readonly heldAmount: bigint;
  readonly capturedAmount: bigint;
};

/** Releases what is open of a reservation that messaging has fenced off. */
export type ReleaseCommand = { readonly kind: "release"; readonly reservationId: string };

/** Adds money. The reference makes a repeat harmless. */
export type FundCommand = {
  readonly kind: "fund";
  readonly amount: bigint;
  readonly reference: string;
  readonly actor: Actor;
};

/** Corrects a balance, up or down. The reference makes a repeat harmless. */
export type AdjustCommand = {
  readonly kind: "adjust";
  readonly amount: bigint;
  readonly reason: string;
  readonly reference: string;
  readonly actor: Actor;
};

/** Changes settings of a wallet; absent ones stay. */
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

/** What each command answers when it succeeds. */
export type Outcomes = {
  readonly hold: { readonly currency: string; readonly available: bigint };
  readonly settle: {
    /** False: the message had been settled before, and nothing was moved. */
    readonly isNew: boolean;
    /** The earlier settlement had other amounts; the earlier one stands. */
    readonly differs: boolean;
  };
  readonly release: { readonly releasedAmount: bigint };
  readonly fund: FundOutcome;
  readonly adjust: FundOutcome;
  readonly update: { readonly wallet: Wallet };
};

/** What funding and adjusting answer. */
export type FundOutcome = {
  readonly wallet: Wallet;
  readonly entry: Entry;
  /** True when the reference had been used before for the same movement. */
  readonly replayed: boolean;
};

/** Any command's answer. */
export type Outcome = Outcomes[Command["kind"]];
