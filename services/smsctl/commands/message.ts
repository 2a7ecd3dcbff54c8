import { MessageSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { isId } from "../../shared/core/ids.ts";
import type { Commands } from "../command.ts";
import { LONG_WORK } from "../long-work.ts";
import { cursorAfter, readUpToLimit } from "../pages.ts";
import { present } from "../present.ts";
import { tenantId } from "../tenants.ts";

/** `smsctl message …` */
export const MESSAGE_COMMANDS: Commands = {
  show: {
    usage: "message show MESSAGE_ID --tenant T",
    async run(context) {
      const { message } = await context.clients.messaging.getMessage({
        tenantId: await tenantId(context),
        messageId: context.options.word(2, "The message's id"),
      });
      if (message !== undefined) context.output.result(present(MessageSchema, message));
      return 0;
    },
  },
  list: {
    usage: "message list --tenant T [--status S,… --limit N --cursor C --from TIME --to TIME]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantId(context),
        statuses: options.list("status").map(readStatus),
        createdAfterMs: BigInt(options.instant("from") ?? 0),
        createdBeforeMs: BigInt(options.instant("to") ?? 0),
      };
      const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
        const page = await clients.messaging.listMessages({ ...wanted, limit, beforeId: cursor });
        return { items: page.messages, nextCursor: cursorAfter(page.messages, page.hasMore) };
      });
      output.result(
        items.map((message) => {
          const { history: _history, ...shown } = present(MessageSchema, message);
          return shown;
        }),
      );
      if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
      return 0;
    },
  },
  cancel: {
    usage: "message cancel MESSAGE_ID --tenant T",
    async run(context) {
      const { message } = await context.clients.messaging.cancelMessage({
        tenantId: await tenantId(context),
        messageId: context.options.word(2, "The message's id"),
      });
      if (message !== undefined) context.output.result(present(MessageSchema, message));
      return 0;
    },
  },
  "cancel-campaign": {
    usage: "message cancel-campaign CAMPAIGN_ID --tenant T",
    async run(context) {
      const campaignId = context.options.word(2, "The campaign's id");
      // Messaging knows campaigns by their messages alone: any other word would cancel none, and say so calmly.
      if (!isId("campaign", campaignId)) {
        throw new AppError("validation_error", `${campaignId} is no campaign's id (cmp_…).`);
      }
      const { cancelled, unchanged } = await context.clients.messaging.cancelCampaign(
        { tenantId: await tenantId(context), campaignId },
        LONG_WORK,
      );
      context.output.result({
        campaign_id: campaignId,
        cancelled: Number(cancelled),
        unchanged: Number(unchanged),
      });
      return 0;
    },
  },
};

function readStatus(text: string): MessageStatus {
  const status = MessageStatus[text.toUpperCase() as keyof typeof MessageStatus];
  if (typeof status === "number" && status !== MessageStatus.UNSPECIFIED) return status;
  throw new AppError("validation_error", `There is no status ${text}.`);
}
