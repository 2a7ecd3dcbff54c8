import type { Client } from "@connectrpc/connect";
import type { Campaign, CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError, type FieldError } from "../../../services/shared/core/errors.ts";
import { isId } from "../../../services/shared/core/ids.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import type { OperationDoc } from "../../docs/operation-doc.ts";
import { readIdempotencyKey } from "../../idempotency/key.ts";
import type { Cursors } from "../../lists/cursor.ts";
import type { TestQuota } from "../../rate-limit/test-quota.ts";
import { renderCampaign } from "../../render/campaigns.ts";
import { hasBody, parseBody } from "../../schemas/parse-body.ts";
import { queryFaults } from "../../schemas/query.ts";
import { refuse, type Validator } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";

/** A client of the campaign service. */
export type CampaignClient = Client<typeof CampaignService>;

/** The ports of the operations on campaigns. */
export type CampaignPorts = {
  readonly campaigns: CampaignClient;
  readonly cursors: Cursors;
  readonly testQuota: TestQuota;
};

/** A handler with its ports. */
export type Handler = (
  ports: CampaignPorts,
  request: OperationRequest,
) => Promise<OperationResponse>;

export const COLLECTION = "/v1/campaigns";
export const ONE = `${COLLECTION}/:campaign_id`;

/** The path parameter of a campaign. */
export const CAMPAIGN_PARAM = {
  campaign_id: { type: "string", pattern: "^cmp_[0-9A-HJKMNP-TV-Z]{26}$" },
} as const;

/** Makes operations of a table row. */
export function campaignOperation(
  ports: CampaignPorts,
  method: Operation["method"],
  path: string,
  doc: Omit<OperationDoc, "tag">,
  handler: Handler,
  kind: Pick<Operation, "isScan"> = {},
): Operation {
  return {
    method,
    path,
    scope: method === "GET" ? "campaigns:read" : "campaigns:manage",
    ...kind,
    doc: { tag: "Campaigns", ...doc },
    handle: (request) => handler(ports, request),
  };
}

/** The campaign of the path; a malformed id is `not_found`, like an unknown one. */
export function campaignTarget({ caller, params }: OperationRequest) {
  const campaignId = params.campaign_id ?? "";
  if (!isId("campaign", campaignId)) throw unknownCampaign();
  return { tenantId: caller.tenantId, mode: caller.mode, campaignId };
}

/** Renders the campaign of an answer. */
export function renderFound({ campaign }: { readonly campaign?: Campaign | undefined }) {
  if (campaign === undefined) throw unknownCampaign();
  return renderCampaign(campaign);
}

/** The error for a campaign that does not exist, or belongs to another tenant or mode. */
function unknownCampaign(): AppError {
  return new AppError("not_found", "There is no such campaign.");
}

type Read = {
  readonly body: Record<string, unknown>;
  /** The idempotency key and the fingerprint; both empty without a key. */
  readonly keyed: { readonly idempotencyKey: string; readonly fingerprint: Buffer };
};

/** Parses body and idempotency key. Throws all faults together, but `not_found` first when there is no campaign. */
export async function readCampaignRequest(
  { campaigns }: CampaignPorts,
  request: OperationRequest,
  options: { readonly validate: Validator; readonly isBodyRequired: boolean },
): Promise<Read> {
  const { key, faults: keyFaults } = readIdempotencyKey(request.idempotencyKey);
  const faults: FieldError[] = [...queryFaults(request.query), ...keyFaults];
  let body: Record<string, unknown> = {};
  if (options.isBodyRequired || hasBody(request.bodyBytes)) {
    const read = parseBody(request.bodyBytes, options.validate);
    body = read.body ?? {};
    faults.push(...read.faults);
  }
  await refuseFound(campaigns, request, faults);
  return { body, keyed: keyedBy(key, request, body) };
}

/** Throws the faults, if any; throws `not_found` instead when the campaign does not exist. */
export async function refuseFound(
  campaigns: CampaignClient,
  request: OperationRequest,
  faults: readonly FieldError[],
): Promise<void> {
  if (faults.length === 0) return;
  if (request.params.campaign_id !== undefined) {
    await rpcAnswer(campaigns.getCampaign(campaignTarget(request)));
  }
  refuse(faults);
}

/** A key with its fingerprint. The service keeps keys of test and live mode apart, so the mode is in neither. */
export function keyedBy(key: string, request: OperationRequest, content: unknown): Read["keyed"] {
  if (key === "") return { idempotencyKey: "", fingerprint: Buffer.alloc(0) };
  return { idempotencyKey: key, fingerprint: fingerprint(request.params, content) };
}

/** A response, with `Idempotent-Replayed` when it is the stored first one. */
export function keyedResponse(
  status: number,
  data: unknown,
  replayed: boolean,
  headers: Readonly<Record<string, string>> = {},
): OperationResponse {
  const more = replayed ? { "Idempotent-Replayed": "true" } : {};
  return { status, body: { data }, headers: { ...headers, ...more } };
}
