import {
  CampaignRecipientSchema,
  CampaignSchema,
  CampaignStatus,
  RecipientStatus,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import type { Command, CommandContext, Commands } from "../cli/command.ts";
import { readEnumWord } from "../cli/enum-word.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of campaigns. */
const CAMPAIGNS_MAX = 100;
/** A pause or a cancel waits for the chunk that is being accepted. */
const CHANGE = { timeoutMs: 60_000 } as const;

/** `smsctl campaign …` */
export const CAMPAIGN_COMMANDS: Commands = {
  list: {
    usage: "campaign list --tenant T [--status S,… --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantId(context),
        statuses: options
          .list("status")
          .map((text) => readEnumWord(CampaignStatus, text, "status")),
      };
      const { items, nextCursor } = await readUpToLimit(
        options,
        50,
        async ({ limit, cursor }) => {
          const asked = { ...wanted, limit, beforeId: cursor };
          const { campaigns, hasMore } = await clients.campaigns.listCampaigns(asked);
          return { items: campaigns, nextCursor: cursorAfter(campaigns, hasMore) };
        },
        CAMPAIGNS_MAX,
      );
      output.result(
        items.map((campaign) => {
          const { progress, content, ...shown } = toJson(CampaignSchema, campaign);
          return { ...shown, ...Object(content), ...Object(progress) };
        }),
      );
      if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
      return 0;
    },
  },
  show: {
    usage: "campaign show CAMPAIGN_ID --tenant T",
    async run(context) {
      const { campaign } = await context.clients.campaigns.getCampaign(await place(context));
      if (campaign !== undefined) context.output.result(toJson(CampaignSchema, campaign));
      return 0;
    },
  },
  recipients: {
    usage: "campaign recipients CAMPAIGN_ID --tenant T [--status S,… --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        ...(await place(context)),
        statuses: options
          .list("status")
          .map((text) => readEnumWord(RecipientStatus, text, "status")),
      };
      const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
        const after = cursor === "" ? {} : { afterIndex: readPlace(cursor) };
        const asked = { ...wanted, ...after, limit };
        const { recipients, hasMore } = await clients.campaigns.listRecipients(asked);
        return { items: recipients, nextCursor: hasMore ? `${recipients.at(-1)?.index}` : "" };
      });
      output.result(items.map((row) => toJson(CampaignRecipientSchema, row)));
      if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
      return 0;
    },
  },
  pause: change("pause", "pauseCampaign"),
  resume: change("resume", "resumeCampaign"),
  cancel: change("cancel", "cancelOpenCampaign"),
};

function change(
  verb: string,
  method: "pauseCampaign" | "resumeCampaign" | "cancelOpenCampaign",
): Command {
  return {
    usage: `campaign ${verb} CAMPAIGN_ID --tenant T`,
    async run(context) {
      const asked = await place(context);
      const { campaign } = await context.clients.campaigns[method](asked, CHANGE);
      if (campaign !== undefined) context.output.result(toJson(CampaignSchema, campaign));
      return 0;
    },
  };
}

async function place(context: CommandContext): Promise<{ tenantId: string; campaignId: string }> {
  return {
    tenantId: await tenantId(context),
    campaignId: context.options.word(2, "The campaign's id"),
  };
}

function readPlace(cursor: string): number {
  const place = /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined;
  if (place !== undefined) return place;
  throw new AppError("validation_error", `--cursor ${cursor} is not the place of a row.`);
}
