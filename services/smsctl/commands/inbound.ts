import type { Group } from "../cli/command.ts";
import { PAGE, RANGE, TENANT, TENANT_IF_ANY } from "../cli/common-options.ts";

const messages = () => import("../actions/inbound.ts");
const numbers = () => import("../actions/inbound-number.ts");

export const INBOUND_GROUP: Group = {
  name: "inbound",
  about: "Messages that handsets sent to us.",
  commands: [
    {
      name: "list",
      about: "List inbound messages, newest first. Without a tenant: those that no tenant owns.",
      examples: ["inbound list --since 1d", "inbound list --tenant Acme --from +2348031234567"],
      options: [
        { flags: "--tenant <tenant>", about: "The tenant's id or name." },
        { flags: "--from <number>", about: "Only from this number." },
        { flags: "--to <number>", about: "Only to this number of ours." },
        ...RANGE,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await messages()).list,
    },
    {
      name: "show",
      about: "Show an inbound message.",
      examples: ["inbound show inb_01M7… --tenant Acme"],
      args: "<inbound-id>",
      options: [{ flags: "--tenant <tenant>", about: "The tenant that owns it, if any." }],
      load: async () => (await messages()).show,
    },
  ],
};

export const INBOUND_NUMBER_GROUP: Group = {
  name: "inbound-number",
  about: "The numbers that handsets send to, and the tenants that own them.",
  commands: [
    {
      name: "add",
      about: "Give a number, or a keyword of a shared number, to a tenant.",
      examples: ["inbound-number add 2345 --tenant Acme --keyword WIN"],
      args: "<number>",
      options: [
        TENANT,
        { flags: "--keyword <word>", about: "Only messages with this first word." },
        { flags: "--sender <name>", about: "The sender ID that it belongs to." },
      ],
      load: async () => (await numbers()).add,
    },
    {
      name: "list",
      about: "List the numbers with their owners.",
      examples: ["inbound-number list"],
      options: [TENANT_IF_ANY, ...RANGE],
      isList: true,
      load: async () => (await numbers()).list,
    },
    {
      name: "remove",
      about: "Take a number from its tenant.",
      examples: ["inbound-number remove inn_01M7… --tenant Acme"],
      args: "<inbound-number-id>",
      options: [TENANT],
      load: async () => (await numbers()).remove,
    },
  ],
};
