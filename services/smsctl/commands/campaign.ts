import type { Command, Group } from "../cli/command.ts";
import { PAGE, RANGE, statusOption, TENANT } from "../cli/common-options.ts";

const actions = () => import("../actions/campaign.ts");

export const CAMPAIGN_GROUP: Group = {
  name: "campaign",
  about: "Campaigns: follow and stop them. Customers create and start them.",
  commands: [
    {
      name: "list",
      about: "List the campaigns of a tenant, newest first.",
      examples: ["campaign list --tenant Acme --status running,paused"],
      options: [
        TENANT,
        statusOption(
          ...["draft", "scheduled", "running", "paused", "completed", "cancelled", "failed"],
        ),
        ...RANGE,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "show",
      about: "Show a campaign with its counts.",
      examples: ["campaign show cmp_01M7… --tenant Acme"],
      args: "<campaign-id>",
      options: [TENANT],
      load: async () => (await actions()).show,
    },
    {
      name: "recipients",
      about: "List the rows of a campaign with their messages and errors.",
      examples: ["campaign recipients cmp_01M7… --tenant Acme --status rejected,failed"],
      args: "<campaign-id>",
      options: [
        TENANT,
        { flags: "--status <status,…>", about: "Only these, such as failed." },
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).recipients,
    },
    change("pause", "Pause a campaign and take back its queued messages."),
    change("resume", "Continue a paused campaign."),
    change("cancel", "End a campaign for good."),
  ],
};

function change(name: "pause" | "resume" | "cancel", about: string): Command {
  return {
    name,
    about,
    examples: [`campaign ${name} cmp_01M7… --tenant Acme`],
    args: "<campaign-id>",
    options: [TENANT],
    load: async () => (await actions())[name],
  };
}
