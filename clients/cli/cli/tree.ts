/** The whole command line of sms as data. Only the code of the command that runs is loaded. */
import { readFileSync } from "node:fs";
import type { ProgramDefinition } from "../../../services/shared/cli/definition.ts";
import {
  BALANCE_COMMAND,
  completionCommand,
  LOGIN_COMMAND,
  LOGOUT_COMMAND,
  PROFILES_COMMAND,
  SENDER_IDS_COMMAND,
  USE_COMMAND,
} from "../commands/account.ts";
import { CAMPAIGN_GROUP } from "../commands/campaign.ts";
import {
  CANCEL_COMMAND,
  GET_COMMAND,
  INBOUND_GROUP,
  LIST_COMMAND,
  SEND_COMMAND,
} from "../commands/message.ts";
import { LISTEN_COMMAND, TRIGGER_COMMAND, WEBHOOK_GROUP } from "../commands/webhook.ts";
import type { CommandContext } from "./command.ts";

/** The name in help, errors and completion. */
export const PROGRAM = "sms";

const EPILOGUE = `SMS_API_KEY and SMS_BASE_URL win over profiles.

Examples:
  $ sms login --base-url https://api.example.com
  $ sms send --from Acme --to +2348031234567 --body "Your order is on its way."
  $ sms list --since 1h --status failed,undelivered

Exit codes: 0 done, 2 usage, 3 not found, 4 refused, 5 unavailable,
1 any other failure, 130 interrupted.`;

/** The definition of sms. */
export function smsProgram(): ProgramDefinition<CommandContext> {
  return {
    name: PROGRAM,
    about: "Sends messages and shows what became of them, under an API key.",
    version: version(),
    epilogue: EPILOGUE,
    options: [
      {
        flags: "-o, --output <format>",
        about: "table, wide, json, yaml or csv; table by default. json has every field.",
      },
      { flags: "--json", about: "The same as -o json: one JSON value." },
      { flags: "--utc", about: "Show times in UTC; by default in the local zone." },
      { flags: "--profile <profile>", about: "Use the key and address of this profile." },
      { flags: "--base-url <url>", about: "The address of the API." },
    ],
    entries: [
      ...[LOGIN_COMMAND, LOGOUT_COMMAND, USE_COMMAND, PROFILES_COMMAND],
      ...[SEND_COMMAND, LIST_COMMAND, GET_COMMAND, CANCEL_COMMAND],
      ...[BALANCE_COMMAND, SENDER_IDS_COMMAND, CAMPAIGN_GROUP, INBOUND_GROUP],
      ...[WEBHOOK_GROUP, LISTEN_COMMAND, TRIGGER_COMMAND, completionCommand(smsProgram)],
    ],
  };
}

function version(): string {
  const file = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
