import { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import type { Command, Group } from "../cli/command.ts";
import { KEY, PAGE, RANGE, statusOption } from "../cli/common-options.ts";

const actions = () => import("../actions/message.ts");

export const SEND_COMMAND: Command = {
  name: "send",
  about: "Send a text to one number, to several, or to the rows of a CSV file.",
  examples: [
    'send --from Acme --to +2348031234567 --body "Your order is on its way."',
    'send --from Acme --to 08031234567,08051234567 --body "We open at nine." --at 2027-01-02T08:00:00Z',
    'send --from Acme --csv parcels.csv --body "Hi {{name}}, your parcel is here."',
  ],
  options: [
    { flags: "--from <sender-id>", about: "The sender ID.", isRequired: true },
    { flags: "--to <number,…>", about: "The recipients; at most 1,000." },
    {
      flags: "--csv <file>",
      about: "Send to each row. The header names to, perhaps body and client_reference.",
    },
    {
      flags: "--body <text>",
      about: "The text. With --csv, {{name}} stands for the cell of the column name.",
    },
    { flags: "--at <time>", about: "Send at this date-time; not with --csv." },
    { flags: "--reference <reference>", about: "Your own reference, of every message." },
    { flags: "--class <class>", about: "otp, transactional or promotional." },
    KEY,
  ],
  endsItself: true,
  load: async () => (await import("../actions/send.ts")).send,
};

export const LIST_COMMAND: Command = {
  name: "list",
  about: "List the messages, newest first.",
  examples: ["list --since 1h --status failed,undelivered", "list --to +2348031234567 -o csv"],
  options: [
    statusOption(...MESSAGE_STATUSES),
    { flags: "--to <number>", about: "Only to this number." },
    { flags: "--from <sender-id>", about: "Only from this sender ID." },
    { flags: "--reference <reference>", about: "Only with this reference of yours." },
    { flags: "--campaign <campaign-id>", about: "Only of this campaign." },
    { flags: "--source <source,…>", about: "Only api, campaign, quick_send or test_send." },
    ...RANGE,
    ...PAGE,
  ],
  isList: true,
  load: async () => (await actions()).list,
};

export const GET_COMMAND: Command = {
  name: "get",
  about: "Show a message with its history.",
  examples: ["get msg_01M7…", "get msg_01M7… --watch"],
  args: "<message-id>",
  options: [{ flags: "--watch", about: "Wait for the final status, and show each change." }],
  load: async () => (await actions()).get,
};

export const CANCEL_COMMAND: Command = {
  name: "cancel",
  about: "Cancel a message that is scheduled, or still waits to be sent.",
  examples: ["cancel msg_01M7…"],
  args: "<message-id>",
  load: async () => (await actions()).cancel,
};

export const INBOUND_GROUP: Group = {
  name: "inbound",
  about: "Messages that people sent to your numbers.",
  commands: [
    {
      name: "list",
      about: "List the inbound messages, newest first.",
      examples: ["inbound list --since 1d"],
      options: [
        { flags: "--from <number>", about: "Only from this handset." },
        { flags: "--to <number>", about: "Only to this number of yours." },
        ...RANGE,
        ...PAGE,
      ],
      isList: true,
      load: async () => (await actions()).listInbound,
    },
  ],
};
