import { readFileSync, statSync } from "node:fs";
import { defined } from "../../../services/shared/cli/options.ts";
import { CAMPAIGN_STATUSES } from "../../../services/shared/core/campaign-status.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import type { DataOf, SmsClient } from "../../typescript/src/client.ts";
import { showList } from "../calls/pages.ts";
import { watchUntil } from "../calls/watch-until.ts";
import type { Run } from "../cli/command.ts";
import { readWords, toInstant } from "../cli/words.ts";

/** The largest body that the API takes. */
const FILE_BYTES_MAX = 4_194_304;

const ENDED: readonly string[] = ["completed", "cancelled", "failed"];

export const create: Run = async ({ connect, options, output }) => {
  const sms = connect();
  const content = {
    name: options.required("name"),
    from: options.required("from"),
    body: options.required("body"),
    ...defined({
      send_at: toInstant(options.instant("at")),
      rate_per_second: options.count("rate"),
      budget_amount: options.named("budget"),
      client_reference: options.named("reference"),
    }),
  };
  const call = defined({ idempotencyKey: options.named("idempotency-key") });
  await output.result(await sms.campaigns.create(content, call));
};

export const add: Run = async ({ connect, options, output }) => {
  const sms = connect();
  const id = options.word(0, "The campaign's id");
  const path = options.named("csv");
  const to = options.list("to");
  if ((path === undefined) === (to.length === 0)) {
    throw new AppError("validation_error", "Give either --csv or --to.");
  }
  const added =
    path === undefined
      ? await sms.campaigns.addRecipients(id, { recipients: to.map((one) => ({ to: one })) })
      : await sms.campaigns.addRecipientsCsv(id, readFile(path));
  await output.result(added);
};

function readFile(path: string): Uint8Array<ArrayBuffer> {
  let bytes: Buffer<ArrayBuffer>;
  try {
    if (path !== "-" && statSync(path).size > FILE_BYTES_MAX) bytes = Buffer.alloc(0);
    else bytes = readFileSync(path === "-" ? 0 : path) as Buffer<ArrayBuffer>;
  } catch (error) {
    throw new AppError("validation_error", `--csv cannot be read: ${(error as Error).message}`);
  }
  if (bytes.length > 0 && bytes.length <= FILE_BYTES_MAX) return bytes;
  const text = "--csv must have 1 byte to 4 MiB: add a larger file in parts, each with the header.";
  throw new AppError("validation_error", text);
}

/** A command that does one thing with one campaign and shows the result. */
function withOne(
  act: (
    campaigns: SmsClient["campaigns"],
    id: string,
  ) => Promise<DataOf<"getCampaign"> | DataOf<"estimateCampaign">>,
): Run {
  return async ({ connect, options, output }) => {
    await output.result(await act(connect().campaigns, options.word(0, "The campaign's id")));
  };
}

export const estimate = withOne((campaigns, id) => campaigns.estimate(id));
export const start = withOne((campaigns, id) => campaigns.start(id));
export const pause = withOne((campaigns, id) => campaigns.pause(id));
export const resume = withOne((campaigns, id) => campaigns.resume(id));
export const cancel = withOne((campaigns, id) => campaigns.cancel(id));

export const get: Run = async ({ connect, options, output }) => {
  const sms = connect();
  const id = options.word(0, "The campaign's id");
  const read = () => sms.campaigns.get(id);
  if (!options.isSet("watch")) return void (await output.result(await read()));
  const campaign = await watchUntil(output, read, {
    isFinal: ({ status }) => ENDED.includes(status),
    line: ({ status, progress: { total, waiting, queued, sent, delivered } }) =>
      `${status}: ${total} in all, ${waiting} waiting, ${queued} queued, ${sent} sent, ${delivered} delivered`,
  });
  await output.result(campaign);
};

export const list: Run = async (context) => {
  const { connect, options } = context;
  const sms = connect();
  const filter = defined({ status: readWords(options, "status", CAMPAIGN_STATUSES) });
  const view = {
    columns: [
      ...["id", "status", "name…", "from", "progress.total", "progress.delivered"],
      ...["progress.failed", "pause_reason", "created_at"],
    ],
    headings: {
      "progress.total": "total",
      "progress.delivered": "delivered",
      "progress.failed": "failed",
    },
    wide: ["mode", "send_at", "started_at", "completed_at", "progress.charged_amount"],
  };
  return showList(context, view, (page) => sms.campaigns.list({ ...filter, ...page }));
};
