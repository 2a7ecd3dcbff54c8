import {
  AuditEntrySchema,
  EntryKind,
  EntrySchema,
  type Wallet,
  WalletSchema,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { localActor } from "../actor.ts";
import { checkWallets } from "../check/wallets.ts";
import type { CommandContext, Commands } from "../command.ts";
import { type Json, present } from "../present.ts";
import { tenantId } from "../tenants.ts";

/** `smsctl wallet …` */
export const WALLET_COMMANDS: Commands = {
  fund: {
    usage: "wallet fund --tenant T --amount A [--reference R]",
    async run(context) {
      const { clients, options, output } = context;
      const answer = await clients.wallets.fundWallet({
        tenantId: await tenantId(context),
        amount: positive(options.amount("amount")),
        reference: options.optional("reference") ?? newId("request"),
        actor: localActor(),
      });
      output.result({ ...showWallet(answer.wallet), replayed: answer.replayed });
      return 0;
    },
  },
  adjust: {
    usage: "wallet adjust --tenant T --amount ±A --reason R [--reference R]",
    async run(context) {
      const { clients, options, output } = context;
      const answer = await clients.wallets.adjustWallet({
        tenantId: await tenantId(context),
        amount: options.amount("amount") ?? 0n,
        reason: options.required("reason"),
        reference: options.optional("reference") ?? newId("request"),
        actor: localActor(),
      });
      output.result({ ...showWallet(answer.wallet), replayed: answer.replayed });
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
  update: {
    usage: "wallet update --tenant T [--low-balance A --frozen true|false]",
    async run(context) {
      const { clients, options, output } = context;
      const lowBalanceThreshold = options.amount("low-balance");
      const frozen = options.boolean("frozen");
      const { wallet } = await clients.wallets.updateWallet({
        tenantId: await tenantId(context),
        actor: localActor(),
        ...(lowBalanceThreshold === undefined ? {} : { lowBalanceThreshold }),
        ...(frozen === undefined ? {} : { frozen }),
      });
      output.result(showWallet(wallet));
      return 0;
    },
  },
  entries: {
    usage:
      "wallet entries --tenant T [--from TIME --to TIME --kind K,… --limit N --cursor C --csv FILE|-]",
    run: (context) => listEntries(context),
  },
  audit: {
    usage: "wallet audit --tenant T [--limit N]",
    async run(context) {
      const { entries } = await context.clients.wallets.listAuditEntries({
        tenantId: await tenantId(context),
        limit: context.options.whole("limit") ?? 100,
      });
      context.output.result(entries.map((entry) => present(AuditEntrySchema, entry)));
      return 0;
    },
  },
  check: {
    usage: "wallet check [--tenant T]",
    async run(context) {
      const tenant = context.options.optional("tenant");
      const report = await checkWallets(
        context.clients,
        tenant === undefined ? "" : await tenantId(context),
        context.output.note,
      );
      context.output.result({ ok: report.breaches.length === 0, ...report } as unknown as Json);
      return report.breaches.length === 0 ? 0 : 1;
    },
  },
};

/** The statement: one page of a list, or everything in a range as CSV. */
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
    const limit = options.whole("limit") ?? 50;
    const cursor = options.optional("cursor") ?? "";
    const page = await clients.wallets.listEntries({ ...wanted, limit, cursor });
    output.result(page.entries.map((entry) => present(EntrySchema, entry)));
    if (page.nextCursor !== "") output.note(`older ones: --cursor ${page.nextCursor}`);
    return 0;
  }
  const { exportStatement } = await import("../statement-csv.ts");
  const count = await exportStatement(clients, wanted, csv);
  if (csv !== "-") output.result({ file: csv, entries: count });
  return 0;
}

function showWallet(wallet: Wallet | undefined): { [name: string]: Json } {
  if (wallet === undefined) throw new AppError("internal_error", "The answer has no wallet.");
  return { id: wallet.tenantId, ...present(WalletSchema, wallet) };
}

function kindNamed(name: string): EntryKind {
  const kind = EntryKind[name.toUpperCase() as keyof typeof EntryKind];
  if (kind !== undefined && kind !== EntryKind.UNSPECIFIED) return kind;
  const kinds = "fund, adjust, hold, capture or release";
  throw new AppError("validation_error", `--kind must be of ${kinds}.`);
}

function positive(amount: bigint | undefined): bigint {
  if (amount !== undefined && amount > 0n) return amount;
  throw new AppError("validation_error", "--amount must be more than zero.");
}
