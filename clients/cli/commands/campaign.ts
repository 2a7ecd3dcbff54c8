import { CAMPAIGN_STATUSES } from "../../../services/shared/core/campaign-status.ts";
import type { Command, Group } from "../cli/command.ts";
import { KEY, PAGE, statusOption } from "../cli/common-options.ts";

const actions = () => import("../actions/campaign.ts");

type Actions = Awaited<ReturnType<typeof actions>>;

/** A command that takes nothing but the campaign. */
function one(name: "estimate" | "start" | "pause" | "resume" | "cancel", about: string): Command {
  return {
    name,
    about,
    examples: [`campaign ${name} cmp_01M7…`],
    args: "<campaign-id>",
    load: async () => (await actions())[name satisfies keyof Actions],
  };
}

export const CAMPAIGN_GROUP: Group = {
  name: "campaign",
  about: "Campaigns: one text with placeholders to many recipients.",
  commands: [
    {
      name: "create",
      about: "Create a draft. Then add recipients, and start it.",
      examples: [
        'campaign create --name Spring --from Acme --body "Hello {{name}}, we open at nine."',
      ],
      options: [
        { flags: "--name <name>", about: "A name for people.", isRequired: true },
        { flags: "--from <sender-id>", about: "The sender ID.", isRequired: true },
        { flags: "--body <text>", about: "The text; {{name}} is a variable.", isRequired: true },
        { flags: "--at <time>", about: "Begin at this date-time, after start." },
        { flags: "--rate <count>", about: "Messages per second at most." },
        { flags: "--budget <amount>", about: "The most that it may spend." },
        { flags: "--reference <reference>", about: "Your own reference." },
        KEY,
      ],
      load: async () => (await actions()).create,
    },
    {
      name: "add",
      about: "Add recipients to a draft. A repeat adds no number twice.",
      examples: [
        "campaign add cmp_01M7… --csv customers.csv",
        "campaign add cmp_01M7… --to +2348031234567,+2348051234567",
      ],
      args: "<campaign-id>",
      options: [
        { flags: "--csv <file>", about: "At most 4 MiB. The header names to and the variables." },
        { flags: "--to <number,…>", about: "Numbers without variables; at most 1,000." },
      ],
      load: async () => (await actions()).add,
    },
    one("estimate", "Show the most that a campaign can cost."),
    one("start", "Start a draft, at once or at its time."),
    one("pause", "Pause a running campaign."),
    one("resume", "Continue a paused campaign."),
    one("cancel", "End a campaign for good."),
    {
      name: "get",
      about: "Show a campaign with its progress.",
      examples: ["campaign get cmp_01M7…", "campaign get cmp_01M7… --watch"],
      args: "<campaign-id>",
      options: [{ flags: "--watch", about: "Wait for its end, and show the progress." }],
      load: async () => (await actions()).get,
    },
    {
      name: "list",
      about: "List the campaigns, newest first.",
      examples: ["campaign list --status running,paused"],
      options: [statusOption(...CAMPAIGN_STATUSES), ...PAGE],
      isList: true,
      load: async () => (await actions()).list,
    },
  ],
};
