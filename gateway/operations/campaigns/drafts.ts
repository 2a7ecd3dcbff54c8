/** Campaigns: list, create, read, change, delete. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CampaignContentSchema } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { isId } from "../../../services/shared/core/ids.ts";
import { PAGE_DEFAULT } from "../../../services/shared/core/limits.ts";
import { parseAmount } from "../../../services/shared/core/money.ts";
import { parseInstant } from "../../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import {
  CAMPAIGN_EXAMPLE,
  DRAFT_EXAMPLE,
  NEW_CAMPAIGN_EXAMPLE,
} from "../../docs/content/campaign-samples.ts";
import { dataOf, type OperationDoc, pageOf } from "../../docs/operation-doc.ts";
import { readPageCursor } from "../../lists/page-cursor.ts";
import { CAMPAIGN_STATUS_NUMBERS, QUIET_HOURS, renderCampaign } from "../../render/campaigns.ts";
import { CAMPAIGN_CHANGE, CAMPAIGN_LIST, NEW_CAMPAIGN } from "../../schemas/campaigns.ts";
import { compileQuery, queryFaults, refuseQuery } from "../../schemas/query.ts";
import { compileSchema, refuse } from "../../schemas/validate.ts";
import type { Operation } from "../operation.ts";
import {
  CAMPAIGN_PARAM,
  type CampaignPorts,
  COLLECTION,
  campaignOperation,
  campaignTarget,
  type Handler,
  keyedResponse,
  ONE,
  readCampaignRequest,
  refuseFound,
  renderFound,
} from "./campaign-operation.ts";

const readQuery = compileQuery(CAMPAIGN_LIST);
const validateNew = compileSchema(NEW_CAMPAIGN);
const validateChange = compileSchema(CAMPAIGN_CHANGE);

/** Creates the operations. */
export function draftOperations(ports: CampaignPorts): Operation[] {
  return [
    campaignOperation(ports, "GET", COLLECTION, LIST, list),
    campaignOperation(ports, "POST", COLLECTION, CREATE, create),
    campaignOperation(ports, "GET", ONE, READ, read),
    campaignOperation(ports, "PATCH", ONE, UPDATE, update),
    campaignOperation(ports, "DELETE", ONE, DELETE, remove),
  ];
}

const SHOWN = dataOf("Campaign");

const LIST: Omit<OperationDoc, "tag"> = {
  id: "listCampaigns",
  summary: "List campaigns",
  description: "Newest first, of the key's mode.",
  query: CAMPAIGN_LIST,
  response: {
    status: 200,
    description: "One page.",
    schema: pageOf("Campaign"),
    example: { data: [CAMPAIGN_EXAMPLE], next_cursor: null },
  },
  errors: ["validation_error"],
};

type ListQuery = {
  readonly status?: readonly (keyof typeof CAMPAIGN_STATUS_NUMBERS)[];
  readonly limit?: number;
  readonly cursor?: string;
};

const list: Handler = async ({ campaigns, cursors }, { caller, query: text }) => {
  const { values, faults } = readQuery(text);
  const query = values as ListQuery;
  const statuses = [...new Set(query.status)].sort();
  const start = readPageCursor(cursors, {
    list: "campaigns",
    filters: [caller.tenantId, caller.mode, statuses],
    cursor: query.cursor,
    isEntry: (text) => isId("campaign", text),
  });
  refuse([...faults, ...start.faults]);
  const page = await rpcAnswer(
    campaigns.listCampaigns({
      tenantId: caller.tenantId,
      mode: caller.mode,
      statuses: statuses.map((status) => CAMPAIGN_STATUS_NUMBERS[status]),
      limit: query.limit ?? PAGE_DEFAULT,
      beforeId: start.after,
    }),
  );
  const next_cursor = start.next(page.hasMore ? page.campaigns.at(-1)?.id : undefined);
  return { status: 200, body: { data: page.campaigns.map(renderCampaign), next_cursor } };
};

const CREATE: Omit<OperationDoc, "tag"> = {
  id: "createCampaign",
  summary: "Create a campaign",
  description: "A draft: add recipients, then start it. An account has at most 100 open campaigns.",
  body: {
    name: "NewCampaign",
    isRequired: true,
    example: NEW_CAMPAIGN_EXAMPLE,
  },
  takesIdempotencyKey: true,
  response: {
    status: 201,
    description: "Created.",
    schema: SHOWN,
    example: { data: DRAFT_EXAMPLE },
    headers: ["Location", "Idempotent-Replayed"],
    leadsTo: {
      getCampaign: "campaign_id",
      updateCampaign: "campaign_id",
      deleteCampaign: "campaign_id",
      addCampaignRecipients: "campaign_id",
      startCampaign: "campaign_id",
    },
  },
  errors: ["conflict", "idempotency_key_reused", "validation_error"],
};

const create: Handler = async (ports, request) => {
  const options = { validate: validateNew, isBodyRequired: true };
  const { body, keyed } = await readCampaignRequest(ports, request, options);
  const { tenantId, mode } = request.caller;
  const content = toContent(body);
  const made = await rpcAnswer(
    ports.campaigns.createCampaign({ tenantId, mode, content, ...keyed }),
  );
  const campaign = renderFound(made);
  const location = { Location: `${COLLECTION}/${campaign.id}` };
  return keyedResponse(201, campaign, made.replayed, location);
};

const READ: Omit<OperationDoc, "tag"> = {
  id: "getCampaign",
  summary: "Read a campaign",
  description: "Its state and its progress, at most 5 seconds old while it runs.",
  params: CAMPAIGN_PARAM,
  response: {
    status: 200,
    description: "The campaign.",
    schema: SHOWN,
    example: { data: CAMPAIGN_EXAMPLE },
  },
  errors: ["not_found", "validation_error"],
};

const read: Handler = async ({ campaigns }, request) => {
  const target = campaignTarget(request);
  const data = renderFound(await rpcAnswer(campaigns.getCampaign(target)));
  refuseQuery(request.query);
  return { status: 200, body: { data } };
};

const UPDATE: Omit<OperationDoc, "tag"> = {
  id: "updateCampaign",
  summary: "Change a draft",
  description: "Members that are absent keep their value; null removes it.",
  params: CAMPAIGN_PARAM,
  body: {
    name: "CampaignChange",
    isRequired: true,
    example: { rate_per_second: 50 },
  },
  response: {
    status: 200,
    description: "The changed draft.",
    schema: SHOWN,
    example: { data: { ...DRAFT_EXAMPLE, rate_per_second: 50 } },
  },
  errors: ["not_found", "invalid_state_transition", "validation_error"],
};

const update: Handler = async (ports, request) => {
  const target = campaignTarget(request);
  const unkeyed = { ...request, idempotencyKey: undefined };
  const options = { validate: validateChange, isBodyRequired: true };
  const { body } = await readCampaignRequest(ports, unkeyed, options);
  const fields = Object.keys(body).map((name) => FIELDS[name] ?? name);
  const content = toContent(body);
  const answer = await rpcAnswer(ports.campaigns.updateCampaign({ ...target, content, fields }));
  return { status: 200, body: { data: renderFound(answer) } };
};

const DELETE: Omit<OperationDoc, "tag"> = {
  id: "deleteCampaign",
  summary: "Delete a draft",
  description: "With its recipients. A campaign that was started is cancelled instead.",
  params: CAMPAIGN_PARAM,
  response: { status: 204, description: "Deleted." },
  errors: ["not_found", "invalid_state_transition", "validation_error"],
};

const remove: Handler = async ({ campaigns }, request) => {
  const target = campaignTarget(request);
  await refuseFound(campaigns, request, queryFaults(request.query));
  await rpcAnswer(campaigns.deleteCampaign(target));
  return { status: 204 };
};

/** Names of the content's members in the protocol, where they differ. */
const FIELDS: Readonly<Record<string, string>> = { send_at: "send_at_ms" };

function toContent(
  body: Readonly<Record<string, unknown>>,
): MessageInitShape<typeof CampaignContentSchema> {
  const sendAt = body.send_at as string | null | undefined;
  const budget = body.budget_amount as string | null | undefined;
  const quietHours = body.quiet_hours as keyof typeof QUIET_HOURS | null | undefined;
  const budgetAmount = typeof budget === "string" ? parseAmount(budget) : undefined;
  return {
    name: String(body.name ?? "").toWellFormed(),
    from: String(body.from ?? ""),
    body: String(body.body ?? ""),
    sendAtMs: BigInt(sendAt ? (parseInstant(sendAt) ?? 0) : 0),
    ratePerSecond: (body.rate_per_second as number | null | undefined) ?? 0,
    ...(budgetAmount === undefined ? {} : { budgetAmount }),
    ...(quietHours ? { quietHours: QUIET_HOURS[quietHours] } : {}),
    clientReference: (body.client_reference as string | null | undefined) ?? "",
  };
}
