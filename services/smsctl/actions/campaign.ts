import {
  CampaignRecipientSchema,
  CampaignSchema,
  CampaignStatus,
  RecipientStatus,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { lowestIdAt } from "../../shared/core/ids.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of campaigns. */
const CAMPAIGNS_MAX = 100;
/** Options of a pause or a cancel: it waits for the chunk that messaging is accepting. */
const CHANGE = { timeoutMs: 60_000 } as const;

export const list: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs, untilMs } = options.range("since", "until");
  const wanted = {
    tenantId: await tenantId(context),
    statuses: options.list("status").map((text) => readEnumWord(CampaignStatus, text, "status")),
  };
  // An id contains the time of its creation, so a range of times is a range of ids.
  const firstId = sinceMs === undefined ? "" : lowestIdAt("campaign", sinceMs);
  const endId = untilMs === undefined ? "" : lowestIdAt("campaign", untilMs);
  const { items, nextCursor } = await readUpToLimit(
    options,
    50,
    async ({ limit, cursor }) => {
      const asked = { ...wanted, limit, beforeId: cursor || endId };
      const { campaigns, hasMore } = await clients.campaigns.listCampaigns(asked);
      const items = campaigns.filter(({ id }) => id >= firstId);
      return {
        items,
        nextCursor: cursorAfter(items, hasMore && items.length === campaigns.length),
      };
    },
    CAMPAIGNS_MAX,
  );
  await output.list(
    items.map((campaign) => {
      const { progress, content, ...shown } = toJson(CampaignSchema, campaign);
      return { ...shown, ...Object(content), ...Object(progress) };
    }),
    {
      columns: [
        ...["id", "status", "name…", "total", "sent", "delivered", "failed", "created_at"],
        ...["charged_amount", "currency", "waiting", "queued", "rejected", "undelivered"],
      ],
      wide: [
        ...["from", "mode", "pause_reason", "started_at", "ended_at", "expired", "cancelled"],
        ...["held_amount", "budget_amount", "rate_per_second", "body…"],
      ],
    },
  );
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

export const show: Run = async (context) => {
  const { campaign } = await context.clients.campaigns.getCampaign(await place(context));
  if (campaign !== undefined) await context.output.result(toJson(CampaignSchema, campaign));
  return 0;
};

export const recipients: Run = async (context) => {
  const { clients, options, output } = context;
  const wanted = {
    ...(await place(context)),
    statuses: options.list("status").map((text) => readEnumWord(RecipientStatus, text, "status")),
  };
  const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
    const after = cursor === "" ? {} : { afterIndex: readPlace(cursor) };
    const asked = { ...wanted, ...after, limit };
    const { recipients, hasMore } = await clients.campaigns.listRecipients(asked);
    return { items: recipients, nextCursor: hasMore ? `${recipients.at(-1)?.index}` : "" };
  });
  await output.list(
    items.map((row) => toJson(CampaignRecipientSchema, row)),
    {
      columns: ["index", "to…", "status", "message_id", "error.code", "error.message…"],
      wide: ["client_reference", "variables…"],
      headings: { "error.code": "error", "error.message": "reason" },
    },
  );
  if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
  return 0;
};

export const pause = change("pauseCampaign");
export const resume = change("resumeCampaign");
export const cancel = change("cancelOpenCampaign");

function change(method: "pauseCampaign" | "resumeCampaign" | "cancelOpenCampaign"): Run {
  return async (context) => {
    const asked = await place(context);
    const { campaign } = await context.clients.campaigns[method](asked, CHANGE);
    if (campaign !== undefined) await context.output.result(toJson(CampaignSchema, campaign));
    return 0;
  };
}

async function place(context: CommandContext): Promise<{ tenantId: string; campaignId: string }> {
  return {
    tenantId: await tenantId(context),
    campaignId: context.options.word(0, "The campaign's id"),
  };
}

function readPlace(cursor: string): number {
  const place = /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined;
  if (place !== undefined) return place;
  throw new AppError("validation_error", `--cursor ${cursor} is not the place of a row.`);
}
