/** `sms.v1.CampaignService`: maps requests to use cases and results to responses. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddRecipientsResponseSchema,
  CampaignResponseSchema,
  type CampaignService,
  type ChangeCampaignRequest,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { isId } from "../../shared/core/ids.ts";
import {
  checkItems,
  checkKnown,
  invalidField,
  PAGE_MAX,
  pageLimit,
} from "../../shared/core/limits.ts";
import { type Idempotency, runOnce } from "../../shared/core/run-once.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import { checkRequestKey, readRequestKey } from "../../shared/rpc/request-key.ts";
import type { Campaigns } from "../app/campaigns.ts";
import type { StateChanges } from "../app/change-state.ts";
import { type EstimateParts, estimate, preview } from "../app/estimate.ts";
import type { CampaignStore } from "../app/ports.ts";
import type { createRecipients } from "../app/recipients.ts";
import type { SendTest } from "../app/send-test.ts";
import { targetOf } from "./campaign-scope.ts";
import { type OperatorUseCases, operatorMethods } from "./operator-rpc.ts";
import {
  campaignToProto,
  readContent,
  readFields,
  readRowStatuses,
  readStatuses,
  rowToProto,
} from "./proto.ts";
import { readRecipientsCsv } from "./recipients-csv.ts";

/** The use cases behind the interface. */
export type UseCases = OperatorUseCases & {
  readonly campaigns: Campaigns;
  readonly recipients: ReturnType<typeof createRecipients>;
  readonly states: StateChanges;
  readonly estimating: EstimateParts;
  readonly sendTest: SendTest;
  readonly store: CampaignStore;
  readonly idempotency: Idempotency;
};

type Methods = ServiceImpl<typeof CampaignService>;

/** The most rows in one list. A file may have more; it is read row by row. */
const LIST_MAX = 1000;
const PREVIEWS_MAX = 100;
const TESTS_MAX = 5;
const ROWS_PAGE_MAX = 1000;

/** The handlers of `CampaignService`. */
export function createCampaignRpc(useCases: UseCases): Methods {
  return {
    ...draftMethods(useCases),
    ...recipientMethods(useCases),
    ...estimateMethods(useCases),
    ...stateMethods(useCases),
    ...operatorMethods(useCases),
  };
}

function draftMethods({
  campaigns,
  idempotency,
}: UseCases): Pick<
  Methods,
  "createCampaign" | "updateCampaign" | "deleteCampaign" | "getCampaign" | "listCampaigns"
> {
  return {
    async createCampaign(request) {
      const { tenantId } = request;
      if (!isId("tenant", tenantId)) throw new AppError("not_found", "There is no such tenant.");
      const mode = checkKnown("mode", readMode(request.mode));
      const content = readContent(request.content);
      const key = readRequestKey(request, "create");
      const answered = await runOnce(idempotency, key, async () => {
        let response: Uint8Array = new Uint8Array();
        await campaigns.create({ tenantId, mode }, content, (campaign) => {
          response = encode(CampaignResponseSchema, { campaign: campaignToProto(campaign) });
          return key && { ...key, response };
        });
        return { response, isStored: true };
      });
      return replayable(CampaignResponseSchema, answered);
    },
    async updateCampaign(request) {
      const { scope, id } = targetOf(request);
      const changed = readContent(request.content);
      const names = readFields(request.fields);
      const campaign = await campaigns.update(scope, id, (content) => ({
        ...content,
        ...Object.fromEntries(names.map((name) => [name, changed[name]])),
      }));
      return { campaign: campaignToProto(campaign) };
    },
    async deleteCampaign(request) {
      const { scope, id } = targetOf(request);
      await campaigns.delete(scope, id);
      return {};
    },
    async getCampaign(request) {
      const { scope, id } = targetOf(request);
      return { campaign: campaignToProto(await campaigns.get(scope, id)) };
    },
    async listCampaigns(request) {
      const limit = pageLimit(request.limit, PAGE_MAX);
      const { beforeId } = request;
      if (beforeId !== "" && !isId("campaign", beforeId)) {
        throw invalidField("before_id", "invalid_value", "is not a campaign's id");
      }
      const found = await campaigns.list({
        tenantId: request.tenantId,
        mode: readMode(request.mode),
        statuses: readStatuses(request.statuses),
        limit: limit + 1,
        beforeId,
      });
      return {
        campaigns: found.slice(0, limit).map(campaignToProto),
        hasMore: found.length > limit,
      };
    },
  };
}

function recipientMethods({
  recipients,
  idempotency,
}: UseCases): Pick<Methods, "addRecipients" | "listRecipients" | "clearRecipients"> {
  return {
    async addRecipients(request, { signal }) {
      const { scope, id } = targetOf(request);
      const isFile = request.csv.length > 0;
      if (!isFile) checkItems("recipients", request.rows.length, 1, LIST_MAX);
      const key = readRequestKey(request, `recipients.${id}`);
      const answered = await runOnce(idempotency, key, async () => {
        const rows = isFile
          ? readRecipientsCsv(request.csv, signal)
          : request.rows.map(toSubmitted);
        const made = await recipients.add(scope, id, rows);
        const faults = made.faults.map((fault) => ({ ...fault }));
        const response = encode(AddRecipientsResponseSchema, { ...made, faults });
        return { response, isStored: false };
      });
      return replayable(AddRecipientsResponseSchema, answered);
    },
    async listRecipients(request) {
      const { scope, id } = targetOf(request);
      const limit = pageLimit(request.limit, ROWS_PAGE_MAX);
      const filter = {
        statuses: readRowStatuses(request.statuses),
        afterIndex: request.afterIndex ?? -1,
        limit: limit + 1,
      };
      const rows = await recipients.list(scope, id, filter);
      return { recipients: rows.slice(0, limit).map(rowToProto), hasMore: rows.length > limit };
    },
    async clearRecipients(request) {
      const { scope, id } = targetOf(request);
      return { campaign: campaignToProto(await recipients.clear(scope, id)) };
    },
  };
}

function estimateMethods({
  campaigns,
  estimating,
  sendTest,
  store,
}: UseCases): Pick<Methods, "estimateCampaign" | "previewCampaign" | "sendCampaignTest"> {
  return {
    async estimateCampaign(request) {
      const { scope, id } = targetOf(request);
      const made = await estimate(estimating, await campaigns.get(scope, id));
      const rejected = Object.fromEntries(
        [...made.rejected].map(([code, count]) => [code, BigInt(count)]),
      );
      return {
        recipients: BigInt(made.recipients),
        rejected,
        segments: BigInt(made.segments),
        amount: made.amount,
        availableAmount: made.available,
        currency: made.currency,
        countries: [...made.countries].map(([country, sum]) => ({
          country,
          recipients: BigInt(sum.recipients),
          segments: BigInt(sum.segments),
          amount: sum.amount,
        })),
      };
    },
    async previewCampaign(request) {
      const { scope, id } = targetOf(request);
      if (request.limit < 0) throw invalidField("limit", "out_of_range", "must not be negative");
      const limit = Math.min(request.limit || 10, PREVIEWS_MAX);
      const previews = await preview(store, await campaigns.get(scope, id), limit);
      return {
        previews: previews.map(({ row, body, segments, error }) => ({
          index: row.index,
          to: row.to,
          body,
          segments,
          ...(error && { error }),
        })),
      };
    },
    async sendCampaignTest(request) {
      const { scope, id } = targetOf(request);
      checkItems("to", request.to.length, 1, TESTS_MAX);
      checkRequestKey(request.idempotencyKey, request.fingerprint);
      const campaign = await campaigns.get(scope, id);
      if (request.storedOnly && request.idempotencyKey === "") {
        throw invalidField("idempotency_key", "required", "names the request");
      }
      const keyed = {
        key: request.idempotencyKey,
        fingerprint: request.fingerprint,
        isStoredOnly: request.storedOnly,
      };
      const { results, replayed } = await sendTest(campaign, request.to, keyed);
      return {
        replayed,
        results: results.map((result, at) => ({
          to: request.to[at] ?? "",
          ...(result.kind === "queued" ? { messageId: result.messageId } : { error: result.error }),
        })),
      };
    },
  };
}

function stateMethods({
  states,
  idempotency,
}: UseCases): Pick<
  Methods,
  "startCampaign" | "pauseCampaign" | "resumeCampaign" | "cancelOpenCampaign"
> {
  const change =
    (action: "start" | "pause" | "resume" | "cancel") => async (request: ChangeCampaignRequest) => {
      const { scope, id } = targetOf(request);
      const answered = await runOnce(
        idempotency,
        readRequestKey(request, `${action}.${id}`),
        async () => {
          const campaign = campaignToProto(await states[action](scope, id));
          return { response: encode(CampaignResponseSchema, { campaign }), isStored: false };
        },
      );
      return replayable(CampaignResponseSchema, answered);
    };
  return {
    startCampaign: change("start"),
    pauseCampaign: change("pause"),
    resumeCampaign: change("resume"),
    cancelOpenCampaign: change("cancel"),
  };
}

function toSubmitted(
  row: { to: string; variables: { [name: string]: string }; clientReference: string },
  line: number,
) {
  const { to, variables, clientReference } = row;
  return { line, to, variables, clientReference: clientReference || undefined };
}

function encode<D extends DescMessage>(schema: D, message: MessageInitShape<D>): Uint8Array {
  return toBinary(schema, create(schema, message));
}

function replayable<D extends DescMessage>(
  schema: D,
  { response, replayed }: { readonly response: Uint8Array; readonly replayed: boolean },
): MessageShape<D> {
  return Object.assign(fromBinary(schema, response), { replayed });
}
