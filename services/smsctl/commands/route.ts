import type { OptionDefinition } from "../../shared/cli/definition.ts";
import type { Group } from "../cli/command.ts";
import { RANGE } from "../cli/common-options.ts";

const actions = () => import("../actions/route.ts");

const PRICES: OptionDefinition = {
  flags: "--prices <prefix=price,…>",
  about: "The price of a segment by the beginning of the number: 234=4.50.",
  isRequired: true,
};
const ORDER: readonly OptionDefinition[] = [
  { flags: "--priority <count>", about: "Lower ones are tried first; 100 by default." },
  { flags: "--weight <count>", about: "The share among routes of one priority." },
];
const LIMITS: readonly OptionDefinition[] = [
  { flags: "--plans <plan,…>", about: "Only for these plans; * for all." },
  { flags: "--sender-ids <name,…>", about: "Only for these sender IDs; * for all." },
  { flags: "--tenants <tenant,…>", about: "Only for these tenants; * for all." },
  {
    flags: "--classes <class,…>",
    about: "Only otp, transactional or promotional messages; * for all.",
  },
  { flags: "--hours <range>", about: "When messages are accepted, UTC: 07:00-22:30, or always." },
];

export const ROUTE_GROUP: Group = {
  name: "route",
  about: "Routes over connectors: prices, limits and order.",
  commands: [
    {
      name: "add",
      about: "Add a route over a connector.",
      examples: ["route add --name main --connector smsc --prices 234=4.50,233=12"],
      options: [
        { flags: "--name <name>", about: "The route's name.", isRequired: true },
        { flags: "--connector <connector>", about: "The connector.", isRequired: true },
        { ...PRICES, isRequired: true },
        ...ORDER,
        ...LIMITS,
        { flags: "--disabled <true|false>", about: "Add it without using it yet." },
      ],
      load: async () => (await actions()).add,
    },
    {
      name: "list",
      about: "List all routes.",
      examples: ["route list", "route list -o wide"],
      options: [...RANGE],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "update",
      about: "Change the named settings of a route.",
      examples: ["route update main --priority 50 --tenants Acme"],
      args: "<route>",
      options: [
        { flags: "--name <name>", about: "The new name." },
        { flags: "--connector <connector>", about: "The new connector." },
        ...ORDER,
        ...LIMITS,
      ],
      load: async () => (await actions()).update,
    },
    {
      name: "remove",
      about: "Remove a route.",
      examples: ["route remove main"],
      args: "<route>",
      load: async () => (await actions()).remove,
    },
    {
      name: "enable",
      about: "Use a route again.",
      examples: ["route enable main"],
      args: "<route>",
      load: async () => (await actions()).enable,
    },
    {
      name: "disable",
      about: "Send new messages over the next route.",
      examples: ["route disable main"],
      args: "<route>",
      load: async () => (await actions()).disable,
    },
    {
      name: "price",
      about: "Change the named prices of a route.",
      examples: ["route price main --prices 234=4.75"],
      args: "<route>",
      options: [PRICES],
      load: async () => (await actions()).price,
    },
    {
      name: "import",
      about: "Replace the whole price list of a route by a CSV file.",
      examples: ["route import main --csv prices.csv --dry-run"],
      args: "<route>",
      options: [
        {
          flags: "--csv <file>",
          about: "Lines prefix,price; - is standard input.",
          isRequired: true,
        },
        { flags: "--dry-run", about: "Show the changes, and change nothing." },
      ],
      load: async () => (await actions()).importList,
    },
    {
      name: "explain",
      about: "Show which routes a message to a number would take, and why.",
      examples: ["route explain +2348031234567 --tenant Acme"],
      args: "[number]",
      options: [
        { flags: "--to <number>", about: "The number, if not given as a word." },
        { flags: "--tenant <tenant>", about: "For this tenant." },
        { flags: "--from <sender>", about: "From this sender ID." },
        { flags: "--segments <count>", about: "With this many segments." },
        { flags: "--class <class>", about: "Of this traffic class; transactional by default." },
      ],
      load: async () => (await actions()).explain,
    },
  ],
};
