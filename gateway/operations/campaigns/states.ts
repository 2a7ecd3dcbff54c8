/** Starting, pausing, resuming and cancelling a campaign. */
import { type CampaignResponse, CampaignStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { CAMPAIGN_EXAMPLE } from "../../docs/content/campaign-samples.ts";
import { dataOf, NO_BODY, type OperationDoc } from "../../docs/operation-doc.ts";
import { compileSchema } from "../../schemas/validate.ts";
import { EMPTY_BODY } from "../../schemas/webhooks.ts";
import { LONG_CALL } from "../long-call.ts";
import type { Operation, OperationRequest } from "../operation.ts";
import { keepQuota, takeTestQuota } from "../sends/take-test-quota.ts";
import {
  CAMPAIGN_PARAM,
  type CampaignClient,
  type CampaignPorts,
  campaignOperation,
  campaignTarget,
  type Handler,
  keyedResponse,
  ONE,
  readCampaignRequest,
  renderFound,
} from "./campaign-operation.ts";

const validateEmpty = compileSchema(EMPTY_BODY);

type Target = ReturnType<typeof campaignTarget> & {
  readonly idempotencyKey: string;
  readonly fingerprint: Buffer;
};
type Change = (campaigns: CampaignClient, target: Target) => Promise<CampaignResponse>;
type Quota = (ports: CampaignPorts, request: OperationRequest) => Promise<(() => void) | undefined>;

/** Creates the operations. */
export function stateOperations(ports: CampaignPorts): Operation[] {
  const operation = (
    name: string,
    doc: Omit<OperationDoc, "tag">,
    change: Change,
    quota: Quota = NO_QUOTA,
    kind: Pick<Operation, "isScan"> = {},
  ) => campaignOperation(ports, "POST", `${ONE}/${name}`, doc, handlerOf(change, quota), kind);
  return [
    operation(
      "start",
      START,
      (campaigns, target) => campaigns.startCampaign(target, LONG_CALL),
      takeRecipients,
      // The start first estimates every recipient.
      { isScan: true },
    ),
    operation("pause", PAUSE, (campaigns, target) => campaigns.pauseCampaign(target, LONG_CALL)),
    operation("resume", RESUME, (campaigns, target) => campaigns.resumeCampaign(target, LONG_CALL)),
    operation("cancel", CANCEL, (campaigns, target) =>
      campaigns.cancelOpenCampaign(target, LONG_CALL),
    ),
  ];
}

const NO_QUOTA: Quota = async () => undefined;

/** Takes the recipients of a test campaign that is still a draft from the daily quota. A repeated start takes none. */
const takeRecipients: Quota = async ({ campaigns, testQuota }, request) => {
  const { caller } = request;
  if (caller.mode !== Mode.TEST) return undefined;
  const { campaign } = await rpcAnswer(campaigns.getCampaign(campaignTarget(request)));
  if (campaign?.status !== CampaignStatus.DRAFT) return undefined;
  return takeTestQuota(testQuota, caller, Number(campaign.progress?.waiting ?? 0n));
};

function handlerOf(change: Change, quota: Quota): Handler {
  return async (ports, request) => {
    const target = campaignTarget(request);
    const options = { validate: validateEmpty, isBodyRequired: false };
    const { keyed } = await readCampaignRequest(ports, request, options);
    const refund = await quota(ports, request);
    const apply = () => rpcAnswer(change(ports.campaigns, { ...target, ...keyed }));
    const changed = await keepQuota(refund, apply);
    return keyedResponse(200, renderFound(changed), changed.replayed);
  };
}

function docOf(
  given: Pick<OperationDoc, "id" | "summary" | "description"> & {
    readonly errors?: OperationDoc["errors"];
    readonly example: object;
  },
): Omit<OperationDoc, "tag"> {
  const { errors = [], example, ...texts } = given;
  return {
    ...texts,
    params: CAMPAIGN_PARAM,
    body: NO_BODY,
    takesIdempotencyKey: true,
    response: {
      status: 200,
      description: "The campaign.",
      schema: dataOf("Campaign"),
      example: { data: example },
      headers: ["Idempotent-Replayed"],
    },
    errors: [
      "not_found",
      "conflict",
      "idempotency_key_reused",
      "invalid_state_transition",
      "validation_error",
      ...errors,
    ],
  };
}

const START = docOf({
  id: "startCampaign",
  summary: "Start a campaign",
  description:
    "Freezes content and recipients, and runs it, or schedules it for its `send_at`. 402 when the balance does not " +
    "cover the estimate. A campaign that runs already is returned as it is. With a test key its recipients count for " +
    "the daily quota of test messages.",
  errors: [
    "insufficient_balance",
    "email_not_verified",
    "tenant_suspended",
    "sender_id_not_approved",
  ],
  example: CAMPAIGN_EXAMPLE,
});

const PAUSE = docOf({
  id: "pauseCampaign",
  summary: "Pause a campaign",
  description:
    "After the answer nothing new is queued. Queued messages are cancelled, unless they are being sent, and their " +
    "recipients wait again.",
  example: { ...CAMPAIGN_EXAMPLE, status: "paused", pause_reason: "customer" },
});

const RESUME = docOf({
  id: "resumeCampaign",
  summary: "Resume a campaign",
  description: "It goes on with the recipients that wait.",
  example: CAMPAIGN_EXAMPLE,
});

const CANCEL = docOf({
  id: "cancelCampaign",
  summary: "Cancel a campaign",
  description:
    "Ends it. Queued messages are cancelled, unless they are being sent, and their holds return within about a minute.",
  example: {
    ...CAMPAIGN_EXAMPLE,
    status: "cancelled",
    completed_at: "2026-11-02T09:31:00.000Z",
  },
});
