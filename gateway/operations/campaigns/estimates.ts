/** Estimate, preview and test of a campaign before it starts. */
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import {
  ESTIMATE_EXAMPLE,
  PREVIEW_EXAMPLE,
  TEST_EXAMPLE,
} from "../../docs/content/campaign-samples.ts";
import { componentRef, dataOf, NO_BODY, type OperationDoc } from "../../docs/operation-doc.ts";
import { renderEstimate, renderPreview, renderTest } from "../../render/campaigns.ts";
import { CAMPAIGN_TEST, PREVIEW } from "../../schemas/campaigns.ts";
import { compileSchema } from "../../schemas/validate.ts";
import { EMPTY_BODY } from "../../schemas/webhooks.ts";
import { LONG_CALL } from "../long-call.ts";
import type { Operation } from "../operation.ts";
import { keepQuota, takeTestQuota } from "../sends/take-test-quota.ts";
import {
  CAMPAIGN_PARAM,
  type CampaignPorts,
  campaignOperation,
  campaignTarget,
  type Handler,
  keyedResponse,
  ONE,
  readCampaignRequest,
} from "./campaign-operation.ts";

const validateEmpty = compileSchema(EMPTY_BODY);
const validatePreview = compileSchema(PREVIEW);
const validateTest = compileSchema(CAMPAIGN_TEST);

/** Creates the operations. */
export function estimateOperations(ports: CampaignPorts): Operation[] {
  return [
    campaignOperation(ports, "POST", `${ONE}/estimate`, ESTIMATE, estimate, { isScan: true }),
    campaignOperation(ports, "POST", `${ONE}/preview`, SHOW, preview),
    campaignOperation(ports, "POST", `${ONE}/test`, TEST, test),
  ];
}

const SENDER_ERRORS = [
  "not_found",
  "email_not_verified",
  "tenant_suspended",
  "sender_id_not_approved",
  "validation_error",
] as const;

const ESTIMATE: Omit<OperationDoc, "tag"> = {
  id: "estimateCampaign",
  summary: "Estimate a campaign",
  description:
    "Checks and prices each recipient that waits: the segments of its own text, and the most that it can cost. " +
    "Nothing is held.",
  params: CAMPAIGN_PARAM,
  body: NO_BODY,
  takesIdempotencyKey: true,
  response: {
    status: 200,
    description: "The estimate.",
    schema: dataOf("CampaignEstimate"),
    example: { data: ESTIMATE_EXAMPLE },
  },
  errors: SENDER_ERRORS,
};

const estimate: Handler = async (ports, request) => {
  const target = campaignTarget(request);
  const options = { validate: validateEmpty, isBodyRequired: false };
  await readCampaignRequest(ports, request, options);
  const made = await rpcAnswer(ports.campaigns.estimateCampaign(target, LONG_CALL));
  return { status: 200, body: { data: renderEstimate(made) } };
};

const SHOW: Omit<OperationDoc, "tag"> = {
  id: "previewCampaign",
  summary: "Preview texts",
  description: "The texts of the first recipients, with their variables.",
  params: CAMPAIGN_PARAM,
  body: {
    name: "CampaignPreviewRequest",
    isRequired: false,
    example: { limit: 1 },
  },
  takesIdempotencyKey: true,
  response: {
    status: 200,
    description: "The texts.",
    schema: componentRef("CampaignPreviewList"),
    example: { data: [PREVIEW_EXAMPLE] },
  },
  errors: ["not_found", "validation_error"],
};

const preview: Handler = async (ports, request) => {
  const target = campaignTarget(request);
  const options = { validate: validatePreview, isBodyRequired: false };
  const { body } = await readCampaignRequest(ports, request, options);
  const limit = (body.limit as number | undefined) ?? 0;
  const { previews } = await rpcAnswer(ports.campaigns.previewCampaign({ ...target, limit }));
  return { status: 200, body: { data: previews.map(renderPreview) } };
};

const TEST: Omit<OperationDoc, "tag"> = {
  id: "testCampaign",
  summary: "Send a test",
  description:
    "Sends the text, with the variables of the first recipient, to at most 5 numbers. The messages have the source " +
    "`test_send`, and cost what messages cost. With a test key they count for the daily quota of test messages.",
  params: CAMPAIGN_PARAM,
  body: {
    name: "CampaignTest",
    isRequired: true,
    example: { to: ["+2348031234567"] },
  },
  takesIdempotencyKey: true,
  response: {
    status: 202,
    description: "The messages.",
    schema: dataOf("CampaignTestResult"),
    example: { data: TEST_EXAMPLE },
    headers: ["Idempotent-Replayed"],
  },
  errors: [...SENDER_ERRORS, "conflict", "idempotency_key_reused", "insufficient_balance"],
};

const test: Handler = async (ports, request) => {
  const target = campaignTarget(request);
  const options = { validate: validateTest, isBodyRequired: true };
  const { body, keyed } = await readCampaignRequest(ports, request, options);
  const to = (body.to as readonly string[]).map((number) => number.toWellFormed());
  const send = (storedOnly: boolean) =>
    rpcAnswer(ports.campaigns.sendCampaignTest({ ...target, to, ...keyed, storedOnly }, LONG_CALL));
  let refund: (() => void) | undefined;
  try {
    refund = await takeTestQuota(ports.testQuota, request.caller, to.length);
  } catch (error) {
    // A repeated request gets its stored response, also beyond the quota.
    if (keyed.idempotencyKey === "") throw error;
    const stored = await send(true);
    if (!stored.replayed) throw error;
    return keyedResponse(202, renderTest(stored), true);
  }
  const sent = await keepQuota(refund, () => send(false));
  return keyedResponse(202, renderTest(sent), sent.replayed);
};
