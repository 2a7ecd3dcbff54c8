/** Suppressions, the numbers that an account must not send to: list, add, remove. */
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { normaliseNumber } from "../../services/shared/core/phone.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { isTestKey } from "../auth/caller.ts";
import {
  NEW_SUPPRESSIONS_EXAMPLE,
  SUPPRESSION_EXAMPLE,
  SUPPRESSION_IMPORT_EXAMPLE,
  SUPPRESSION_LIST_CSV_EXAMPLE,
  SUPPRESSIONS_CSV_EXAMPLE,
} from "../docs/content/consent-samples.ts";
import { dataOf, type OperationDoc, pageOf } from "../docs/operation-doc.ts";
import { csvPage } from "../lists/csv-page.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import {
  renderSuppression,
  renderSuppressionImport,
  renderSuppressionsCsv,
} from "../render/consent.ts";
import { NEW_SUPPRESSIONS, ONE_SUPPRESSION, SUPPRESSION_LIST } from "../schemas/consent.ts";
import { emptyFileFaults, parseBody } from "../schemas/parse-body.ts";
import { compileQuery, queryFaults } from "../schemas/query.ts";
import { compileSchema, refuse } from "../schemas/validate.ts";
import type { InboundPorts } from "./inbound-messages.ts";
import { LONG_CALL } from "./long-call.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

const PATH = "/v1/suppressions";
const SCOPE = "suppressions:manage";
const readList = compileQuery(SUPPRESSION_LIST);
const readOne = compileQuery(ONE_SUPPRESSION);
const validateRows = compileSchema(NEW_SUPPRESSIONS);

/** Creates the operations (`docs/contract.md#consent`). */
export function suppressionOperations(ports: InboundPorts): Operation[] {
  const operation = (
    method: Operation["method"],
    path: string,
    doc: Omit<OperationDoc, "tag">,
    handler: (ports: InboundPorts, request: OperationRequest) => Promise<OperationResponse>,
  ): Operation => ({
    ...{ method, path, scope: SCOPE, isLiveOnly: method !== "GET" },
    doc: { tag: "Consent", ...doc },
    handle: (request) => handler(ports, request),
  });
  return [
    operation("GET", PATH, LIST, list),
    operation("POST", PATH, ADD, add),
    operation("DELETE", `${PATH}/:number`, REMOVE, remove),
  ];
}

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listSuppressions",
  summary: "List suppressions",
  description:
    "By number. With `Accept: text/csv` a page is a file, and the header `Link` leads to the next one. A test key " +
    "has none.",
  query: SUPPRESSION_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("Suppression"),
    example: { data: [SUPPRESSION_EXAMPLE], next_cursor: null },
    csvExample: SUPPRESSION_LIST_CSV_EXAMPLE,
  },
  errors: ["validation_error"],
};

type ListQuery = { readonly number?: string; readonly limit?: number; readonly cursor?: string };

async function list(
  { consent, cursors }: InboundPorts,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { tenantId } = request.caller;
  const { values, faults } = readList(request.query);
  const query = values as ListQuery;
  const number = query.number === undefined ? "" : (normaliseNumber(query.number) ?? "-");
  const { cursor, limit = PAGE_DEFAULT } = query;
  const filters = [tenantId, number];
  const start = readPageCursor(cursors, { list: "suppressions", filters, cursor });
  refuse([...faults, ...start.faults]);
  // Suppressions have no modes; a test key sees nothing that is live.
  const page = isTestKey(request.caller)
    ? { suppressions: [], next: "" }
    : await rpcAnswer(consent.listSuppressions({ tenantId, number, limit, after: start.after }));
  const next_cursor = start.next(page.next);
  if (!request.wantsCsv) {
    return { status: 200, body: { data: page.suppressions.map(renderSuppression), next_cursor } };
  }
  return csvPage(renderSuppressionsCsv(page.suppressions), next_cursor, PATH, request.query);
}

const ADD: Omit<OperationDoc, "tag"> = {
  id: "addSuppressions",
  summary: "Add suppressions",
  description:
    "Up to 1,000 as JSON, or a CSV file with the columns `number`, `sender` and `reason`. A row that is wrong is " +
    "rejected on its own. A repeat changes nothing. A test key may not add any (403).",
  body: {
    name: "NewSuppressions",
    isRequired: true,
    example: NEW_SUPPRESSIONS_EXAMPLE,
    csvExample: SUPPRESSIONS_CSV_EXAMPLE,
  },
  response: {
    status: 200,
    description: "The counts of added and rejected rows.",
    schema: dataOf("SuppressionImport"),
    example: { data: SUPPRESSION_IMPORT_EXAMPLE },
  },
  errors: ["validation_error"],
};

type Row = {
  readonly number: string;
  readonly sender_id?: string | null;
  readonly reason?: string | null;
};

async function add(
  { consent }: InboundPorts,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { tenantId } = request.caller;
  const faults = queryFaults(request.query);
  if (request.isCsv) {
    refuse([...faults, ...emptyFileFaults(request.bodyBytes)]);
    const call = consent.addSuppressions({ tenantId, csv: request.bodyBytes }, LONG_CALL);
    return { status: 200, body: { data: renderSuppressionImport(await rpcAnswer(call)) } };
  }
  const read = parseBody(request.bodyBytes, validateRows);
  refuse([...faults, ...read.faults]);
  const rows = (read.body?.suppressions ?? []) as readonly Row[];
  const suppressions = rows.map((row) => ({
    number: row.number.toWellFormed(),
    sender: (row.sender_id ?? "").toWellFormed(),
    reason: (row.reason ?? "").toWellFormed(),
  }));
  const call = consent.addSuppressions({ tenantId, suppressions, source: "api" }, LONG_CALL);
  return { status: 200, body: { data: renderSuppressionImport(await rpcAnswer(call)) } };
}

const REMOVE: Omit<OperationDoc, "tag"> = {
  id: "removeSuppression",
  summary: "Remove a suppression",
  description: "The number may be written to again. A test key may not do this (403).",
  params: { number: { type: "string", description: "E.164, or any form that a send takes." } },
  query: ONE_SUPPRESSION,
  response: { status: 204, description: "Removed." },
  errors: ["not_found", "validation_error"],
};

async function remove(
  { consent }: InboundPorts,
  { caller, params, query }: OperationRequest,
): Promise<OperationResponse> {
  const { values, faults } = readOne(query);
  refuse(faults);
  const sender = (values.sender_id as string | undefined) ?? "";
  const { tenantId } = caller;
  const number = params.number ?? "";
  await rpcAnswer(consent.removeSuppression({ tenantId, number, sender }));
  return { status: 204 };
}
