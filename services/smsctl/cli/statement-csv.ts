import { once } from "node:events";
import { existsSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { ulid } from "ulid";
import { type Entry, EntryKind } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { csvLines } from "../../shared/cli/csv-output.ts";
import { AppError } from "../../shared/core/errors.ts";
import { formatAmount } from "../../shared/core/money.ts";
import type { Clients } from "../calls/clients.ts";

const COLUMNS = [
  "id",
  "created_at",
  "kind",
  "currency",
  "available_change",
  "held_change",
  "balance_after",
  "held_after",
  "reference",
  "reservation_id",
  "message_id",
  "reason",
  "actor",
  "campaign_id",
] as const;

/**
 * Writes every entry of a range as CSV (RFC 4180), newest first; returns their number. The file gets its
 * name only when it is complete, and never overwrites another.
 */
export async function exportStatement(
  clients: Clients,
  wanted: {
    tenantId: string;
    fromMs: bigint;
    toMs: bigint;
    kinds: EntryKind[];
    campaignId: string;
  },
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const sink = file === "-" ? standardOutput(signal) : await createFile(file);
  try {
    await sink.write(csvLines([COLUMNS]));
    let cursor = "";
    let count = 0;
    do {
      const page = await clients.wallets.listEntries(
        { ...wanted, limit: 1000, cursor },
        { signal },
      );
      await sink.write(csvLines(page.entries.map(cellsOf)));
      count += page.entries.length;
      cursor = page.nextCursor;
    } while (cursor !== "");
    await sink.finish();
    return count;
  } catch (thrown) {
    await sink.abandon();
    throw thrown;
  }
}

function cellsOf(entry: Entry): readonly string[] {
  const change = (account: string) =>
    formatAmount(entry.postings.find((posting) => posting.account === account)?.amount ?? 0n);
  return [
    entry.id,
    new Date(Number(entry.createdAtMs)).toISOString(),
    EntryKind[entry.kind].toLowerCase(),
    entry.currency,
    change("available"),
    change("held"),
    formatAmount(entry.balanceAfter),
    formatAmount(entry.heldAfter),
    entry.reference,
    entry.reservationId,
    entry.messageId,
    entry.reason,
    entry.actor,
    entry.campaignId,
  ];
}

type StatementSink = {
  write(text: string): Promise<void>;
  finish(): Promise<void>;
  /** Removes an incomplete statement. */
  abandon(): Promise<void>;
};

function standardOutput(signal: AbortSignal): StatementSink {
  return {
    async write(text) {
      if (!process.stdout.write(text)) await once(process.stdout, "drain", { signal });
    },
    async finish() {},
    async abandon() {},
  };
}

async function createFile(file: string): Promise<StatementSink> {
  const part = `${file}.${ulid()}.part`;
  const refuse = (why: string): never => {
    throw new AppError("validation_error", `${file} cannot be written: ${why}`);
  };
  const refuseFor = (error: Error): never => refuse(error.message);
  if (existsSync(file)) refuse("it exists");
  const handle = await open(part, "wx", 0o600).catch(refuseFor);
  return {
    write: (text) => handle.writeFile(text).catch(refuseFor),
    async finish() {
      await handle.close().catch(refuseFor);
      await giveName(part, file).catch(refuseFor);
    },
    async abandon() {
      await handle.close().catch(() => undefined);
      await rm(part, { force: true });
    },
  };
}

/** Links, because a rename would overwrite an existing file; renames where the file system has no links. */
async function giveName(part: string, file: string): Promise<void> {
  try {
    await link(part, file);
  } catch (error) {
    if (existsSync(file)) throw error;
    await rename(part, file);
    return;
  }
  await rm(part);
}
