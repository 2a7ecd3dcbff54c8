/** The wallet's statement: pages as JSON, or a whole range as one CSV file. */
import { Readable } from "node:stream";
import type { Client } from "@connectrpc/connect";
import type { Entry, WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import type { Clock } from "../../services/shared/core/clock.ts";
import { AppError, type FieldError } from "../../services/shared/core/errors.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { parseBound } from "../../services/shared/core/rfc3339.ts";
import { startDeadlineTimer } from "../../services/shared/flow/deadline-timer.ts";
import type { WeightedSemaphore } from "../../services/shared/flow/weighted-semaphore.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { STATEMENT_CSV_EXAMPLE, WALLET_ENTRY_EXAMPLE } from "../docs/content/account-samples.ts";
import { pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import {
  ENTRY_KIND_NUMBERS,
  renderStatementCsv,
  renderWalletEntry,
  STATEMENT_CSV_HEADER,
} from "../render/wallet-entry.ts";
import { compileQuery } from "../schemas/query.ts";
import { refuse } from "../schemas/validate.ts";
import { BALANCE_KINDS, WALLET_ENTRY_LIST } from "../schemas/wallet.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type StatementPorts = {
  readonly wallets: Client<typeof WalletService>;
  readonly cursors: Cursors;
  readonly clock: Clock;
  /** The longest time range of one request. */
  readonly spanMaxMs: number;
  /** Limits the files that are written at once, in total and for each account. */
  readonly exports: WeightedSemaphore;
};

const DAY_MS = 86_400_000;
const DEFAULT_MS = 31 * DAY_MS;
/** Entries that a file reads with one call. */
const CSV_PAGE = 1000;
/** A file that takes longer ends as a broken transfer, so a slow reader does not keep its place for ever. */
const EXPORT_MAX_MS = 600_000;

const readQuery = compileQuery(WALLET_ENTRY_LIST);

/** Lists the movements of the wallet (`docs/contract.md#statement`). */
export function listWalletEntriesOperation(ports: StatementPorts): Operation {
  return {
    method: "GET",
    path: "/v1/wallet/entries",
    scope: "wallet:read",
    doc: {
      id: "listWalletEntries",
      tag: "Balance",
      summary: "Read the statement",
      description:
        "Newest first, with the balance after each line; the last 31 days unless bounds are given, 92 days at most. " +
        "With `Accept: text/csv` the answer is one file with every line of the range; `limit` and `cursor` are not " +
        "for it. A transfer that breaks off is not complete: read it again. One file at a time is written for an " +
        "account; another one answers 429.",
      query: WALLET_ENTRY_LIST,
      response: {
        status: 200,
        description: "One page, or the file.",
        schema: pageOf("WalletEntry"),
        example: { data: [WALLET_ENTRY_EXAMPLE], next_cursor: null },
        csvExample: STATEMENT_CSV_EXAMPLE,
      },
      errors: ["validation_error"],
    },
    handle: (request) => list(ports, request),
  };
}

type Query = {
  readonly kind?: readonly (keyof typeof ENTRY_KIND_NUMBERS)[];
  readonly created_after?: string;
  readonly created_before?: string;
  readonly campaign_id?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

type Range = { readonly fromMs: number; readonly toMs: number };

/** A cursor's text, `<start>.<end>.<place>`: every page has the range of the first. */
const PLACE = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15}\.\d{1,6})$/;

async function list(ports: StatementPorts, request: OperationRequest): Promise<OperationResponse> {
  const { tenantId } = request.caller;
  const { values, faults } = readQuery(request.query);
  const query = values as Query;
  const wanted = query.kind ?? BALANCE_KINDS;
  const names = [...new Set(wanted)].sort();
  const campaignId = query.campaign_id ?? "";
  const start = readPageCursor(ports.cursors, {
    list: "wallet_entries",
    filters: [
      ...[tenantId, names, query.created_after ?? null, query.created_before ?? null],
      // Leave the campaign out when absent: cursors of the previous release do not have this filter.
      ...(campaignId === "" ? [] : [campaignId]),
    ],
    cursor: query.cursor,
    isEntry: (text) => PLACE.test(text),
  });
  const place = PLACE.exec(start.after);
  const asked = rangeOf(query, ports);
  const range = place === null ? asked.range : { fromMs: Number(place[1]), toMs: Number(place[2]) };
  const problems = [...faults, ...start.faults, ...(place === null ? asked.faults : [])];
  refuse([...problems, ...(request.wantsCsv ? pageFaults(query) : [])]);
  const kinds = names.map((name) => ENTRY_KIND_NUMBERS[name]);
  const isEmpty = range.fromMs >= range.toMs;
  const read = (limit: number, cursor: string) => {
    if (isEmpty) return Promise.resolve({ entries: [] as Entry[], nextCursor: "" });
    const bounds = { fromMs: BigInt(range.fromMs), toMs: BigInt(range.toMs) };
    const wish = { ...bounds, kinds, campaignId, limit, cursor };
    return rpcAnswer(ports.wallets.listEntries({ tenantId, ...wish }));
  };
  if (request.wantsCsv) return exportFile(ports, tenantId, read);
  const page = await read(query.limit ?? PAGE_DEFAULT, place?.[3] ?? "");
  const last = page.nextCursor === "" ? "" : `${range.fromMs}.${range.toMs}.${page.nextCursor}`;
  const data = page.entries.map(renderWalletEntry);
  return { status: 200, body: { data, next_cursor: start.next(last) } };
}

function rangeOf(
  query: Query,
  { clock, spanMaxMs }: StatementPorts,
): { readonly range: Range; readonly faults: readonly FieldError[] } {
  const toMs = Math.max(1, parseBound(query.created_before ?? "") ?? clock.now() + 1);
  const fromMs = Math.max(0, parseBound(query.created_after ?? "") ?? toMs - DEFAULT_MS);
  const range = { fromMs, toMs };
  if (toMs - fromMs <= spanMaxMs + 1000) return { range, faults: [] };
  const message = `One request covers at most ${Math.floor(spanMaxMs / DAY_MS)} days.`;
  return { range, faults: [{ field: "created_before", code: "range_too_large", message }] };
}

function pageFaults(query: Query): FieldError[] {
  const message = "A file has every line of the range.";
  return (["limit", "cursor"] as const)
    .filter((name) => query[name] !== undefined)
    .map((field) => ({ field, code: "invalid_value", message }));
}

type Read = (
  limit: number,
  cursor: string,
) => Promise<{ readonly entries: readonly Entry[]; readonly nextCursor: string }>;

/**
 * Writes a file page by page, as fast as the client reads it. The first page is read before the answer begins, so that
 * its errors are problems. A later error breaks the transfer off: a file that ends early must not look complete.
 */
async function exportFile(
  { exports }: StatementPorts,
  tenantId: string,
  read: Read,
): Promise<OperationResponse> {
  const release = await exports.acquire(tenantId, 1);
  if (release === undefined) {
    const message = "Another statement of this account is being written.";
    throw new AppError("rate_limited", message, { retryAfterMs: 5000 });
  }
  try {
    const first = await read(CSV_PAGE, "");
    const csvStream = Readable.from(pagesOf(first, read));
    const tooLong = () => void csvStream.destroy(new Error("The file takes too long."));
    const timer = startDeadlineTimer(EXPORT_MAX_MS, tooLong);
    // The stream also closes when the client leaves or reads nothing.
    csvStream.once("close", () => {
      clearTimeout(timer);
      release();
    });
    return { status: 200, csvStream };
  } catch (error) {
    release();
    throw error;
  }
}

async function* pagesOf(first: Awaited<ReturnType<Read>>, read: Read): AsyncGenerator<string> {
  yield `${STATEMENT_CSV_HEADER}${renderStatementCsv(first.entries)}`;
  let { nextCursor } = first;
  while (nextCursor !== "") {
    const page = await read(CSV_PAGE, nextCursor);
    nextCursor = page.nextCursor;
    yield renderStatementCsv(page.entries);
  }
}
