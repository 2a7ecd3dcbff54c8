/** `sms send --csv`: the rows of a file as batches, each under a key that a repeat makes again. */
import { readFileSync, statSync } from "node:fs";
import type { Row } from "../../../services/shared/cli/cell.ts";
import { EXIT } from "../../../services/shared/cli/exit-codes.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createRowFaults, type RowFault } from "../../../services/shared/core/row-faults.ts";
import { TRAFFIC_CLASSES } from "../../../services/shared/core/traffic-class.ts";
import { readCsv } from "../../../services/shared/io/read-csv.ts";
import { createSmsClient, type DataOf, isSmsError } from "../../typescript/src/client.ts";
import { accountOf } from "../calls/connect.ts";
import type { CommandContext } from "../cli/command.ts";
import { toCliError } from "../cli/errors.ts";
import { readWord } from "../cli/words.ts";
import { type Chunk, chunksOf } from "../send/chunks.ts";
import { createRowReader, type SendRow } from "../send/rows.ts";
import { parseText } from "../send/text.ts";

/** All rows are read before the first is sent, so that a broken file sends nothing. */
const FILE_BYTES_MAX = 67_108_864;
const FORM = { required: "to", known: ["body", "client_reference"], columnsMax: 64 };
/** A long send survives an outage of a minute. */
const RETRIES = 6;

type Faults = ReturnType<typeof createRowFaults>;

export async function sendFile(context: CommandContext): Promise<number> {
  const { options, output, signal } = context;
  const scope = {
    from: options.required("from"),
    trafficClass: readWord(options, "class", TRAFFIC_CLASSES),
    word: options.named("idempotency-key"),
  };
  const account = accountOf(options, process.env);
  const faults = createRowFaults();
  const rows = await readRows(context, faults);
  let isReplayed = false;
  const sms = createSmsClient({
    ...{ apiKey: account.api_key, baseUrl: account.base_url, maxRetries: RETRIES },
    onResponse: (seen) => {
      isReplayed = seen.isReplayed;
    },
  });
  const total = { accepted: 0, sent_before: 0 };
  let done = 0;
  for (const chunk of chunksOf(rows, scope)) {
    const { from, trafficClass } = scope;
    const content = { from, messages: chunk.rows.map(({ item }) => item) };
    const batch =
      trafficClass === undefined ? content : { ...content, traffic_class: trafficClass };
    try {
      const sent = await sms.messages.sendBatch(batch, { idempotencyKey: chunk.key, signal });
      if (isReplayed) total.sent_before += sent.accepted;
      else total.accepted += sent.accepted;
      addRejected(sent, chunk, faults);
    } catch (thrown) {
      const { sent_before, accepted } = total;
      process.stderr.write(stopped(signal.aborted, done, rows.length, accepted + sent_before));
      if (signal.aborted) throw thrown;
      throw withLines(thrown, chunk);
    }
    done += chunk.rows.length;
    process.stderr.write(`${done} of ${rows.length} rows, ${faults.result().rejected} rejected\n`);
  }
  const { rejected, faults: kept } = faults.result();
  await output.result({ ...total, rejected, rejected_rows: shownFaults(kept) });
  if (rejected === 0) return 0;
  output.note("Correct rejected rows in a file of their own: a changed batch is sent again.");
  return EXIT.refused;
}

async function readRows({ options }: CommandContext, faults: Faults): Promise<SendRow[]> {
  const body = options.named("body");
  const readRow = createRowReader({
    text: body === undefined ? undefined : parseText(body),
    reference: options.named("reference"),
  });
  const rows: SendRow[] = [];
  for await (const found of readCsv(readFile(options.required("csv")), FORM)) {
    const row = "cells" in found ? readRow(found) : found;
    if ("item" in row) rows.push(row);
    else faults.add(row);
  }
  if (rows.length + faults.result().rejected > 0) return rows;
  throw new AppError("validation_error", "The file has no rows after its header.");
}

function readFile(path: string): Buffer {
  let isTooLarge: boolean;
  let bytes = Buffer.alloc(0);
  try {
    isTooLarge = path !== "-" && statSync(path).size > FILE_BYTES_MAX;
    if (!isTooLarge) bytes = readFileSync(path === "-" ? 0 : path);
  } catch (error) {
    throw new AppError("validation_error", `--csv cannot be read: ${(error as Error).message}`);
  }
  if (!isTooLarge && bytes.length <= FILE_BYTES_MAX) return bytes;
  throw new AppError("validation_error", "--csv is over 64 MiB: split it, or create a campaign.");
}

function addRejected({ messages }: DataOf<"sendBatch">, chunk: Chunk, faults: Faults): void {
  for (const { index, error } of messages) {
    if (error === null) continue;
    const line = chunk.rows[index]?.line ?? 0;
    faults.add({ line, field: "to", code: error.code, message: error.message });
  }
}

/** In the order of the file: those of the API come after those that were found here. */
function shownFaults(faults: readonly RowFault[]): Row[] {
  return faults
    .toSorted((one, other) => one.line - other.line)
    .map(({ line, code, message }) => ({ line, code, message }));
}

/** Said before the error: what a send that ended early has done, and how to continue. */
function stopped(isInterrupted: boolean, done: number, all: number, accepted: number): string {
  const why = isInterrupted ? "interrupted" : "stopped";
  return (
    `sms: ${why} after ${done} of ${all} rows (${accepted} accepted). Within 24 hours the same command ` +
    "with the same file continues, and sends to no number twice.\n"
  );
}

/** `messages[3].body` of a request as the line of the file. */
function withLines(thrown: unknown, chunk: Chunk): unknown {
  if (!isSmsError(thrown)) return thrown;
  const { code, message, fields, extra } = toCliError(thrown);
  const lined = fields.map((fault) => {
    const [, at = "", rest = ""] = /^messages\[(\d+)\]\.?(.*)$/.exec(fault.field) ?? [];
    const line = at === "" ? undefined : chunk.rows[Number(at)]?.line;
    return line === undefined ? fault : { ...fault, field: `line ${line} ${rest}`.trim() };
  });
  return new AppError(code, message, { fields: lined, extra, cause: thrown });
}
