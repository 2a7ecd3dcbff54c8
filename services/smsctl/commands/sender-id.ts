import type { OptionDefinition } from "../../shared/cli/definition.ts";
import type { Command, Group } from "../cli/command.ts";
import { RANGE, statusOption, TENANT } from "../cli/common-options.ts";

const actions = () => import("../actions/sender-id.ts");

const CLASS: OptionDefinition = {
  flags: "--class <class>",
  about: "The traffic class: otp, transactional or promotional.",
};

export const SENDER_ID_GROUP: Group = {
  name: "sender-id",
  about: "The names that messages are sent from.",
  commands: [
    {
      name: "add",
      about: "Register a sender ID for a tenant.",
      examples: ["sender-id add --tenant Acme --name ACME --approve"],
      options: [
        TENANT,
        { flags: "--name <name>", about: "3 to 11 characters.", isRequired: true },
        { flags: "--approve", about: "Approve it at once." },
        CLASS,
      ],
      load: async () => (await actions()).add,
    },
    {
      name: "list",
      about: "List the sender IDs of a tenant.",
      examples: ["sender-id list --tenant Acme --status pending"],
      options: [TENANT, statusOption("pending", "approved", "rejected", "suspended"), ...RANGE],
      isList: true,
      load: async () => (await actions()).list,
    },
    review("approve", "Approve a sender ID.", [CLASS]),
    review("reject", "Reject a sender ID, with a reason for the customer.", [
      { flags: "--reason <text>", about: "Shown to the customer." },
    ]),
    review("suspend", "Suspend an approved sender ID.", []),
    review("reinstate", "Lift the suspension of a sender ID.", []),
  ],
};

function review(
  name: "approve" | "reject" | "suspend" | "reinstate",
  about: string,
  options: readonly OptionDefinition[],
): Command {
  const more = name === "reject" ? " --reason 'belongs to another company'" : "";
  return {
    name,
    about,
    examples: [`sender-id ${name} ACME --tenant Acme${more}`],
    args: "[id-or-name]",
    options: [
      TENANT,
      { flags: "--name <name>", about: "The sender ID, if not given as a word." },
      ...options,
    ],
    load: async () => (await actions())[name],
  };
}
