import type { OptionDefinition, ProgramDefinition } from "../../shared/cli/definition.ts";
import { SERVICE_ADDRESSES } from "../../shared/service-addresses.ts";
import type { Command, CommandContext, Group } from "../cli/command.ts";

const actions = () => import("../actions/context.ts");

/** One option for the address of each service: `--tenant-grpc` for `TENANT_GRPC`. */
const ADDRESSES: readonly OptionDefinition[] = Object.values(SERVICE_ADDRESSES).map(
  ({ name, setting }) => ({
    flags: `--${setting.toLowerCase().replaceAll("_", "-")} <address,…>`,
    about: `The ${name} service.`,
  }),
);

export const CONTEXT_GROUP: Group = {
  name: "context",
  about: "Named sets of addresses and tokens, as kubectl has them.",
  commands: [
    {
      name: "list",
      about: "List the contexts; the current one is marked.",
      examples: ["context list"],
      isList: true,
      isLocal: true,
      load: async () => (await actions()).list,
    },
    {
      name: "use",
      about: "Make a context the current one.",
      examples: ["context use production"],
      args: "<context>",
      isLocal: true,
      load: async () => (await actions()).use,
    },
    {
      name: "set",
      about: "Create a context, or change the named settings of one.",
      examples: [
        "context set production --from-env",
        "context set production --wallet-grpc wallet.example.net:9090 --token-file -",
      ],
      args: "<context>",
      options: [
        { flags: "--from-env", about: "Take the settings of the present environment." },
        ...ADDRESSES,
        { flags: "--carrier-ops <url>", about: "The carrier's ops port." },
        { flags: "--token-file <file>", about: "A file with the token; - is standard input." },
        { flags: "--tls-cert <file>", about: "The certificate for mutual TLS." },
        { flags: "--tls-key <file>", about: "Its key." },
        { flags: "--tls-ca <file>", about: "The certificates to trust." },
        { flags: "--stack <folder>", about: "The folder of a development stack (.local)." },
      ],
      isLocal: true,
      load: async () => (await actions()).set,
    },
    {
      name: "remove",
      about: "Remove a context.",
      examples: ["context remove production"],
      args: "<context>",
      isLocal: true,
      load: async () => (await actions()).remove,
    },
  ],
};

/** The command `completion`; `program` returns the program that contains it. */
export function completionCommand(program: () => ProgramDefinition<CommandContext>): Command {
  return {
    name: "completion",
    about: "Print the completion script of a shell: bash, zsh or fish.",
    examples: ["completion bash > ~/.local/share/bash-completion/completions/smsctl"],
    args: "<shell>",
    isLocal: true,
    load: async () =>
      (await import("../../shared/cli/print-completion.ts")).printCompletion(program()),
  };
}
