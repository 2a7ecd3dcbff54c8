import type { Command, Group } from "../cli/command.ts";
import { PAGE, RANGE, RANGE_WITH_OLDER_NAMES, TENANT_IF_ANY } from "../cli/common-options.ts";

const dead = () => import("../actions/dead.ts");

export const DEAD_GROUP: Group = {
  name: "dead",
  about: "Events that consumers failed to process.",
  commands: [
    {
      name: "list",
      about: "List the dead letters with their reasons.",
      examples: ["dead list"],
      options: [...RANGE, ...PAGE],
      isList: true,
      load: async () => (await dead()).list,
    },
    {
      name: "replay",
      about: "Process dead letters again: the named ones, or all.",
      examples: ["dead replay", "dead replay 01M7… 01M8…"],
      args: "[id...]",
      load: async () => (await dead()).replay,
    },
  ],
};

export const AUDIT_COMMAND: Command = {
  name: "audit",
  about: "List who changed what, in all services, newest first.",
  examples: ["audit --tenant Acme --since 1d", "audit --service wallet --method AdjustWallet"],
  options: [
    { flags: "--service <service,…>", about: "Only these services." },
    TENANT_IF_ANY,
    { flags: "--method <method>", about: "Only this method, such as UpdateTenant." },
    { flags: "--caller <caller>", about: "Only this caller." },
    ...RANGE_WITH_OLDER_NAMES,
    ...PAGE,
  ],
  isList: true,
  load: async () => (await import("../actions/audit.ts")).audit,
};

export const CHECK_COMMAND: Command = {
  name: "check",
  about: "Prove on live data that no message and no money is lost.",
  examples: ["check", "check --tenant Acme"],
  options: [TENANT_IF_ANY],
  endsItself: true,
  load: async () => (await import("../actions/check.ts")).check,
};
