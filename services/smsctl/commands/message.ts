import type { Group } from "../cli/command.ts";
import {
  MODE,
  PAGE,
  RANGE,
  RANGE_WITH_OLDER_NAMES,
  statusOption,
  TENANT,
} from "../cli/common-options.ts";

const actions = () => import("../actions/message.ts");

const STATUS = statusOption(
  ...["scheduled", "queued", "sent", "delivered", "undelivered", "expired", "rejected"],
  ...["failed", "cancelled"],
);

export const MESSAGE_GROUP: Group = {
  name: "message",
  about: "Messages of all tenants: find, show, send and cancel them.",
  commands: [
    {
      name: "show",
      about: "Show a message with its history. The tenant need not be known.",
      examples: ["message show msg_01M7…"],
      args: "<message-id>",
      options: [{ flags: "--tenant <tenant>", about: "Only if it is this tenant's." }],
      load: async () => (await actions()).show,
    },
    {
      name: "find",
      about: "Find the messages to a number, of all tenants or one. The search is audited.",
      examples: ["message find +2348031234567 --since 1d"],
      args: "<number>",
      options: [
        { flags: "--tenant <tenant>", about: "Only this tenant's." },
        ...RANGE,
        { flags: "--limit <count>", about: "The most messages of one tenant; 10 by default." },
      ],
      isList: true,
      load: async () => (await actions()).find,
    },
    {
      name: "list",
      about: "List the messages of a tenant, newest first.",
      examples: ["message list --tenant Acme --since 1h --status failed,undelivered"],
      options: [
        TENANT,
        STATUS,
        { flags: "--recipient <number>", about: "Only to this number." },
        { flags: "--sender <name>", about: "Only from this sender ID." },
        { flags: "--reference <reference>", about: "Only with this client reference." },
        { flags: "--campaign <campaign-id>", about: "Only of this campaign." },
        { flags: "--source <source,…>", about: "Only api, campaign, quick_send or test_send." },
        ...RANGE_WITH_OLDER_NAMES,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "send",
      about: "Send one message for a tenant. A repeat sends again.",
      examples: ["message send --tenant Acme --to +2348031234567 --from ACME --body Hello"],
      options: [
        TENANT,
        { flags: "--to <number>", about: "The recipient.", isRequired: true },
        { flags: "--from <name>", about: "The sender ID.", isRequired: true },
        { flags: "--body <text>", about: "The text.", isRequired: true },
        { flags: "--source <source>", about: "api, quick_send or test_send; api by default." },
        MODE,
        { flags: "--reference <reference>", about: "The client reference." },
        { flags: "--at <time>", about: "Send it at this date-time." },
      ],
      load: async () => (await actions()).send,
    },
    {
      name: "cancel",
      about: "Cancel messages that are scheduled or queued.",
      examples: ["message cancel msg_01M7… msg_01M8… --tenant Acme"],
      args: "<message-id...>",
      options: [TENANT],
      load: async () => (await actions()).cancel,
    },
    {
      name: "cancel-campaign",
      about: "Cancel every message of a campaign that can still be cancelled.",
      examples: ["message cancel-campaign cmp_01M7… --tenant Acme"],
      args: "<campaign-id>",
      options: [TENANT],
      load: async () => (await actions()).cancelCampaign,
    },
  ],
};
