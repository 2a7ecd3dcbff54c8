import type { OptionDefinition } from "../../shared/cli/definition.ts";
import type { Command, Group } from "../cli/command.ts";

const actions = () => import("../actions/connector.ts");

const RATE = { flags: "--rate <count>", about: "Submits per second; 0 for no limit." };

/** The options of SMPP settings. */
const SMPP: readonly OptionDefinition[] = [
  { flags: "--host <host>", about: "SMPP: the carrier's host." },
  { flags: "--port <port>", about: "SMPP: its port." },
  { flags: "--system-id <id>", about: "SMPP: our name there." },
  { flags: "--password <password>", about: "SMPP: visible in the process list." },
  { flags: "--password-file <file>", about: "SMPP: a file with it; - is standard input." },
  { flags: "--system-type <type>", about: "SMPP: as the carrier asks." },
  { flags: "--binds <count>", about: "SMPP: the number of sessions." },
  { flags: "--bind-mode <mode>", about: "SMPP: transceiver or transmitter." },
  { flags: "--window <count>", about: "SMPP: unanswered submits of a session." },
  { flags: "--tls [true|false]", about: "SMPP: over TLS." },
  { flags: "--tls-ca <file>", about: "SMPP: the certificates to trust; - is standard input." },
  { flags: "--tls-server-name <name>", about: "SMPP: the name in the carrier's certificate." },
  { flags: "--charset <charset>", about: "SMPP: gsm7, latin1, ascii or ucs2." },
  { flags: "--long-message <form>", about: "SMPP: udh8, udh16, sar or payload." },
  { flags: "--receipt-id <form>", about: "SMPP: as_is, hex_to_decimal or decimal_to_hex." },
  { flags: "--single-receipt <true|false>", about: "SMPP: one receipt for all parts." },
  { flags: "--optional-parameters <when>", about: "SMPP: auto, always or never." },
  { flags: "--enquire-link-ms <ms>", about: "SMPP: the interval of keep-alives." },
  { flags: "--response-timeout-ms <ms>", about: "SMPP: the wait for a response." },
  { flags: "--source-ton <number>", about: "SMPP: a number, or default." },
  { flags: "--source-npi <number>", about: "SMPP: a number, or default." },
  { flags: "--destination-ton <number>", about: "SMPP: a number, or default." },
  { flags: "--destination-npi <number>", about: "SMPP: a number, or default." },
  { flags: "--error-codes <theirs=ours,…>", about: "SMPP: codes in receipts, or none." },
  { flags: "--throttle-scopes <status=scope,…>", about: "SMPP: bind or number, or none." },
  {
    flags: "--submit-error-codes <status=code,…>",
    about: "SMPP: refusals that mean dnd_blocked, or none.",
  },
];

/** The options of HTTP settings. */
const HTTP: readonly OptionDefinition[] = [
  { flags: "--url <url>", about: "HTTP: where messages are sent to." },
  { flags: "--method <method>", about: "HTTP: POST by default." },
  { flags: "--body-template <text>", about: "HTTP: with {{to}}, {{from}}, {{body}} and so on." },
  { flags: "--content-type <type>", about: "HTTP: of the body." },
  { flags: "--headers-file <file>", about: "HTTP: all headers, a Name: value on each line." },
  { flags: "--id-pointer <pointer>", about: "HTTP: where the response has the id." },
  { flags: "--timeout-ms <ms>", about: "HTTP: the wait for a response." },
  { flags: "--concurrency <count>", about: "HTTP: requests at once." },
  { flags: "--receipt-secret <secret>", about: "HTTP: visible in the process list." },
  { flags: "--receipt-secret-file <file>", about: "HTTP: a file with it; - is standard input." },
  { flags: "--receipt-status-pointer <pointer>", about: "HTTP: where a receipt has its status." },
  { flags: "--receipt-statuses <theirs=ours,…>", about: "HTTP: all statuses of receipts." },
  { flags: "--http-throttle-scopes <status=scope,…>", about: "HTTP: bind or number, or none." },
  { flags: "--error-pointer <pointer>", about: "HTTP: where a response has an error code." },
  {
    flags: "--http-submit-error-codes <theirs=code,…>",
    about: "HTTP: statuses and error codes that mean dnd_blocked, or none.",
  },
  { flags: "--inbound-from-pointer <pointer>", about: "HTTP: where a callback has the sender." },
  { flags: "--inbound-to-pointer <pointer>", about: "HTTP: where a callback has our number." },
  { flags: "--inbound-body-pointer <pointer>", about: "HTTP: where a callback has the text." },
  { flags: "--inbound-id-pointer <pointer>", about: "HTTP: where a callback has its id." },
  { flags: "--inbound-reference-pointer <pointer>", about: "HTTP: the reference of a part." },
  { flags: "--inbound-total-pointer <pointer>", about: "HTTP: how many parts there are." },
  { flags: "--inbound-sequence-pointer <pointer>", about: "HTTP: the place of a part, from 1." },
];

export const CONNECTOR_GROUP: Group = {
  name: "connector",
  about: "Links to carriers: settings, health and queues.",
  commands: [
    {
      name: "list",
      about: "List all connectors with the state of their links.",
      examples: ["connector list --watch"],
      isList: true,
      load: async () => (await actions()).list,
    },
    {
      name: "health",
      about: "Show the delivery rate of each connector and country with its baseline.",
      examples: ["connector health --connector smsc"],
      options: [{ flags: "--connector <connector>", about: "Only this one." }],
      isList: true,
      load: async () => (await actions()).health,
    },
    {
      name: "queues",
      about: "Show how many messages wait at each connector, and how long.",
      examples: ["connector queues --watch"],
      isList: true,
      load: async () => (await actions()).queues,
    },
    {
      name: "inbound-urls",
      about: "List where HTTP carriers post messages from handsets.",
      examples: ["connector inbound-urls"],
      options: [{ flags: "--ops <url>", about: "The carrier's ops port; CARRIER_OPS by default." }],
      isList: true,
      load: async () => (await actions()).inboundUrls,
    },
    {
      name: "unmatched",
      about: "List the receipts of the last three days that match no message.",
      examples: ["connector unmatched"],
      options: [{ flags: "--ops <url>", about: "The carrier's ops port; CARRIER_OPS by default." }],
      isList: true,
      load: async () => (await actions()).unmatched,
    },
    {
      name: "add",
      about: "Add a connector.",
      examples: [
        "connector add mtn --host smpp.example.net --port 2775 --system-id acme --password-file -",
        'connector add web --type http --url https://sms.example.net/send --body-template \'{"to":"{{to}}"}\' --id-pointer /id',
      ],
      args: "[connector]",
      options: [
        { flags: "--name <connector>", about: "The name, if not given as a word." },
        { flags: "--type <smpp|http>", about: "The protocol; smpp by default." },
        RATE,
        ...SMPP,
        ...HTTP,
      ],
      load: async () => (await actions()).add,
    },
    {
      name: "update",
      about: "Change the named settings of a connector.",
      examples: ["connector update mtn --rate 100", "connector update mtn --password-file -"],
      args: "<connector>",
      options: [RATE, ...SMPP, ...HTTP],
      load: async () => (await actions()).update,
    },
    change("pause", "Stop submits; messages wait."),
    change("resume", "Submit again."),
    change("drain", "Take no new messages; waiting ones move to other routes."),
    change("remove", "Remove a connector without routes."),
  ],
};

function change(name: "pause" | "resume" | "drain" | "remove", about: string): Command {
  return {
    name,
    about,
    examples: [`connector ${name} mtn`],
    args: "<connector>",
    load: async () => (await actions())[name],
  };
}
