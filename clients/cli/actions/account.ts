import { defined } from "../../../services/shared/cli/options.ts";
import { showList } from "../calls/pages.ts";
import type { Run } from "../cli/command.ts";
import { readWords } from "../cli/words.ts";

export const balance: Run = async ({ connect, output }) => {
  await output.result(await connect().balance.get());
};

export const senderIds: Run = async (context) => {
  const { connect, options } = context;
  const sms = connect();
  const statuses = ["pending", "approved", "rejected", "suspended"] as const;
  const filter = defined({
    status: readWords(options, "status", statuses),
    usable: options.isSet("usable") ? true : undefined,
  });
  const view = {
    columns: ["name", "status", "usable", "rejection_reason…", "created_at"],
    wide: ["id"],
  };
  return showList(context, view, (page) => sms.senderIds.list({ ...filter, ...page }));
};
