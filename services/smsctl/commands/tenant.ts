import type { Group } from "../cli/command.ts";
import { RANGE } from "../cli/common-options.ts";

const actions = () => import("../actions/tenant.ts");

const TENANT = { flags: "--tenant <tenant>", about: "The tenant, if not given as a word." };

export const TENANT_GROUP: Group = {
  name: "tenant",
  about: "Customers: create, show and change them.",
  commands: [
    {
      name: "create",
      about: "Create a tenant and its wallet. A repeat creates a missing wallet.",
      examples: ["tenant create --name Acme --currency NGN --rate-limit 50"],
      options: [
        { flags: "--name <name>", about: "The tenant's name.", isRequired: true },
        { flags: "--rate-limit <count>", about: "Requests per second." },
        { flags: "--burst <count>", about: "Requests at once." },
        { flags: "--currency <code>", about: "The wallet's currency." },
        { flags: "--low-balance <amount>", about: "Announce a lower balance." },
        { flags: "--plan <plan>", about: "The plan that routes may be limited to." },
        { flags: "--bulk-max <count>", about: "The most recipients of a bulk send." },
        { flags: "--email-verified <true|false>", about: "Only verified tenants may send." },
      ],
      load: async () => (await actions()).create,
    },
    {
      name: "show",
      about: "Show a tenant.",
      examples: ["tenant show Acme"],
      args: "[tenant]",
      options: [TENANT],
      load: async () => (await actions()).show,
    },
    {
      name: "list",
      about: "List all tenants.",
      examples: ["tenant list", "tenant list --since 7d -o csv"],
      options: [...RANGE],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "update",
      about: "Change the named settings of a tenant.",
      examples: ["tenant update Acme --suspended true"],
      args: "[tenant]",
      options: [
        TENANT,
        { flags: "--suspended <true|false>", about: "A suspended tenant cannot send." },
        { flags: "--email-verified <true|false>", about: "Only verified tenants may send." },
        { flags: "--rate-limit <count>", about: "Requests per second." },
        { flags: "--burst <count>", about: "Requests at once." },
        { flags: "--bulk-max <count>", about: "The most recipients of a bulk send." },
        { flags: "--plan <plan>", about: "The plan that routes may be limited to." },
        { flags: "--redact-bodies <true|false>", about: "Remove texts of final messages." },
        { flags: "--quiet-hours <hold|reject>", about: "What quiet hours do to messages." },
      ],
      load: async () => (await actions()).update,
    },
  ],
};
