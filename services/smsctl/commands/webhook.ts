import type { Command, Group } from "../cli/command.ts";
import {
  MODE,
  PAGE,
  RANGE,
  RANGE_WITH_OLDER_NAMES,
  statusOption,
  TENANT,
} from "../cli/common-options.ts";

const actions = () => import("../actions/webhook.ts");

const EVENTS = { flags: "--events <type,…>", about: "The types of events; by default all." };

export const WEBHOOK_GROUP: Group = {
  name: "webhook",
  about: "Endpoints of customers and the deliveries to them.",
  commands: [
    {
      name: "add",
      about: "Add an endpoint. Its secret is shown this once.",
      examples: ["webhook add --tenant Acme --url https://example.net/sms"],
      options: [
        TENANT,
        { flags: "--url <url>", about: "Where events are sent to.", isRequired: true },
        MODE,
        EVENTS,
        { flags: "--description <text>", about: "A note." },
      ],
      load: async () => (await actions()).add,
    },
    {
      name: "list",
      about: "List the endpoints of a tenant.",
      examples: ["webhook list --tenant Acme"],
      options: [TENANT, ...RANGE],
      isList: true,
      load: async () => (await actions()).list,
    },
    onEndpoint("show", "Show an endpoint."),
    onEndpoint("enable", "Deliver to an endpoint again."),
    onEndpoint("disable", "Stop deliveries to an endpoint."),
    onEndpoint("delete", "Delete an endpoint and its deliveries."),
    onEndpoint("rotate", "Give an endpoint a new secret, which is shown this once."),
    onEndpoint("test", "Send a test event to an endpoint."),
    {
      name: "deliveries",
      about: "List the deliveries to an endpoint, newest first.",
      examples: ["webhook deliveries whe_01M7… --tenant Acme --since 1h --status failed"],
      args: "<endpoint-id>",
      options: [
        TENANT,
        statusOption("pending", "succeeded", "failed", "dropped"),
        ...RANGE_WITH_OLDER_NAMES,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).deliveries,
    },
    {
      name: "resend",
      about: "Deliver one event again.",
      examples: ["webhook resend whe_01M7… whd_01M7… --tenant Acme"],
      args: "<endpoint-id> <delivery-id>",
      options: [TENANT],
      load: async () => (await actions()).resend,
    },
    {
      name: "recover",
      about: "Deliver again all that failed since a time.",
      examples: ["webhook recover whe_01M7… --tenant Acme --since 6h"],
      args: "<endpoint-id>",
      options: [
        TENANT,
        { flags: "--since <time>", about: "An age or a date-time.", isRequired: true },
      ],
      load: async () => (await actions()).recover,
    },
    {
      name: "listen",
      about: "Receive, verify and print events on this machine until Ctrl-C.",
      examples: ["webhook listen --tenant Demo"],
      options: [
        TENANT,
        MODE,
        EVENTS,
        { flags: "--port <port>", about: "Where to listen." },
        { flags: "--cert <file>", about: "The certificate of a public address." },
        { flags: "--key <file>", about: "Its key." },
        { flags: "--url <url>", about: "The public address." },
      ],
      endsItself: true,
      load: async () => (await actions()).listen,
    },
  ],
};

function onEndpoint(
  name: "show" | "enable" | "disable" | "delete" | "rotate" | "test",
  about: string,
): Command {
  return {
    name,
    about,
    examples: [`webhook ${name} whe_01M7… --tenant Acme`],
    args: "<endpoint-id>",
    options: [TENANT],
    load: async () => (await actions()).ON_ENDPOINT[name],
  };
}
