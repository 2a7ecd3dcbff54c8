import type { Group } from "../cli/command.ts";
import { MODE, RANGE, TENANT } from "../cli/common-options.ts";

const actions = () => import("../actions/key.ts");

export const KEY_GROUP: Group = {
  name: "key",
  about: "API keys of tenants.",
  commands: [
    {
      name: "create",
      about: "Create an API key. Its secret is shown this once.",
      examples: ["key create --tenant Acme --scopes messages:send,messages:read"],
      options: [
        TENANT,
        MODE,
        { flags: "--scopes <scope,…>", about: "What the key may do; by default everything." },
        { flags: "--allow-ip <cidr,…>", about: "The addresses that may use it; by default all." },
      ],
      load: async () => (await actions()).create,
    },
    {
      name: "list",
      about: "List the API keys of a tenant, without their secrets.",
      examples: ["key list --tenant Acme"],
      options: [TENANT, ...RANGE],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "revoke",
      about: "Revoke an API key for good.",
      examples: ["key revoke key_01M7… --tenant Acme"],
      args: "[key-id]",
      options: [TENANT, { flags: "--key <key-id>", about: "The key, if not given as a word." }],
      load: async () => (await actions()).revoke,
    },
  ],
};
