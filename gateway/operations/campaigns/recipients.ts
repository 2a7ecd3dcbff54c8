/** The recipients of a campaign: add, list, remove. */
import { hash } from "node:crypto";
import { PAGE_DEFAULT } from "../../../services/shared/core/limits.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import {
  DRAFT_EXAMPLE,
  IMPORT_EXAMPLE,
  RECIPIENT_CSV_EXAMPLE,
  RECIPIENT_EXAMPLE,
  RECIPIENTS_CSV_EXAMPLE,
  RECIPIENTS_EXAMPLE,
} from "../../docs/content/campaign-samples.ts";
import { dataOf, type OperationDoc, pageOf } from "../../docs/operation-doc.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import { csvPage } from "../../lists/csv-page.ts";
import { readPageCursor } from "../../lists/page-cursor.ts";
import {
  RECIPIENT_STATUS_NUMBERS,
  renderImport,
  renderRecipient,
  renderRecipientsCsv,
} from "../../render/campaigns.ts";
import { NEW_RECIPIENTS, RECIPIENT_LIST } from "../../schemas/campaigns.ts";
import { emptyFileFaults } from "../../schemas/parse-body.ts";
import { compileQuery, queryFaults } from "../../schemas/query.ts";
import { compileSchema } from "../../schemas/validate.ts";
import { LONG_CALL } from "../long-call.ts";
import type { Operation, OperationRequest } from "../operation.ts";
import {
  CAMPAIGN_PARAM,
  type CampaignPorts,
  campaignOperation,
  campaignTarget,
  type Handler,
  keyedBy,
  keyedResponse,
  ONE,
  readCampaignRequest,
  refuseFound,
  renderFound,
} from "./campaign-operation.ts";

const PATH = `${ONE}/recipients`;
const readQuery = compileQuery(RECIPIENT_LIST);
const validateRows = compileSchema(NEW_RECIPIENTS);

/** Creates the operations. */
export function recipientOperations(ports: CampaignPorts): Operation[] {
  return [
    campaignOperation(ports, "POST", PATH, ADD, add),
    campaignOperation(ports, "GET", PATH, LIST, list),
    campaignOperation(ports, "DELETE", PATH, CLEAR, clear),
  ];
}

const ADD: Omit<OperationDoc, "tag"> = {
  id: "addCampaignRecipients",
  summary: "Add recipients",
  description:
    "To a draft, up to 1,000 rows as JSON, or a CSV file: UTF-8, a header row with a column `to`; every column but " +
    "`to` and `client_reference` is a variable. Of one number the first row counts. A row that is wrong is " +
    "rejected on its own. Not atomic: after an error, repeat it; rows that were added count as duplicates then.",
  params: CAMPAIGN_PARAM,
  body: {
    name: "NewCampaignRecipients",
    isRequired: true,
    example: RECIPIENTS_EXAMPLE,
    csvExample: RECIPIENTS_CSV_EXAMPLE,
  },
  takesIdempotencyKey: true,
  response: {
    status: 200,
    description: "The counts of taken and rejected rows.",
    schema: dataOf("CampaignImport"),
    example: { data: IMPORT_EXAMPLE },
    headers: ["Idempotent-Replayed"],
  },
  errors: [
    "not_found",
    "conflict",
    "idempotency_key_reused",
    "invalid_state_transition",
    "validation_error",
  ],
};

type Row = {
  readonly to: string;
  readonly variables?: Readonly<Record<string, string>> | null;
  readonly client_reference?: string | null;
};

const add: Handler = async (ports, request) => {
  const target = campaignTarget(request);
  const rows = request.isCsv ? await readFile(ports, request) : await readRows(ports, request);
  const made = await rpcAnswer(ports.campaigns.addRecipients({ ...target, ...rows }, LONG_CALL));
  return keyedResponse(200, renderImport(made), made.replayed);
};

async function readRows(ports: CampaignPorts, request: OperationRequest) {
  const options = { validate: validateRows, isBodyRequired: true };
  const { body, keyed } = await readCampaignRequest(ports, request, options);
  const rows = (body.recipients as readonly Row[]).map((row) => ({
    to: row.to.toWellFormed(),
    variables: wellFormed(row.variables ?? {}),
    clientReference: (row.client_reference ?? "").toWellFormed(),
  }));
  return { rows, ...keyed };
}

/** Protobuf carries no half of a surrogate pair; the replacement character shows where one was. */
function wellFormed(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]),
  );
}

async function readFile({ campaigns }: CampaignPorts, request: OperationRequest) {
  const { key, faults: keyFaults } = readIdempotencyKey(request.idempotencyKey);
  const { bodyBytes: csv, query } = request;
  const faults = [...queryFaults(query), ...keyFaults, ...emptyFileFaults(csv)];
  await refuseFound(campaigns, request, faults);
  // The bytes of a file identify its request.
  return { csv, ...keyedBy(key, request, key === "" ? "" : hash("sha256", csv)) };
}

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listCampaignRecipients",
  summary: "List recipients",
  description:
    "In the order of their addition, each with its status. With `Accept: text/csv` a page is a file, and the " +
    "header `Link` leads to the next one.",
  params: CAMPAIGN_PARAM,
  query: RECIPIENT_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("CampaignRecipient"),
    example: { data: [RECIPIENT_EXAMPLE], next_cursor: null },
    csvExample: RECIPIENT_CSV_EXAMPLE,
  },
  errors: ["not_found", "validation_error"],
};

type ListQuery = {
  readonly status?: readonly (keyof typeof RECIPIENT_STATUS_NUMBERS)[];
  readonly limit?: number;
  readonly cursor?: string;
};

const list: Handler = async ({ campaigns, cursors }, request) => {
  const target = campaignTarget(request);
  const { values, faults } = readQuery(request.query);
  const query = values as ListQuery;
  const statuses = [...new Set(query.status)].sort();
  const start = readPageCursor(cursors, {
    list: "recipients",
    filters: [target.tenantId, target.campaignId, statuses],
    cursor: query.cursor,
    isEntry: (text) => /^\d{1,9}$/.test(text),
  });
  await refuseFound(campaigns, request, [...faults, ...start.faults]);
  const page = await rpcAnswer(
    campaigns.listRecipients({
      ...target,
      statuses: statuses.map((status) => RECIPIENT_STATUS_NUMBERS[status]),
      limit: query.limit ?? PAGE_DEFAULT,
      ...(start.after === "" ? {} : { afterIndex: Number(start.after) }),
    }),
  );
  const last = page.recipients.at(-1);
  const next_cursor = start.next(page.hasMore && last ? String(last.index) : undefined);
  if (!request.wantsCsv) {
    return { status: 200, body: { data: page.recipients.map(renderRecipient), next_cursor } };
  }
  const path = PATH.replace(":campaign_id", target.campaignId);
  return csvPage(renderRecipientsCsv(page.recipients), next_cursor, path, request.query);
};

const CLEAR: Omit<OperationDoc, "tag"> = {
  id: "removeCampaignRecipients",
  summary: "Remove all recipients",
  description: "Of a draft.",
  params: CAMPAIGN_PARAM,
  response: {
    status: 200,
    description: "The draft without recipients.",
    schema: dataOf("Campaign"),
    example: { data: DRAFT_EXAMPLE },
  },
  errors: ["not_found", "invalid_state_transition", "validation_error"],
};

const clear: Handler = async ({ campaigns }, request) => {
  const target = campaignTarget(request);
  await refuseFound(campaigns, request, queryFaults(request.query));
  const cleared = await rpcAnswer(campaigns.clearRecipients(target, LONG_CALL));
  return { status: 200, body: { data: renderFound(cleared) } };
};
