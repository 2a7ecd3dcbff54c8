/** The wallet's use cases: validate the request, then queue a command or read. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { isId, newId } from "../../shared/core/ids.ts";
import { checkCursor, pageLimit } from "../../shared/core/limits.ts";
import { AMOUNT_MAX, formatAmount, INT64_MAX } from "../../shared/core/money.ts";
import type {
  Actor,
  AdjustCommand,
  CommandResults,
  FundCommand,
  FundingResult,
  HoldCommand,
  ReleaseCommand,
  UpdateCommand,
} from "../domain/command.ts";
import type { Entry } from "../domain/entry.ts";
import type { AuditRecord } from "../domain/ledger-batch.ts";
import type { Reservation } from "../domain/reservation.ts";
import { decodePlace, encodePlace } from "../domain/statement.ts";
import { newWallet, type Wallet } from "../domain/wallet.ts";
import type { CommandQueue } from "./command-queue.ts";
import type { StatementQuery, WalletStore } from "./ports.ts";
import {
  actorErrors,
  atMost,
  check,
  eitherWay,
  instant,
  positive,
  text,
  when,
} from "./validate.ts";

/** A page and the cursor of the next one; the last page has an empty cursor. */
export type Page<T> = { readonly items: readonly T[]; readonly nextCursor: string };

/** The use cases. */
export type Wallets = {
  /** Idempotent for the same currency; another currency is `invalid_state_transition`. */
  create(tenantId: string, currency: string, threshold: bigint, actor: Actor): Promise<Wallet>;
  get(tenantId: string): Promise<Wallet>;
  placeHold(tenantId: string, command: HoldCommand): Promise<CommandResults["hold"]>;
  release(tenantId: string, command: ReleaseCommand): Promise<CommandResults["release"]>;
  getReservation(tenantId: string, reservationId: string): Promise<Reservation>;
  fund(tenantId: string, command: FundCommand): Promise<FundingResult>;
  adjust(tenantId: string, command: AdjustCommand): Promise<FundingResult>;
  update(tenantId: string, command: UpdateCommand): Promise<Wallet>;
  listEntries(
    query: Omit<StatementQuery, "before"> & { readonly cursor: string },
  ): Promise<Page<Entry>>;
  listAudit(tenantId: string, limit: number, cursor: string): Promise<Page<AuditRecord>>;
};

export function createWallets(parts: {
  readonly store: WalletStore;
  readonly queue: CommandQueue;
  readonly clock: Clock;
}): Wallets {
  const { store, queue, clock } = parts;
  return {
    async create(tenantId, currency, threshold, actor) {
      check([
        // The tenant's id becomes part of NATS subjects, where spaces and dots have a meaning.
        ...when(!/^[\w-]{1,64}$/.test(tenantId), "tenant_id", "has letters, digits, _ and -"),
        ...when(!/^[A-Z]{3}$/.test(currency), "currency", "must be an ISO 4217 code"),
        ...when(threshold < 0n || threshold > AMOUNT_MAX, "low_balance_threshold", "out of range"),
        ...actorErrors(actor),
      ]);
      const nowMs = clock.now();
      const wallet = newWallet(tenantId, currency, threshold, nowMs);
      const detail = { currency, low_balance_threshold: formatAmount(threshold) };
      const stored = await store.createWallet(wallet, {
        id: newId("audit", nowMs),
        tenantId,
        action: "wallet.create",
        actor,
        detail: JSON.stringify(detail),
        after: detail,
        createdAtMs: nowMs,
      });
      if (stored.currency !== currency) {
        const message = `The wallet exists, in ${stored.currency}; a wallet's currency is fixed.`;
        throw new AppError("invalid_state_transition", message);
      }
      return stored;
    },
    async get(tenantId) {
      const wallet = await store.findWallet(tenantId);
      if (wallet === undefined) throw new AppError("not_found", "No such wallet.");
      return wallet;
    },
    async placeHold(tenantId, command) {
      check([
        ...text("tenant_id", tenantId, 64),
        ...text("reservation_id", command.reservationId, 64),
        // `decideHold` refuses an amount that no balance can cover.
        ...positive("amount", command.amount, INT64_MAX),
        ...when(command.messageCount < 1, "message_count", "must be at least 1"),
        ...atMost("first_message_id", command.firstMessageId, 64),
        ...atMost("last_message_id", command.lastMessageId, 64),
        ...atMost("campaign_id", command.campaignId, 64),
      ]);
      return queue.execute(tenantId, command);
    },
    release: (tenantId, command) => queue.execute(tenantId, command),
    async getReservation(tenantId, reservationId) {
      const reservation = await store.findReservation(tenantId, reservationId);
      if (reservation === undefined) throw new AppError("not_found", "No such reservation.");
      return reservation;
    },
    async fund(tenantId, command) {
      check([
        ...positive("amount", command.amount),
        ...text("reference", command.reference, 128),
        ...actorErrors(command.actor),
      ]);
      return queue.execute(tenantId, command);
    },
    async adjust(tenantId, command) {
      check([
        ...eitherWay("amount", command.amount),
        ...text("reason", command.reason, 512),
        ...text("reference", command.reference, 128),
        ...actorErrors(command.actor),
      ]);
      return queue.execute(tenantId, command);
    },
    async update(tenantId, command) {
      const threshold = command.lowBalanceThreshold ?? 0n;
      check([
        ...when(threshold < 0n || threshold > AMOUNT_MAX, "low_balance_threshold", "out of range"),
        ...actorErrors(command.actor),
      ]);
      return (await queue.execute(tenantId, command)).wallet;
    },
    async listEntries({ cursor, ...query }) {
      check([
        ...instant("from_ms", query.fromMs),
        ...instant("to_ms", query.toMs),
        ...atMost("campaign_id", query.campaignId, 64),
      ]);
      const limit = pageLimit(query.limit);
      const before = cursor === "" ? undefined : decodePlace(cursor);
      // One entry more than the page shows whether another page follows.
      const found = await store.listEntries({ ...query, limit: limit + 1, before });
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const nextCursor = found.length > limit && last !== undefined ? encodePlace(last) : "";
      return { items, nextCursor };
    },
    async listAudit(tenantId, requestedLimit, cursor) {
      checkCursor(cursor === "" || isId("audit", cursor));
      const limit = pageLimit(requestedLimit);
      const found = await store.listAudit(tenantId, cursor, limit + 1);
      const items = found.slice(0, limit);
      return { items, nextCursor: found.length > limit ? (items.at(-1)?.id ?? "") : "" };
    },
  };
}
