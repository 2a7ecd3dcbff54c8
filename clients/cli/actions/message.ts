import { defined } from "../../../services/shared/cli/options.ts";
import { MESSAGE_SOURCES } from "../../../services/shared/core/message-source.ts";
import { isFinalStatus, MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import { showList } from "../calls/pages.ts";
import { watchUntil } from "../calls/watch-until.ts";
import type { Run } from "../cli/command.ts";
import { readWords, toInstant } from "../cli/words.ts";

export const list: Run = async (context) => {
  const { connect, options } = context;
  const sms = connect();
  const { sinceMs, untilMs } = options.range("since", "until");
  const filter = defined({
    status: readWords(options, "status", MESSAGE_STATUSES),
    source: readWords(options, "source", MESSAGE_SOURCES),
    to: options.named("to"),
    from: options.named("from"),
    client_reference: options.named("reference"),
    campaign_id: options.named("campaign"),
    created_after: toInstant(sinceMs),
    created_before: toInstant(untilMs),
  });
  const view = {
    columns: ["id", "status", "to", "from", "created_at", "error.code", "amount", "body…"],
    wide: ["mode", "segments", "client_reference", "campaign_id", "source", "completed_at"],
  };
  return showList(context, view, (page) => sms.messages.list({ ...filter, ...page }));
};

export const get: Run = async ({ connect, options, output }) => {
  const sms = connect();
  const id = options.word(0, "The message's id");
  const read = () => sms.messages.get(id);
  if (!options.isSet("watch")) return void (await output.result(await read()));
  const message = await watchUntil(output, read, {
    isFinal: ({ status }) => isFinalStatus(status),
    line: ({ status }) => status,
  });
  await output.result(message);
};

export const cancel: Run = async ({ connect, options, output }) => {
  await output.result(await connect().messages.cancel(options.word(0, "The message's id")));
};

export const listInbound: Run = async (context) => {
  const { connect, options } = context;
  const sms = connect();
  const { sinceMs, untilMs } = options.range("since", "until");
  const filter = defined({
    from: options.named("from"),
    to: options.named("to"),
    received_after: toInstant(sinceMs),
    received_before: toInstant(untilMs),
  });
  const view = {
    columns: ["received_at", "from", "to", "action", "body…"],
    wide: ["id", "parts", "complete"],
  };
  return showList(context, view, (page) => sms.inboundMessages.list({ ...filter, ...page }));
};
