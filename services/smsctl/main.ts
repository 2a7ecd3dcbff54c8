/**
 * `smsctl`: the operators' command line, a gRPC client. Exits with 0; with 1 and one line on standard
 * error; or with 130 after an interruption. With `--json` it prints one JSON value on standard output,
 * or the error as JSON.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { AppError } from "../shared/core/errors.ts";
import { ConfigError } from "../shared/io/config.ts";
import { setProcessDefaults } from "../shared/io/process-defaults.ts";
import { runAsActor } from "../shared/rpc/call-context.ts";
import { toAppError } from "../shared/rpc/error-status.ts";
import { localActor } from "./calls/actor.ts";
import { type Clients, openClients } from "./calls/clients.ts";
import { parseArguments } from "./cli/arguments.ts";
import { type Command, type Commands, wordsMax } from "./cli/command.ts";
import { createOptions } from "./cli/options.ts";
import { createOutput, failure } from "./cli/output.ts";
import { AUDIT_COMMAND } from "./commands/audit.ts";
import { CAMPAIGN_COMMANDS } from "./commands/campaign.ts";
import { CHECK_COMMAND } from "./commands/check.ts";
import { CONNECTOR_COMMANDS } from "./commands/connector.ts";
import { DEAD_COMMANDS } from "./commands/dead.ts";
import { INBOUND_COMMANDS } from "./commands/inbound.ts";
import { INBOUND_NUMBER_COMMANDS } from "./commands/inbound-number.ts";
import { KEY_COMMANDS } from "./commands/key.ts";
import { KEYWORD_COMMANDS } from "./commands/keyword.ts";
import { MESSAGE_COMMANDS } from "./commands/message.ts";
import { ROUTE_COMMANDS } from "./commands/route.ts";
import { SENDER_ID_COMMANDS } from "./commands/sender-id.ts";
import { SUPPRESSION_COMMANDS } from "./commands/suppression.ts";
import { TENANT_COMMANDS } from "./commands/tenant.ts";
import { WALLET_COMMANDS } from "./commands/wallet.ts";
import { WEBHOOK_COMMANDS } from "./commands/webhook.ts";

const NOUNS: Readonly<Record<string, Commands>> = {
  tenant: TENANT_COMMANDS,
  key: KEY_COMMANDS,
  wallet: WALLET_COMMANDS,
  "sender-id": SENDER_ID_COMMANDS,
  connector: CONNECTOR_COMMANDS,
  route: ROUTE_COMMANDS,
  message: MESSAGE_COMMANDS,
  campaign: CAMPAIGN_COMMANDS,
  inbound: INBOUND_COMMANDS,
  "inbound-number": INBOUND_NUMBER_COMMANDS,
  suppression: SUPPRESSION_COMMANDS,
  keyword: KEYWORD_COMMANDS,
  webhook: WEBHOOK_COMMANDS,
  dead: DEAD_COMMANDS,
};

/** Commands of one word. */
const SINGLE: Commands = { audit: AUDIT_COMMAND, check: CHECK_COMMAND };

/** Options of every command. `--actor` names the person for the audit trail. */
const GLOBAL: ReadonlySet<string> = new Set(["json", "actor"]);

/** The exit code of shells for a command that Ctrl-C ended: 128 plus the number of SIGINT. */
const INTERRUPTED = 130;

/** A launcher may forward a signal that the terminal also sent here: count both as one. */
const SAME_SIGNAL_MS = 1000;

setProcessDefaults(process.env);
process.exitCode = await main(process.argv.slice(2));
// After an interruption, do not wait for servers to close their connections.
if (process.exitCode === INTERRUPTED) process.exit();

async function main(argv: readonly string[]): Promise<number> {
  const isJson = argv.some((item) => item === "--json" || item === "--json=true");
  const ended = new AbortController();
  let clients: Clients | undefined;
  try {
    const args = parseArguments(argv);
    const command = findCommand(args.words);
    if (args.options.has("help")) {
      process.stdout.write(usage(args.words[0]));
      return 0;
    }
    if (args.words.length === 0 && !isJson) {
      process.stderr.write(usage(undefined));
      return 1;
    }
    if (command === undefined) throw unknownCommand(args.words);
    rejectUnknownOptions(command, args.options.keys());
    rejectSurplusWords(command, args.words);
    const options = createOptions(args);
    const output = createOutput(options.isSet("json"), process.stdout, process.stderr);
    clients = openClients(process.env);
    abortOnSignals(command, ended);
    const context = { clients, options, output, signal: ended.signal };
    const code = await runAsActor(localActor(options), () => command.run(context));
    return ended.signal.aborted ? INTERRUPTED : (code ?? 0);
  } catch (thrown) {
    if (ended.signal.aborted && isInterruption(thrown)) return INTERRUPTED;
    process.stderr.write(failure(toCliError(thrown), isJson));
    return 1;
  } finally {
    clients?.close();
  }
}

/**
 * Ctrl-C, a closed terminal and a closed pipe (`| head`) end a command. A command without clean-up
 * ends at once; any other ends at once on the second signal.
 */
function abortOnSignals(command: Command, ended: AbortController): void {
  let firstMs: number | undefined;
  const end = (): void => {
    if (command.endsItself !== true) process.exit(INTERRUPTED);
    firstMs ??= performance.now();
    if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
    ended.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return end();
    process.stderr.write(`smsctl: the result cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}

/** True for the errors of an aborted call and of a write to a closed pipe. */
function isInterruption(thrown: unknown): boolean {
  if (thrown instanceof ConnectError) return thrown.code === Code.Canceled;
  const { code, name } = thrown as Partial<NodeJS.ErrnoException>;
  return code === "EPIPE" || name === "AbortError";
}

function findCommand(words: readonly string[]): Command | undefined {
  const [noun = "", verb = ""] = words;
  if (Object.hasOwn(SINGLE, noun)) return SINGLE[noun];
  const commands = NOUNS[noun];
  return commands !== undefined && Object.hasOwn(commands, verb) ? commands[verb] : undefined;
}

/** Lists the verbs of a known noun, or all nouns. */
function unknownCommand([noun = "", verb = ""]: readonly string[]): AppError {
  const commands = NOUNS[noun];
  const known = Object.keys(commands ?? { ...NOUNS, ...SINGLE }).join(", ");
  const named = commands === undefined ? noun : `${noun} ${verb}`.trimEnd();
  const what = named === "" ? "A command is needed" : `There is no command "${named}"`;
  return new AppError("validation_error", `${what}; there are: ${known}.`);
}

/** Rejects misspelt options: the usage line lists the valid ones. */
function rejectUnknownOptions(command: Command, names: Iterable<string>): void {
  const known = new Set([...command.usage.matchAll(/--([a-z-]+)/g)].map((match) => match[1]));
  for (const name of [...names].filter((given) => !GLOBAL.has(given) && !known.has(given))) {
    throw new AppError("validation_error", `There is no option --${name}: smsctl ${command.usage}`);
  }
}

/** Rejects words that the command does not read: `key revoke K1 K2` would revoke only K1. */
function rejectSurplusWords(command: Command, words: readonly string[]): void {
  const surplus = words[wordsMax(command.usage)];
  if (surplus === undefined) return;
  throw new AppError("validation_error", `"${surplus}" is too much: smsctl ${command.usage}`);
}

function usage(noun: string | undefined): string {
  const shown = noun !== undefined && NOUNS[noun] !== undefined ? { [noun]: NOUNS[noun] } : NOUNS;
  const lines = Object.values({ ...shown, SINGLE }).flatMap((commands) =>
    Object.values(commands).map((command) => `  smsctl ${command.usage}`),
  );
  return `usage (--json for one JSON value):\n${lines.join("\n")}\n`;
}

/** Local failures, such as a missing file, keep their own text. */
function toCliError(thrown: unknown): AppError {
  const error = toAppError(thrown);
  if (error.code !== "internal_error" || error === thrown || !(thrown instanceof Error))
    return error;
  if (thrown instanceof ConfigError) {
    return new AppError("validation_error", thrown.faults.join("; "), { cause: thrown });
  }
  return new AppError("internal_error", thrown.message, { cause: thrown });
}
