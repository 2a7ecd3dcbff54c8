import {
  AuditEntrySchema,
  EntryKind,
  EntrySchema,
  ReservationSchema,
  type Wallet,
  WalletSchema,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { localActor } from "../calls/actor.ts";
import { moveOnce } from "../calls/idempotency-reference.ts";
import { readUpToLimit } from "../calls/pages.ts";
import { TRANSIENT_ERRORS } from "../calls/retryable-errors.ts";
import { tenantId } from "../calls/tenants.ts";
import { withStreamsClosed } from "../check/report.ts";
import { checkWallets } from "../check/wallets.ts";
import type { CommandContext, Commands } from "../cli/command.ts";
import { enumWord } from "../cli/enum-word.ts";
import { type Json, toJson } from "../cli/to-json.ts";

/** `smsctl wallet …` */
export const WALLET_COMMANDS: Commands = {
  fund: {
    usage: "wallet fund --tenant T --amount A [--reference R --actor NAME]",
    async run(context) {
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
      output.result({ ...showWallet(answer.wallet), reference, replayed: answer.replayed });
      return 0;
    },
  },
  adjust: {
    usage: "wallet adjust --tenant T --amount [-]A --reason R [--reference R --actor NAME]",
    async run(context) {
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
      output.result({ ...showWallet(answer.wallet), reference, replayed: answer.replayed });
      return 0;
    },
  },
  show: {
    usage: "wallet show --tenant T",
    async run(context) {
      const { wallet } = await context.clients.wallets.getWallet({
        tenantId: await tenantId(context),
      });
      context.output.result(showWallet(wallet));
      return 0;
    },
  },
  reservation: {
    usage: "wallet reservation RESERVATION_ID --tenant T",
    async run(context) {
      const { reservation } = await context.clients.wallets.getReservation({
        tenantId: await tenantId(context),
        reservationId: context.options.word(2, "The reservation's id"),
      });
      if (reservation !== undefined) {
        context.output.result(toJson(ReservationSchema, reservation));
      }
      return 0;
    },
  },
  update: {
    usage: "wallet update --tenant T [--low-balance A --frozen true|false --actor NAME]",
    async run(context) {
      const { clients, options, output } = context;
      const lowBalanceThreshold = options.amount("low-balance");
      const frozen = options.boolean("frozen");
      if (lowBalanceThreshold === undefined && frozen === undefined) {
        throw new AppError(
          "validation_error",
          "Nothing is to be changed: --low-balance, --frozen.",
        );
      }
      const { wallet } = await clients.wallets.updateWallet({
        tenantId: await tenantId(context),
        actor: localActor(options),
        ...(lowBalanceThreshold === undefined ? {} : { lowBalanceThreshold }),
        ...(frozen === undefined ? {} : { frozen }),
      });
      output.result(showWallet(wallet));
      return 0;
    },
  },
  entries: {
    usage:
      "wallet entries --tenant T [--from TIME --to TIME --kind K,… --limit N --cursor C | --csv FILE|-]",
    endsItself: true,
    run: (context) => listEntries(context),
  },
  audit: {
    usage: "wallet audit --tenant T [--limit N --cursor C]",
    run: (context) => listAudit(context),
  },
  check: {
    usage: "wallet check [--tenant T]",
    endsItself: true,
    async run(context) {
      const { clients, options, output } = context;
      const tenant = options.optional("tenant") === undefined ? "" : await tenantId(context);
      const { breaches, unlisted, looked } = await withStreamsClosed(context.signal, (signal) =>
        checkWallets({ clients, tenantId: tenant, note: output.note, signal }),
      );
      const shown = { breaches, ...(unlisted === 0 ? {} : { unlisted }), ...looked };
      output.result({ ok: breaches.length === 0, ...shown } as unknown as Json);
      return breaches.length === 0 ? 0 : 1;
    },
  },
};

/** The audit trail, newest first. */
async function listAudit(context: CommandContext): Promise<number> {
  const { clients, options, output } = context;
  const tenant = await tenantId(context);
  const { items, nextCursor } = await readUpToLimit(options, 100, async (wish) => {
    const page = await clients.wallets.listAuditEntries({ tenantId: tenant, ...wish });
    return { items: page.entries, nextCursor: page.nextCursor };
  });
  output.result(items.map((entry) => toJson(AuditEntrySchema, entry)));
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
}

/** The newest entries of a range, or all of them as CSV. */
async function listEntries(context: CommandContext): Promise<number> {
  const { clients, options, output } = context;
  const wanted = {
    tenantId: await tenantId(context),
    fromMs: BigInt(options.instant("from") ?? 0),
    toMs: BigInt(options.instant("to") ?? 0),
    kinds: options.list("kind").map(kindNamed),
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
    output.result(items.map((entry) => toJson(EntrySchema, entry)));
    if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
    return 0;
  }
  if (output.isJson && csv === "-") {
    throw new AppError("validation_error", "--csv - writes CSV, which --json has no place beside.");
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
  if (csv !== "-") output.result({ file: csv, entries: count });
  return 0;
}

/** Adds a hint to a timeout: --kind filters all entries of the range. */
function inTooMany(thrown: unknown): unknown {
  const error = toAppError(thrown);
  if (!TRANSIENT_ERRORS.has(error.code)) return thrown;
  const hint =
    "Where the ledger is long, narrow the range by --from and --to, or leave out --kind.";
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
  throw new AppError("validation_error", `--kind must be of ${kinds}.`);
}

function positive(amount: bigint | undefined): bigint {
  if (amount !== undefined && amount > 0n) return amount;
  throw new AppError("validation_error", "--amount must be more than zero.");
}
