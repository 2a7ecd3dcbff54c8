import type { Group } from "../cli/command.ts";
import { PAGE, RANGE, TENANT } from "../cli/common-options.ts";

const suppressions = () => import("../actions/suppression.ts");
const keywords = () => import("../actions/keyword.ts");

export const SUPPRESSION_GROUP: Group = {
  name: "suppression",
  about: "Numbers that a tenant must not send to.",
  commands: [
    {
      name: "list",
      about: "List the suppressions of a tenant.",
      examples: ["suppression list --tenant Acme --number +2348031234567"],
      options: [
        TENANT,
        { flags: "--number <number>", about: "Only of this number." },
        ...RANGE,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await suppressions()).list,
    },
    {
      name: "add",
      about: "Add a number that a tenant must not send to.",
      examples: ["suppression add +2348031234567 --tenant Acme --reason 'asked by phone'"],
      args: "<number>",
      options: [
        TENANT,
        { flags: "--sender <name>", about: "Only from this sender ID; by default from all." },
        { flags: "--reason <text>", about: "Why." },
      ],
      load: async () => (await suppressions()).add,
    },
    {
      name: "remove",
      about: "Allow a tenant to send to a number again.",
      examples: ["suppression remove +2348031234567 --tenant Acme"],
      args: "<number>",
      options: [TENANT, { flags: "--sender <name>", about: "The suppression of this sender ID." }],
      load: async () => (await suppressions()).remove,
    },
  ],
};

export const KEYWORD_GROUP: Group = {
  name: "keyword",
  about: "A tenant's own words and replies, in addition to the common words such as STOP.",
  commands: [
    {
      name: "show",
      about: "Show the words and replies of a tenant.",
      examples: ["keyword show --tenant Acme"],
      options: [TENANT],
      load: async () => (await keywords()).show,
    },
    {
      name: "set",
      about: "Replace the words and replies of a tenant.",
      examples: ["keyword set --tenant Acme --opt-out TSAYA --opt-out-reply 'You are out.'"],
      options: [
        TENANT,
        { flags: "--opt-out <word,…>", about: "Words that opt out." },
        { flags: "--opt-in <word,…>", about: "Words that opt in." },
        { flags: "--help-words <word,…>", about: "Words that ask for help." },
        { flags: "--opt-out-reply <text>", about: "The reply to an opt-out." },
        { flags: "--opt-in-reply <text>", about: "The reply to an opt-in." },
        { flags: "--help-reply <text>", about: "The reply to a question for help." },
      ],
      load: async () => (await keywords()).set,
    },
  ],
};
