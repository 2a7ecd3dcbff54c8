import {
  SenderIdReview,
  SenderIdSchema,
  SenderIdStatus,
  TrafficClass,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { tenantId } from "../calls/tenants.ts";
import type { Command, Commands } from "../cli/command.ts";
import { readEnumWord } from "../cli/enum-word.ts";
import { toJson } from "../cli/to-json.ts";

const REVIEW_OPTIONS: Readonly<Record<string, string>> = {
  approve: " [--class otp|transactional|promotional]",
  reject: " --reason R",
};

/** `smsctl sender-id …` */
export const SENDER_ID_COMMANDS: Commands = {
  add: {
    usage: "sender-id add --tenant T --name N [--approve --class otp|transactional|promotional]",
    async run(context) {
      const { senderId } = await context.clients.senderIds.createSenderId({
        tenantId: await tenantId(context),
        name: context.options.required("name"),
        approve: context.options.isSet("approve"),
        trafficClass: readClass(context.options.optional("class")),
      });
      if (senderId !== undefined) context.output.result(toJson(SenderIdSchema, senderId));
      return 0;
    },
  },
  list: {
    usage: "sender-id list --tenant T [--status S,…]",
    async run(context) {
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
        found.push(...page.senderIds);
        cursor = page.nextCursor;
      } while (cursor !== "");
      context.output.result(found.map((senderId) => toJson(SenderIdSchema, senderId)));
      return 0;
    },
  },
  approve: review("approve", SenderIdReview.APPROVE),
  reject: review("reject", SenderIdReview.REJECT),
  suspend: review("suspend", SenderIdReview.SUSPEND),
  reinstate: review("reinstate", SenderIdReview.REINSTATE),
};

/** Reads `--class`; without it an existing class stays as it is. */
function readClass(text: string | undefined): TrafficClass {
  return text === undefined ? TrafficClass.UNSPECIFIED : readEnumWord(TrafficClass, text, "class");
}

function review(verb: string, action: SenderIdReview): Command {
  return {
    usage: `sender-id ${verb} ID_OR_NAME | --name N; --tenant T${REVIEW_OPTIONS[verb] ?? ""}`,
    async run(context) {
      const { clients, options, output } = context;
      const { senderId } = await clients.senderIds.reviewSenderId({
        tenantId: await tenantId(context),
        idOrName: options.optionOrWord("name", "The sender ID"),
        review: action,
        reason: options.optional("reason") ?? "",
        trafficClass: readClass(options.optional("class")),
      });
      if (senderId !== undefined) output.result(toJson(SenderIdSchema, senderId));
      return 0;
    },
  };
}
