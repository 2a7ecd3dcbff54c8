import {
  AuditEntrySchema,
  EntryKind,
  EntrySchema,
  ReservationSchema,
  type Wallet,
  WalletSchema,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import { isRow, type Json, type Row } from "../../shared/cli/cell.ts";
import { enumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { localActor } from "../calls/actor.ts";
import { moveOnce } from "../calls/idempotency-reference.ts";
import { readUpToLimit } from "../calls/pages.ts";
import { TRANSIENT_ERRORS } from "../calls/retryable-errors.ts";
import { tenantId } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import { withStreamsClosed } from "../check/report.ts";
import { checkWallets } from "../check/wallets.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const fund: Run = async (context) => {
  const { clients, options, output } = context;
  const amount = positive(options.amount("amount"));
  const tenant = await tenantId(context);
  const { answer, reference } = await moveOnce(context, (once) =>
    clients.wallets.fundWallet({
      tenantId: tenant,
      amount,
      reference: once,
      actor: localActor(options),
    }),
  );
  await output.result({ ...showWallet(answer.wallet), reference, replayed: answer.replayed });
  return 0;
};

export const adjust: Run = async (context) => {
  const { clients, options, output } = context;
  const amount = options.amount("amount") ?? 0n;
  const reason = options.required("reason");
  const tenant = await tenantId(context);
  const { answer, reference } = await moveOnce(context, (once) =>
    clients.wallets.adjustWallet({
      tenantId: tenant,
      amount,
      reason,
      reference: once,
      actor: localActor(options),
    }),
  );
  await output.result({ ...showWallet(answer.wallet), reference, replayed: answer.replayed });
  return 0;
};

export const show: Run = async (context) => {
  const { wallet } = await context.clients.wallets.getWallet({
    tenantId: await tenantId(context),
  });
  await context.output.result(showWallet(wallet));
  return 0;
};

export const reservation: Run = async (context) => {
  const { reservation } = await context.clients.wallets.getReservation({
    tenantId: await tenantId(context),
    reservationId: context.options.word(0, "The reservation's id"),
  });
  if (reservation !== undefined) {
    await context.output.result(toJson(ReservationSchema, reservation));
  }
  return 0;
};

export const update: Run = async (context) => {
  const { clients, options, output } = context;
  const lowBalanceThreshold = options.amount("low-balance");
  const frozen = options.boolean("frozen");
  if (lowBalanceThreshold === undefined && frozen === undefined) {
    throw new AppError("validation_error", "Nothing is to be changed: --low-balance, --frozen.");
  }
  const { wallet } = await clients.wallets.updateWallet({
    tenantId: await tenantId(context),
    actor: localActor(options),
    ...(lowBalanceThreshold === undefined ? {} : { lowBalanceThreshold }),
    ...(frozen === undefined ? {} : { frozen }),
  });
  await output.result(showWallet(wallet));
  return 0;
};

export const check: Run = async (context) => {
  const { clients, options, output } = context;
  const tenant = options.optional("tenant") === undefined ? "" : await tenantId(context);
  const { breaches, unlisted, compared } = await withStreamsClosed(context.signal, (signal) =>
    checkWallets({ clients, tenantId: tenant, note: output.note, signal }),
  );
  const shown = { breaches, ...(unlisted === 0 ? {} : { unlisted }), ...compared };
  await output.result({ ok: breaches.length === 0, ...shown } as unknown as Json);
  return breaches.length === 0 ? 0 : 1;
};

/** The changes by people, newest first. */
export const audit: Run = async (context) => {
  const { clients, options, output } = context;
  const isWanted = createdWithin(options);
  const { sinceMs = 0 } = options.range("since", "until");
  const tenant = await tenantId(context);
  const { items, nextCursor } = await readUpToLimit(options, 100, async (wish) => {
    const page = await clients.wallets.listAuditEntries({ tenantId: tenant, ...wish });
    const last = page.entries.at(-1);
    const isPast = last !== undefined && last.createdAtMs < sinceMs;
    return { items: page.entries.filter(isWanted), nextCursor: isPast ? "" : page.nextCursor };
  });
  const rows = items.map((entry) => toJson(AuditEntrySchema, entry));
  await output.list(rows, {
    columns: ["created_at", "action", "actor", "detail…", "id"],
    tableRows: rows.map((row) => ({
      ...row,
      actor: isRow(row.actor) ? (row.actor.name ?? "") : "",
      detail: shortDetail(row.detail),
    })),
  });
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

/** The change as values and not as a text of JSON. */
function shortDetail(detail: Json | undefined): Json {
  try {
    return JSON.parse(String(detail)) as Json;
  } catch {
    return detail ?? null;
  }
}

/** The newest entries of a range, or all of them as CSV. */
export const entries: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range();
  const wanted = {
    tenantId: await tenantId(context),
    fromMs: BigInt(sinceMs),
    toMs: BigInt(untilMs),
    kinds: options.list("kind").map(kindNamed),
    campaignId: options.optional("campaign") ?? "",
  };
  const csv = options.optional("csv");
  if (csv === undefined) {
    const { items, nextCursor } = await readUpToLimit(options, 50, async (wish) => {
      const page = await clients.wallets
        .listEntries({ ...wanted, ...wish }, { signal: context.signal })
        .catch((thrown: unknown) => {
          throw wanted.kinds.length === 0 ? thrown : inTooMany(thrown);
        });
      return { items: page.entries, nextCursor: page.nextCursor };
    });
    const rows = items.map((entry) => toJson(EntrySchema, entry));
    await output.list(rows, {
      tableRows: rows.map(withChanges),
      columns: [
        ...["created_at", "kind", "available_change", "held_change", "balance_after"],
        ...["reference…", "held_after", "currency", "reason…", "actor…"],
      ],
      wide: ["id", "reservation_id", "message_id", "campaign_id"],
      headings: { available_change: "available", held_change: "held" },
    });
    if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
    return 0;
  }
  if (!output.isForPeople && csv === "-") {
    throw new AppError("validation_error", "--csv - writes CSV: leave out the other format.");
  }
  if (options.isSet("watch")) {
    throw new AppError("validation_error", "--csv writes a file once: leave out --watch.");
  }
  for (const name of ["limit", "cursor"]) {
    if (options.optional(name) === undefined) continue;
    throw new AppError(
      "validation_error",
      `--csv writes every entry; --${name} has no place there.`,
    );
  }
  const { exportStatement } = await import("../cli/statement-csv.ts");
  const count = await exportStatement(clients, wanted, csv, context.signal);
  if (csv !== "-") await output.result({ file: csv, entries: count });
  return 0;
};

/** Puts the change of the available and of the held amount each in its own column. */
function withChanges(entry: Row): Row {
  const postings = Array.isArray(entry.postings) ? entry.postings.filter(isRow) : [];
  const change = (account: string) => postings.find((one) => one.account === account)?.amount ?? "";
  return { ...entry, available_change: change("available"), held_change: change("held") };
}

/** Adds a hint to a transient error: with --kind the service reads all entries of the range, which may time out. */
function inTooMany(thrown: unknown): unknown {
  const error = toAppError(thrown);
  if (!TRANSIENT_ERRORS.has(error.code)) return thrown;
  const hint =
    "Where the ledger is long, narrow the range by --since and --until, or leave out --kind.";
  return new AppError(error.code, `${error.message} ${hint}`, { cause: thrown });
}

function showWallet(wallet: Wallet | undefined): { [name: string]: Json } {
  if (wallet === undefined) throw new AppError("internal_error", "The answer has no wallet.");
  return { id: wallet.tenantId, ...toJson(WalletSchema, wallet) };
}

function kindNamed(name: string): EntryKind {
  const kind = enumWord(EntryKind, name);
  if (kind !== undefined) return kind;
  const kinds = "fund, adjust, hold, capture or release";
  throw new AppError("validation_error", `--kind must be one of ${kinds}.`);
}

function positive(amount: bigint | undefined): bigint {
  if (amount !== undefined && amount > 0n) return amount;
  throw new AppError("validation_error", "--amount must be more than zero.");
}
