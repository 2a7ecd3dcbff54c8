import type { OptionDefinition } from "../../shared/cli/definition.ts";
import type { Group } from "../cli/command.ts";
import { TENANT } from "../cli/common-options.ts";

const actions = () => import("../actions/console.ts");

const LINK_ROLE: OptionDefinition = {
  flags: "--role <role>",
  about: "Of a tenant: as for invite. With --operator: support, operator, finance or admin.",
};

const ROLE: OptionDefinition = {
  flags: "--role <owner|developer|sender|finance|viewer>",
  about: "What the person may do; owner by default.",
};

export const CONSOLE_GROUP: Group = {
  name: "console",
  about: "The console of a tenant and that of operators, and the people who may sign in.",
  commands: [
    {
      name: "link",
      about: "Print a link that signs in to the console once, or to the operators' console.",
      examples: [
        "console link --tenant Acme --role viewer",
        "console link --operator --person ada@example.org --role finance",
      ],
      options: [
        { flags: "--tenant <tenant>", about: "The tenant's id or name; not with --operator." },
        LINK_ROLE,
        { flags: "--operator", about: "For the operators' console, in place of --tenant." },
        {
          flags: "--person <email>",
          about: "The operator, whose role --role sets; by default the user and host.",
        },
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
    {
      name: "operators",
      about: "List the people of the operators' console with their roles.",
      examples: ["console operators"],
      isList: true,
      load: async () => (await actions()).operators,
    },
    {
      name: "remove-operator",
      about: "Remove an operator, who is signed out at once.",
      examples: ["console remove-operator ada@example.org"],
      args: "<email>",
      load: async () => (await actions()).removeOperator,
    },
  ],
};
