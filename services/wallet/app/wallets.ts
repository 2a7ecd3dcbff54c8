/** The wallet's use cases for callers: checks of what was asked, then the queue or a read. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { isId, newId } from "../../shared/core/ids.ts";
import { checkCursor, pageLimit } from "../../shared/core/limits.ts";
import { AMOUNT_MAX, formatAmount, INT64_MAX } from "../../shared/core/money.ts";
import type {
  Actor,
  AdjustCommand,
  FundCommand,
  FundOutcome,
  HoldCommand,
  Outcomes,
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
  actorFaults,
  atMost,
  check,
  eitherWay,
  instant,
  positive,
  text,
  when,
} from "./validate.ts";

/** A page and the cursor of the next one; empty on the last. */
export type Page<T> = { readonly items: readonly T[]; readonly nextCursor: string };

/** The wallet service. */
export type Wallets = {
  /** Repeating it with the same currency is harmless; another currency is `invalid_state_transition`. */
  create(tenantId: string, currency: string, threshold: bigint, actor: Actor): Promise<Wallet>;
  get(tenantId: string): Promise<Wallet>;
  hold(tenantId: string, command: HoldCommand): Promise<Outcomes["hold"]>;
  release(tenantId: string, command: ReleaseCommand): Promise<Outcomes["release"]>;
  getReservation(tenantId: string, reservationId: string): Promise<Reservation>;
  fund(tenantId: string, command: FundCommand): Promise<FundOutcome>;
  adjust(tenantId: string, command: AdjustCommand): Promise<FundOutcome>;
  update(tenantId: string, command: UpdateCommand): Promise<Wallet>;
  listEntries(
    query: Omit<StatementQuery, "before"> & { readonly cursor: string },
  ): Promise<Page<Entry>>;
  listAudit(tenantId: string, limit: number, cursor: string): Promise<Page<AuditRecord>>;
};

/** Wires the use cases. */
export function createWallets(parts: {
  readonly store: WalletStore;
  readonly queue: CommandQueue;
  readonly clock: Clock;
}): Wallets {
  const { store, queue, clock } = parts;
  return {
    async create(tenantId, currency, threshold, actor) {
      check([
        // It becomes a part of subjects in the event stream, where blanks and dots have a meaning.
        ...when(!/^[\w-]{1,64}$/.test(tenantId), "tenant_id", "has letters, digits, _ and -"),
        ...when(!/^[A-Z]{3}$/.test(currency), "currency", "must be an ISO 4217 code"),
        ...when(threshold < 0n || threshold > AMOUNT_MAX, "low_balance_threshold", "out of range"),
        ...actorFaults(actor),
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
    async hold(tenantId, command) {
      check([
        ...text("tenant_id", tenantId, 64),
        ...text("reservation_id", command.reservationId, 64),
        // One that no balance can cover is refused for that (`decideHold`).
        ...positive("amount", command.amount, INT64_MAX),
        ...when(command.messageCount < 1, "message_count", "must be at least 1"),
        ...atMost("first_message_id", command.firstMessageId, 64),
        ...atMost("last_message_id", command.lastMessageId, 64),
      ]);
      return queue.run(tenantId, command);
    },
    release: (tenantId, command) => queue.run(tenantId, command),
    async getReservation(tenantId, reservationId) {
      const reservation = await store.findReservation(tenantId, reservationId);
      if (reservation === undefined) throw new AppError("not_found", "No such reservation.");
      return reservation;
    },
    async fund(tenantId, command) {
      check([
        ...positive("amount", command.amount),
        ...text("reference", command.reference, 128),
        ...actorFaults(command.actor),
      ]);
      return queue.run(tenantId, command);
    },
    async adjust(tenantId, command) {
      check([
        ...eitherWay("amount", command.amount),
        ...text("reason", command.reason, 512),
        ...text("reference", command.reference, 128),
        ...actorFaults(command.actor),
      ]);
      return queue.run(tenantId, command);
    },
    async update(tenantId, command) {
      const threshold = command.lowBalanceThreshold ?? 0n;
      check([
        ...when(threshold < 0n || threshold > AMOUNT_MAX, "low_balance_threshold", "out of range"),
        ...actorFaults(command.actor),
      ]);
      return (await queue.run(tenantId, command)).wallet;
    },
    async listEntries({ cursor, ...query }) {
      check([...instant("from_ms", query.fromMs), ...instant("to_ms", query.toMs)]);
      const limit = pageLimit(query.limit);
      const before = cursor === "" ? undefined : decodePlace(cursor);
      // One line more than the page tells whether another page follows.
      const lines = await store.listEntries({ ...query, limit: limit + 1, before });
      const items = lines.slice(0, limit);
      const last = items.at(-1);
      const nextCursor = lines.length > limit && last !== undefined ? encodePlace(last) : "";
      return { items, nextCursor };
    },
    async listAudit(tenantId, askedLimit, cursor) {
      checkCursor(cursor === "" || isId("audit", cursor));
      const limit = pageLimit(askedLimit);
      const lines = await store.listAudit(tenantId, cursor, limit + 1);
      const items = lines.slice(0, limit);
      return { items, nextCursor: lines.length > limit ? (items.at(-1)?.id ?? "") : "" };
    },
  };
}
