import { once } from "node:events";
import { open } from "node:fs/promises";
import { EntryKind } from "../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../shared/core/errors.ts";
import { formatAmount } from "../shared/core/money.ts";
import type { Clients } from "./clients.ts";

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
] as const;

/** Writes every entry of a range as CSV (RFC 4180), newest first; answers how many. */
export async function exportStatement(
  clients: Clients,
  wanted: { tenantId: string; fromMs: bigint; toMs: bigint; kinds: EntryKind[] },
  file: string,
): Promise<number> {
  const stream = file === "-" ? process.stdout : await create(file);
  await write(stream, COLUMNS);
  let cursor = "";
  let count = 0;
  do {
    const page = await clients.wallets.listEntries({ ...wanted, limit: 1000, cursor });
    for (const entry of page.entries) {
      const change = (account: string) =>
        formatAmount(entry.postings.find((posting) => posting.account === account)?.amount ?? 0n);
      await write(stream, [
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
      ]);
    }
    count += page.entries.length;
    cursor = page.nextCursor;
  } while (cursor !== "");
  if (stream !== process.stdout) {
    stream.end();
    await once(stream, "finish");
  }
  return count;
}

/** Makes the file; one that is there already is not overwritten. */
async function create(file: string): Promise<NodeJS.WritableStream> {
  try {
    return (await open(file, "wx")).createWriteStream();
  } catch (error) {
    const { message } = error as Error;
    throw new AppError("validation_error", `${file} cannot be written: ${message}`);
  }
}

async function write(stream: NodeJS.WritableStream, cells: readonly string[]): Promise<void> {
  if (!stream.write(`${cells.map(quote).join(",")}\r\n`)) await once(stream, "drain");
}

/** Quotes what CSV needs quoted; a leading `=`, `+`, `-` or `@` of a text is no formula. */
function quote(cell: string): string {
  const isFormula = /^[=+@\t\r]/.test(cell) || /^-(?!\d)/.test(cell);
  const text = isFormula ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
