import { defined } from "../../../services/shared/cli/options.ts";
import { showList } from "../calls/pages.ts";
import type { Run } from "../cli/command.ts";
import { readWords, toInstant } from "../cli/words.ts";

const STATUSES = ["pending", "succeeded", "failed", "dropped"] as const;

export const list: Run = async (context) => {
  const sms = context.connect();
  const view = {
    columns: ["id", "status", "url…", "disabled_reason…", "created_at"],
    wide: ["event_types…", "sources", "description…"],
  };
  return showList(context, view, () => sms.webhookEndpoints.list());
};

export const deliveries: Run = async (context) => {
  const { connect, options } = context;
  const sms = connect();
  const id = options.word(0, "The endpoint's id");
  const { sinceMs, untilMs } = options.range("since", "until");
  const filter = defined({
    status: readWords(options, "status", STATUSES),
    event_type: options.named("event-type"),
    created_after: toInstant(sinceMs),
    created_before: toInstant(untilMs),
  });
  const view = {
    columns: ["id", "status", "event_type", "created_at", "attempts", "next_attempt_at"],
    wide: ["event_id", "completed_at"],
  };
  const read = (page: object) => sms.webhookEndpoints.listDeliveries(id, { ...filter, ...page });
  return showList(context, view, read);
};

export const resend: Run = async ({ connect, options, output }) => {
  const endpoint = options.word(0, "The endpoint's id");
  const delivery = options.word(1, "The delivery's id");
  await output.result(await connect().webhookEndpoints.resendDelivery(endpoint, delivery));
};

export const test: Run = async ({ connect, options, output }) => {
  const id = options.word(0, "The endpoint's id");
  await output.result(await connect().webhookEndpoints.sendTest(id));
};
