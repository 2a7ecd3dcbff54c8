/** The wallet's RPCs: mapping between protobuf and the domain. */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type PlaceHoldRequest,
  type Settlement,
  WalletService,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, asAppError, type FieldError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { checkItems } from "../../shared/core/limits.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { parseAmount } from "../../shared/core/money.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { type DeadLetters, replayAudited } from "../../shared/io/dead-letters.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import type { Fundings } from "../app/fundings.ts";
import type { WalletStore } from "../app/ports.ts";
import type { CheckWallets } from "../app/reconcile.ts";
import type {
  SettleMessages,
  SettlementRequest,
  SettlementResult,
} from "../app/settle-messages.ts";
import { check, checkInstant, text, when } from "../app/validate.ts";
import type { Wallets } from "../app/wallets.ts";
import type { HoldCommand } from "../domain/command.ts";
import { fundingHandlers } from "./funding-rpc.ts";
import {
  actorOf,
  auditToProto,
  deadLetterToProto,
  entryToProto,
  kindsFromProto,
  reservationToProto,
  settlementToProto,
  walletToProto,
} from "./proto.ts";

/** The maximum number of items in one request. */
const ITEMS_MAX = 1000;

export type RpcParts = {
  readonly wallets: Wallets;
  readonly fundings: Fundings;
  readonly settleMessages: SettleMessages;
  readonly checkWallets: CheckWallets;
  readonly store: Pick<WalletStore, "streamSettlements" | "streamOpenReservations" | "findSettled">;
  readonly deadLetters: DeadLetters;
  readonly audit: AuditLog;
  /** Age at which the sweeper checks an open reservation. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly log: Logger;
};

export function createWalletRpc(parts: RpcParts): ServiceImpl<typeof WalletService> {
  return {
    ...moneyRpc(parts),
    ...operatorRpc(parts),
    ...fundingHandlers(parts.fundings),
    ...streamRpc(parts),
    ...auditHandler(WalletService, parts.audit),
  };
}

function moneyRpc({ wallets, settleMessages, clock, log }: RpcParts) {
  return {
    async getWallet({ tenantId }) {
      return { wallet: walletToProto(await wallets.get(tenantId), clock.now()) };
    },
    placeHold: (request) => wallets.placeHold(request.tenantId, toHold(request)),
    async placeHolds({ holds }) {
      checkItems("holds", holds.length, 1, ITEMS_MAX);
      return { outcomes: await Promise.all(holds.map((hold) => placeOneOf(wallets, hold, log))) };
    },
    async settleMessages({ settlements }) {
      checkItems("settlements", settlements.length, 1, ITEMS_MAX);
      check(settlements.flatMap(settlementErrors));
      const results = await settleMessages(settlements.map(toSettle));
      // Retryable errors come first: the repeated call moves nothing twice, and then names the
      // impossible settlements.
      for (const result of results) {
        if (result.kind === "unavailable") throw asAppError(result.error);
      }
      const impossible = impossibleOf(results);
      if (impossible !== undefined) throw impossible;
      const settled = results.filter(({ kind }) => kind === "settled").length;
      return { settled, alreadySettled: results.length - settled };
    },
    releaseReservation: ({ tenantId, reservationId }) =>
      wallets.release(tenantId, { kind: "release", reservationId }),
    async getReservation({ tenantId, reservationId }) {
      const reservation = await wallets.getReservation(tenantId, reservationId);
      return { reservation: reservationToProto(reservation) };
    },
  } satisfies Partial<ServiceImpl<typeof WalletService>>;
}

function operatorRpc({ wallets, clock, deadLetters, audit }: RpcParts) {
  const present = (wallet: Parameters<typeof walletToProto>[0]) =>
    walletToProto(wallet, clock.now());
  return {
    async createWallet({ tenantId, currency, lowBalanceThreshold, actor }) {
      const by = actorOf(actor);
      const wallet = await wallets.create(tenantId, currency, lowBalanceThreshold, by);
      return { wallet: present(wallet) };
    },
    async fundWallet({ tenantId, amount, reference, actor }) {
      const command = { kind: "fund", amount, reference, actor: actorOf(actor) } as const;
      const { wallet, entry, replayed } = await wallets.fund(tenantId, command);
      return { wallet: present(wallet), entry: entryToProto(entry), replayed };
    },
    async adjustWallet({ tenantId, amount, reason, reference, actor }) {
      const { wallet, entry, replayed } = await wallets.adjust(tenantId, {
        kind: "adjust",
        amount,
        reason,
        // Without a reference every call is a new adjustment, also a repeated one.
        reference: reference === "" ? newId("entry") : reference,
        actor: actorOf(actor),
      });
      return { wallet: present(wallet), entry: entryToProto(entry), replayed };
    },
    async updateWallet({ tenantId, lowBalanceThreshold, frozen, actor }) {
      const by = actorOf(actor);
      const command = { kind: "update", lowBalanceThreshold, frozen, actor: by } as const;
      return { wallet: present(await wallets.update(tenantId, command)) };
    },
    async setLowBalanceThreshold({ tenantId, lowBalanceThreshold }) {
      const command = { kind: "update", lowBalanceThreshold, actor: actorOf(undefined) } as const;
      return { wallet: present(await wallets.update(tenantId, command)) };
    },
    async listEntries({ tenantId, fromMs, toMs, kinds, campaignId, limit, cursor }) {
      const page = await wallets.listEntries({
        tenantId,
        fromMs: Number(fromMs),
        toMs: Number(toMs),
        kinds: kindsFromProto(kinds),
        campaignId,
        limit,
        cursor,
      });
      return { entries: page.items.map(entryToProto), nextCursor: page.nextCursor };
    },
    async listAuditEntries({ tenantId, limit, cursor }) {
      const page = await wallets.listAudit(tenantId, limit, cursor);
      return { entries: page.items.map(auditToProto), nextCursor: page.nextCursor };
    },
    async listDeadLetters({ cursor, limit }) {
      const { letters, nextCursor } = await deadLetters.list(cursor, limit);
      return { deadLetters: letters.map(deadLetterToProto), nextCursor };
    },
    async replayDeadLetters({ ids }) {
      checkItems("ids", ids.length, 0, ITEMS_MAX);
      return { replayed: await replayAudited(deadLetters, audit, ids) };
    },
  } satisfies Partial<ServiceImpl<typeof WalletService>>;
}

function streamRpc({ store, checkWallets, graceMs }: RpcParts) {
  return {
    async *checkWallets({ tenantId }, context) {
      for await (const progress of checkWallets(tenantId, context.signal)) {
        yield {
          breaches: progress.breaches.map((breach) => ({ ...breach, ids: [...breach.ids] })),
          wallets: BigInt(progress.wallets),
          entries: BigInt(progress.entries),
          reservations: BigInt(progress.reservations),
          done: progress.done,
        };
      }
    },
    async *streamSettlements({ tenantId, messageIds }) {
      if (messageIds.length > 0) {
        checkItems("message_ids", messageIds.length, 1, ITEMS_MAX);
        const found = [...(await store.findSettled(messageIds)).values()];
        const own = found.filter((one) => tenantId === "" || one.tenantId === tenantId);
        own.sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
        yield { settlements: own.map(settlementToProto) };
        return;
      }
      for await (const chunk of store.streamSettlements(tenantId)) {
        yield { settlements: chunk.map(settlementToProto) };
      }
    },
    async *streamReservations({ createdBeforeMs }) {
      checkInstant("created_before_ms", Number(createdBeforeMs));
      for await (const chunk of store.streamOpenReservations(Number(createdBeforeMs))) {
        yield { reservations: chunk.map(reservationToProto), graceMs: BigInt(graceMs) };
      }
    },
  } satisfies Partial<ServiceImpl<typeof WalletService>>;
}

function toHold(request: PlaceHoldRequest): HoldCommand {
  const { reservationId, amount, messageCount, firstMessageId, lastMessageId, campaignId } =
    request;
  const range = { firstMessageId, lastMessageId };
  return { kind: "hold", reservationId, amount, messageCount, ...range, campaignId };
}

/** Places one hold of a batch. An unexpected error shows only in the log. */
async function placeOneOf(wallets: Wallets, request: PlaceHoldRequest, log: Logger) {
  const { reservationId } = request;
  try {
    const { currency, available } = await wallets.placeHold(request.tenantId, toHold(request));
    return { reservationId, errorCode: "", currency, available };
  } catch (error) {
    const { code, extra } = asAppError(error);
    if (code === "internal_error") log.error({ error, reservationId }, "a hold failed");
    const currency = extra.currency ?? "";
    const available = parseAmount(extra.available_amount ?? "") ?? 0n;
    return { reservationId, errorCode: code, currency, available };
  }
}

function settlementErrors(settlement: Settlement, at: number): FieldError[] {
  const field = (name: string) => `settlements[${at}].${name}`;
  const { heldAmount, capturedAmount } = settlement;
  const isBeyondHold = heldAmount >= 0n && (capturedAmount < 0n || capturedAmount > heldAmount);
  return [
    ...text(field("tenant_id"), settlement.tenantId, 64),
    ...text(field("message_id"), settlement.messageId, 64),
    ...text(field("reservation_id"), settlement.reservationId, 64),
    ...when(heldAmount < 0n, field("held_amount"), "must not be negative"),
    ...when(isBeyondHold, field("captured_amount"), "must be from 0 to the held amount"),
  ];
}

/** The error that names the impossible settlements of a call. The other settlements are done. */
function impossibleOf(results: readonly SettlementResult[]): AppError | undefined {
  const [first] = results.flatMap((one) => (one.kind === "impossible" ? [one.error] : []));
  if (first === undefined) return undefined;
  const fields = results.flatMap((one, at): FieldError[] => {
    if (one.kind !== "impossible") return [];
    const { code, message } = one.error;
    return [{ field: `settlements[${at}]`, code, message }];
  });
  return new AppError(first.code, first.message, { fields, cause: first });
}

function toSettle(settlement: Settlement): SettlementRequest {
  const { tenantId, messageId, reservationId, heldAmount, capturedAmount } = settlement;
  return { tenantId, messageId, reservationId, heldAmount, capturedAmount };
}
