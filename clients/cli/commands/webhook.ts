import type { Command, Group } from "../cli/command.ts";
import { PAGE, RANGE, statusOption } from "../cli/common-options.ts";

const actions = () => import("../actions/webhook.ts");

export const WEBHOOK_GROUP: Group = {
  name: "webhook",
  about: "Webhook endpoints and their deliveries.",
  commands: [
    {
      name: "list",
      about: "List the endpoints.",
      examples: ["webhook list"],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "deliveries",
      about: "List the deliveries to an endpoint, newest first.",
      examples: ["webhook deliveries whe_01M7… --status failed --since 1d"],
      args: "<endpoint-id>",
      options: [
        statusOption("pending", "succeeded", "failed", "dropped"),
        { flags: "--event-type <type>", about: "Only of this event type." },
        ...RANGE,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).deliveries,
    },
    {
      name: "resend",
      about: "Send one delivery again.",
      examples: ["webhook resend whe_01M7… whd_01M7…"],
      args: "<endpoint-id> <delivery-id>",
      load: async () => (await actions()).resend,
    },
    {
      name: "test",
      about: "Send a webhook.test event to an endpoint.",
      examples: ["webhook test whe_01M7…"],
      args: "<endpoint-id>",
      load: async () => (await actions()).test,
    },
  ],
};

export const TRIGGER_COMMAND: Command = {
  name: "trigger",
  about: "Cause an event: webhook.test is the one that the API can cause.",
  examples: ["trigger webhook.test", "trigger webhook.test --endpoint whe_01M7…"],
  args: "<event-type>",
  options: [
    { flags: "--endpoint <endpoint-id>", about: "To this endpoint; by default to every enabled." },
  ],
  load: async () => (await actions()).trigger,
};
