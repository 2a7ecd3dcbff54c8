import {
  SenderIdReview,
  SenderIdSchema,
  SenderIdStatus,
  TrafficClass,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { tenantId } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const add: Run = async (context) => {
  const { senderId } = await context.clients.senderIds.createSenderId({
    tenantId: await tenantId(context),
    name: context.options.required("name"),
    approve: context.options.isSet("approve"),
    trafficClass: readClass(context.options.optional("class")),
  });
  if (senderId !== undefined) await context.output.result(toJson(SenderIdSchema, senderId));
  return 0;
};

export const list: Run = async (context) => {
  const isWanted = createdWithin(context.options);
  const statuses = context.options
    .list("status")
    .map((text) => readEnumWord(SenderIdStatus, text, "status"));
  const tenant = await tenantId(context);
  const found = [];
  let cursor = "";
  do {
    const page = await context.clients.senderIds.listSenderIds({
      tenantId: tenant,
      statuses,
      limit: 1000,
      cursor,
    });
    found.push(...page.senderIds.filter(isWanted));
    cursor = page.nextCursor;
  } while (cursor !== "");
  await context.output.list(
    found.map((senderId) => toJson(SenderIdSchema, senderId)),
    {
      columns: ["name", "status", "traffic_class", "created_at", "rejection_reason…", "id"],
      wide: ["updated_at", "tenant_id"],
      headings: { traffic_class: "class", rejection_reason: "reason" },
    },
  );
  return 0;
};

export const approve = review(SenderIdReview.APPROVE);
export const reject = review(SenderIdReview.REJECT);
export const suspend = review(SenderIdReview.SUSPEND);
export const reinstate = review(SenderIdReview.REINSTATE);

/** Reads `--class`; without it an existing class stays as it is. */
function readClass(text: string | undefined): TrafficClass {
  return text === undefined ? TrafficClass.UNSPECIFIED : readEnumWord(TrafficClass, text, "class");
}

function review(action: SenderIdReview): Run {
  return async (context) => {
    const { clients, options, output } = context;
    const { senderId } = await clients.senderIds.reviewSenderId({
      tenantId: await tenantId(context),
      idOrName: options.optionOrWord("name", "The sender ID"),
      review: action,
      reason: options.optional("reason") ?? "",
      trafficClass: readClass(options.optional("class")),
    });
    if (senderId !== undefined) await output.result(toJson(SenderIdSchema, senderId));
    return 0;
  };
}
