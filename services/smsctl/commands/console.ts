import type { OptionDefinition } from "../../shared/cli/definition.ts";
import type { Group } from "../cli/command.ts";
import { TENANT } from "../cli/common-options.ts";

const actions = () => import("../actions/console.ts");

const ROLE: OptionDefinition = {
  flags: "--role <owner|developer|sender|finance|viewer>",
  about: "What the person may do; owner by default.",
};

export const CONSOLE_GROUP: Group = {
  name: "console",
  about: "The console of a tenant, and the people who may sign in to it.",
  commands: [
    {
      name: "link",
      about: "Print a link that signs in to the console once.",
      examples: ["console link --tenant Acme", "console link --tenant Acme --role viewer"],
      options: [
        TENANT,
        ROLE,
        { flags: "--name <name>", about: "Shown in the console and in audit trails." },
        { flags: "--lifetime-minutes <count>", about: "How long it works: 10, at most 60." },
      ],
      load: async () => (await actions()).link,
    },
    {
      name: "people",
      about: "List the people of a tenant with their roles.",
      examples: ["console people --tenant Acme"],
      options: [TENANT],
      isList: true,
      load: async () => (await actions()).people,
    },
    {
      name: "invite",
      about: "Invite a person by e-mail.",
      examples: ["console invite person@example.com --tenant Acme --role sender"],
      args: "<email>",
      options: [TENANT, ROLE],
      load: async () => (await actions()).invite,
    },
    {
      name: "remove",
      about: "Remove a person, who is signed out within five seconds.",
      examples: ["console remove usr_01M7… --tenant Acme"],
      args: "<person-id>",
      options: [TENANT],
      load: async () => (await actions()).remove,
    },
    {
      name: "reset-factor",
      about: "Turn off the second factor of a person who lost it, for all their tenants.",
      examples: ["console reset-factor usr_01M7… --tenant Acme"],
      args: "<person-id>",
      options: [TENANT],
      load: async () => (await actions()).resetFactor,
    },
  ],
};
