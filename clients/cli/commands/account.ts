import type { ProgramDefinition } from "../../../services/shared/cli/definition.ts";
import type { Command, CommandContext } from "../cli/command.ts";
import { PAGE, statusOption } from "../cli/common-options.ts";

const profiles = () => import("../actions/profile.ts");
const account = () => import("../actions/account.ts");

export const LOGIN_COMMAND: Command = {
  name: "login",
  about: "Check an API key and store it in a profile, which becomes the current one.",
  examples: [
    "login --base-url https://api.example.com",
    "login --profile test --api-key-file key.txt",
  ],
  options: [
    {
      flags: "--api-key <key>",
      about: "The key. The process list shows it: better is to be asked, or a file.",
    },
    { flags: "--api-key-file <file>", about: "A file with the key; - is standard input." },
  ],
  load: async () => (await profiles()).login,
};

export const LOGOUT_COMMAND: Command = {
  name: "logout",
  about: "Remove a profile and its key from this computer. The key itself stays valid.",
  examples: ["logout", "logout --profile test"],
  isLocal: true,
  load: async () => (await profiles()).logout,
};

export const USE_COMMAND: Command = {
  name: "use",
  about: "Make a profile the current one.",
  examples: ["use test"],
  args: "<profile>",
  isLocal: true,
  load: async () => (await profiles()).use,
};

export const PROFILES_COMMAND: Command = {
  name: "profiles",
  about: "List the profiles, without their keys.",
  examples: ["profiles"],
  isLocal: true,
  isList: true,
  load: async () => (await profiles()).list,
};

export const BALANCE_COMMAND: Command = {
  name: "balance",
  about: "Show the amount that sends may use, and the amount held for messages in flight.",
  examples: ["balance", "balance --json"],
  load: async () => (await account()).balance,
};

export const SENDER_IDS_COMMAND: Command = {
  name: "sender-ids",
  about: "List the sender IDs of the account.",
  examples: ["sender-ids", "sender-ids --usable"],
  options: [
    statusOption("pending", "approved", "rejected", "suspended"),
    { flags: "--usable", about: "Only those that can be used now." },
    ...PAGE,
  ],
  isList: true,
  load: async () => (await account()).senderIds,
};

/** `completion`, of the program that it is a command of. */
export function completionCommand(program: () => ProgramDefinition<CommandContext>): Command {
  return {
    name: "completion",
    about: "Print the completion script of a shell: bash, zsh or fish.",
    examples: ["completion bash > ~/.local/share/bash-completion/completions/sms"],
    args: "<shell>",
    isLocal: true,
    load: async () => {
      const { printCompletion } = await import("../../../services/shared/cli/print-completion.ts");
      return printCompletion(program());
    },
  };
}
