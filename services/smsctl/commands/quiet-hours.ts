import type { Group } from "../cli/command.ts";

const actions = () => import("../actions/quiet-hours.ts");

const CLASS = {
  flags: "--class <class>",
  about: "The traffic class: promotional (the default), transactional or otp.",
};

export const QUIET_HOURS_GROUP: Group = {
  name: "quiet-hours",
  about: "Times of the day at which messages of a class are not sent to a country.",
  commands: [
    {
      name: "list",
      about: "Show the quiet hours, and how many messages wait for their end.",
      examples: ["quiet-hours list"],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "set",
      about: "Replace the quiet hours of a country and class.",
      examples: ["quiet-hours set NG --zone Africa/Lagos --hours 20:00-08:00"],
      args: "<country>",
      options: [
        { flags: "--zone <zone>", about: "The IANA time zone of the hours.", isRequired: true },
        { flags: "--hours <from-until,…>", about: "Windows of the wall clock.", isRequired: true },
        CLASS,
      ],
      load: async () => (await actions()).set,
    },
    {
      name: "remove",
      about: "Remove the quiet hours of a country and class, those of the setting too.",
      examples: ["quiet-hours remove NG"],
      args: "<country>",
      options: [CLASS],
      load: async () => (await actions()).remove,
    },
  ],
};
