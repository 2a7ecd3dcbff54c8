/** The whole command line of smsctl as data. Only the code of the command that runs is loaded. */
import { readFileSync } from "node:fs";
import type { ProgramDefinition } from "../../shared/cli/definition.ts";
import { CAMPAIGN_GROUP } from "../commands/campaign.ts";
import { CONNECTOR_GROUP } from "../commands/connector.ts";
import { KEYWORD_GROUP, SUPPRESSION_GROUP } from "../commands/consent.ts";
import { CONSOLE_GROUP } from "../commands/console.ts";
import { CONTEXT_GROUP, completionCommand } from "../commands/context.ts";
import { INBOUND_GROUP, INBOUND_NUMBER_GROUP } from "../commands/inbound.ts";
import { KEY_GROUP } from "../commands/key.ts";
import { MESSAGE_GROUP } from "../commands/message.ts";
import { AUDIT_COMMAND, CHECK_COMMAND, DEAD_GROUP } from "../commands/operation.ts";
import { QUIET_HOURS_GROUP } from "../commands/quiet-hours.ts";
import { ROUTE_GROUP } from "../commands/route.ts";
import { SENDER_ID_GROUP } from "../commands/sender-id.ts";
import { TENANT_GROUP } from "../commands/tenant.ts";
import { WALLET_GROUP } from "../commands/wallet.ts";
import { WEBHOOK_GROUP } from "../commands/webhook.ts";
import type { CommandContext } from "./command.ts";

/** The name in help, errors and completion. */
export const PROGRAM = "smsctl";

const EPILOGUE = `Examples:
  $ smsctl message find +2348031234567 --since 1d
  $ smsctl connector list --watch
  $ smsctl wallet entries --tenant Acme --since 1h -o csv

Exit codes: 0 done, 2 usage, 3 not found, 4 refused, 5 unavailable,
1 any other failure, 130 interrupted.`;

/** The definition of smsctl. */
export function smsctlProgram(): ProgramDefinition<CommandContext> {
  return {
    name: PROGRAM,
    about: "The operators' command line: sees and changes the data of every service.",
    version: version(),
    epilogue: EPILOGUE,
    options: [
      {
        flags: "-o, --output <format>",
        about: "table, wide, json, yaml or csv; table by default. json has every field.",
      },
      { flags: "--json", about: "The same as -o json: one JSON value." },
      { flags: "--utc", about: "Show times in UTC; by default in the local zone." },
      { flags: "--context <context>", about: "Use the addresses and token of this context." },
      { flags: "--actor <name>", about: "The person for the audit trail; the user by default." },
    ],
    entries: [
      ...[MESSAGE_GROUP, CAMPAIGN_GROUP, INBOUND_GROUP, INBOUND_NUMBER_GROUP],
      ...[SUPPRESSION_GROUP, KEYWORD_GROUP, WEBHOOK_GROUP, TENANT_GROUP, KEY_GROUP],
      CONSOLE_GROUP,
      ...[SENDER_ID_GROUP, WALLET_GROUP, CONNECTOR_GROUP, ROUTE_GROUP, QUIET_HOURS_GROUP],
      DEAD_GROUP,
      ...[AUDIT_COMMAND, CHECK_COMMAND, CONTEXT_GROUP, completionCommand(smsctlProgram)],
    ],
  };
}

function version(): string {
  const file = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
