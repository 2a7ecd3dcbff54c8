import {
  MessageSchema,
  MessageSource,
  MessageStatus,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { isId } from "../../shared/core/ids.ts";
import { normaliseNumber } from "../../shared/core/phone.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import type { CommandContext, Commands } from "../cli/command.ts";
import { readEnumWord } from "../cli/enum-word.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";

/** Concurrent calls when many messages are cancelled. */
const CONCURRENCY = 8;

/** `smsctl message …` */
export const MESSAGE_COMMANDS: Commands = {
  show: {
    usage: "message show MESSAGE_ID --tenant T",
    async run(context) {
      const { message } = await context.clients.messaging.getMessage({
        tenantId: await tenantId(context),
        messageId: context.options.word(2, "The message's id"),
      });
      if (message !== undefined) context.output.result(toJson(MessageSchema, message));
      return 0;
    },
  },
  list: {
    usage:
      "message list --tenant T [--status S,… --recipient NUMBER --sender NAME --reference R --campaign ID " +
      "--source S,… --from TIME --to TIME --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantId(context),
        statuses: options.list("status").map((text) => readEnumWord(MessageStatus, text, "status")),
        to: readRecipient(options.named("recipient")),
        from: options.named("sender") ?? "",
        clientReference: options.named("reference") ?? "",
        campaignId: options.named("campaign") ?? "",
        sources: options.list("source").map(readSource),
        createdAfterMs: BigInt(options.instant("from") ?? 0),
        createdBeforeMs: BigInt(options.instant("to") ?? 0),
      };
      const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
        const page = await clients.messaging.listMessages({ ...wanted, limit, beforeId: cursor });
        return { items: page.messages, nextCursor: cursorAfter(page.messages, page.hasMore) };
      });
      output.result(
        items.map((message) => {
          const { history: _history, ...shown } = toJson(MessageSchema, message);
          return shown;
        }),
      );
      if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
      return 0;
    },
  },
  send: {
    usage:
      "message send --tenant T --to NUMBER --from NAME --body TEXT " +
      "[--source api|quick_send|test_send --mode live|test --reference R --at TIME]",
    run: send,
  },
  cancel: {
    usage: "message cancel MESSAGE_ID… --tenant T",
    run: cancel,
  },
  "cancel-campaign": {
    usage: "message cancel-campaign CAMPAIGN_ID --tenant T",
    async run(context) {
      const campaignId = context.options.word(2, "The campaign's id");
      // Messaging knows campaigns only by their messages: a wrong id would succeed and cancel nothing.
      if (!isId("campaign", campaignId)) {
        throw new AppError("validation_error", `${campaignId} is no campaign's id (cmp_…).`);
      }
      const { cancelled, unchanged } = await context.clients.messaging.cancelCampaign(
        { tenantId: await tenantId(context), campaignId },
        LONG_CALL,
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

/** Sends one message for a tenant. Without an idempotency key: a repeat sends again. */
async function send(context: CommandContext): Promise<number> {
  const { clients, options, output } = context;
  const source = readSource(options.named("source") ?? "api");
  if (source === MessageSource.CAMPAIGN) {
    throw new AppError("validation_error", "A campaign's messages are sent by its campaign.");
  }
  const mode = readMode(options);
  const { message } = await clients.messaging.sendMessages({
    tenantId: await tenantId(context),
    source,
    mode,
    endpoint: SendEndpoint.SINGLE,
    from: options.required("from"),
    body: options.required("body"),
    clientReference: options.named("reference") ?? "",
    sendAtMs: BigInt(options.instant("at") ?? 0),
    recipients: [{ to: options.required("to") }],
  });
  if (message !== undefined) output.result(toJson(MessageSchema, message));
  return 0;
}

/** Cancels each message; lists those that were refused, without stopping at them. */
async function cancel(context: CommandContext): Promise<number> {
  const { clients, options, output } = context;
  const ids = options.words(2, "The message's id");
  const tenant = await tenantId(context);
  const [only] = ids;
  if (only !== undefined && ids.length === 1) {
    const { message } = await clients.messaging.cancelMessage({
      tenantId: tenant,
      messageId: only,
    });
    if (message !== undefined) output.result(toJson(MessageSchema, message));
    return 0;
  }
  const rows: { id: string; status: string; error: string }[] = [];
  for (let at = 0; at < ids.length; at += CONCURRENCY) {
    const some = ids.slice(at, at + CONCURRENCY).map(async (messageId) => {
      try {
        await clients.messaging.cancelMessage({ tenantId: tenant, messageId });
        return { id: messageId, status: "cancelled", error: "" };
      } catch (thrown) {
        return { id: messageId, status: "", error: toAppError(thrown).message };
      }
    });
    rows.push(...(await Promise.all(some)));
  }
  output.result(rows);
  const refused = rows.filter(({ error }) => error !== "").length;
  if (refused === 0) return 0;
  const text = `${refused} of ${rows.length} messages were not cancelled.`;
  return output.failed(new AppError("conflict", text));
}

function readRecipient(text: string | undefined): string {
  if (text === undefined) return "";
  const number = normaliseNumber(text);
  if (number !== undefined) return number;
  throw new AppError("validation_error", `--recipient ${text} is no phone number.`);
}

function readSource(text: string): MessageSource {
  return readEnumWord(MessageSource, text, "source");
}
