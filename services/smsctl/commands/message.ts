import { MessageSchema, MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import type { Commands } from "../command.ts";
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
    usage: "message list --tenant T [--status S,… --limit N --from TIME --to TIME]",
    async run(context) {
      const { clients, options, output } = context;
      const { messages } = await clients.messaging.listMessages({
        tenantId: await tenantId(context),
        statuses: options.list("status").map(readStatus),
        limit: options.whole("limit") ?? 50,
        createdAfterMs: BigInt(options.instant("from") ?? 0),
        createdBeforeMs: BigInt(options.instant("to") ?? 0),
      });
      output.result(
        messages.map((message) => {
          const { history: _history, ...shown } = present(MessageSchema, message);
          return shown;
        }),
      );
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
};

function readStatus(text: string): MessageStatus {
  const status = MessageStatus[text.toUpperCase() as keyof typeof MessageStatus];
  if (typeof status === "number" && status !== MessageStatus.UNSPECIFIED) return status;
  throw new AppError("validation_error", `There is no status ${text}.`);
}
