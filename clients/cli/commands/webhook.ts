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

const FORWARD_TO = "--forward-to <url>";

export const LISTEN_COMMAND: Command = {
  name: "listen",
  about: "Show events as they happen, and send each to a server on this computer.",
  examples: [
    "listen --forward-to http://localhost:3000/webhooks",
    "listen --events message.delivered,message.failed --json",
    "listen --print-secret",
  ],
  options: [
    { flags: FORWARD_TO, about: "Send each event there as a signed webhook." },
    { flags: "--events <type,…>", about: "Only events of these types." },
    { flags: "--print-secret", about: "Print the secret that signs, and end." },
  ],
  endsItself: true,
  load: async () => (await import("../actions/listen.ts")).listen,
};

export const TRIGGER_COMMAND: Command = {
  name: "trigger",
  about: "Cause an event: webhook.test, one of a test message or campaign, or a sample.",
  examples: [
    "trigger message.undelivered",
    "trigger webhook.test --endpoint whe_01M7…",
    "trigger wallet.low_balance --forward-to http://localhost:3000/webhooks",
  ],
  args: "<event-type>",
  options: [
    {
      flags: "--endpoint <endpoint-id>",
      about: "webhook.test to this endpoint; by default to every enabled one.",
    },
    { flags: "--from <sender-id>", about: "The sender ID; by default the first usable one." },
    { flags: FORWARD_TO, about: "Send a sample there, and cause nothing." },
  ],
  endsItself: true,
  load: async () => (await import("../actions/trigger.ts")).trigger,
};
